// Presets: a parallelism is data. Each row says *where* its mesh axes cut which arrays, and *when*
// parameters are whole; nothing else in the program knows its name. The rows are added up, left to
// right, so {fsdp: X, tp: Y, sp: true} is a product:
//
//   fsdp: X     Wq[D, N, H] -> [D_X, N, H]     In[B, T, D] -> [B_X, T, D]
//   tp: Y       Wq          -> [D_X, N_Y, H]   Q[B, T, N, H] -> [B_X, T, N_Y, H]
//   sp: true    In          -> [B_X, T_Y, D]   (the axes of tp, on activations that have D)
//
// Sources: dp and fsdp, ZeRO (Rajbhandari et al. 2020, stage 3) and JAX Scaling Book ch. 5; tp,
// Megatron-LM (Shoeybi et al. 2019); sp, Korthikanti et al. 2022.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "spec/run_spec.h"

namespace shardsim {

enum class LayoutRole : std::uint8_t { activation, parameter, gradient, optimizer };

// Cuts `dim` of every array of this role over the preset's axes, minor-most.
struct WhereRule {
  LayoutRole role = LayoutRole::activation;
  std::string_view dim;
  std::string_view only_with;  // another dim the array must have; empty: any array
  bool divides = false;        // the dim must divide evenly (sequences, heads); else it is padded
};

enum class PresetArgument : std::uint8_t { axes, flag };

struct PresetRow {
  std::string_view name;
  std::string_view help;
  PresetArgument argument = PresetArgument::axes;
  std::string_view needs;  // a flag takes the axes of this preset
  std::span<const WhereRule> where;
  bool gathers_parameters = false;   // whole over the axes before use, freed after each pass
  bool gathers_activations = false;  // where an operand must be whole, the activation is gathered
  std::string_view when;             // in words, for reports
};
std::span<const PresetRow> presets();

struct TensorLayout {
  Sharding held;        // parameter: between steps; input, activation: as passed between statements
  bool wished = false;  // false: an activation takes whatever its statement yields
  Sharding gradient;    // parameters only
  Sharding optimizer;   // parameters only
};

struct Layouts {
  std::vector<TensorLayout> tensors;            // [Layer::tensors]
  std::vector<std::string> gather_parameters;   // mesh axes
  std::vector<std::string> gather_activations;  // mesh axes

  // Whether a preset says that this tensor is the one to gather over the axis.
  bool pins(TensorRole role, std::string_view axis) const;
  // Whether the gathered copy of a parameter is freed after the forward pass.
  bool regathers(const Layer& layer, int tensor) const;
};

// Presets, then single layouts ("Wo[N_Y, H, D_X]"), which replace what the presets said.
Layouts make_layouts(std::span<const PresetSpec> chosen,
                     std::span<const Chosen<std::string>> tensors, const Layer& layer,
                     const Mesh& mesh, std::vector<Problem>& problems);

// How the sequences of a step are cut, known before there is a layer.
struct BatchSplit {
  int data_parallel = 1;  // devices that B is cut over
  int microbatches = 1;
  int sequences = 1;  // B of the layer: one micro-batch, over all devices
};
// `stated`: axes that cut B in layouts of the statements (stated_layouts.h).
BatchSplit split_batch(const BatchSpec& batch, std::span<const PresetSpec> chosen, const Mesh& mesh,
                       std::vector<Problem>& problems, std::vector<std::string> stated = {});

}  // namespace shardsim
