// Presets applied to a layer: the chosen rows (preset_table.h) are added up, left to right, to a
// table of layouts, so {fsdp: X, tp: Y, sp: true} is a product:
//
//   fsdp: X     Wq[D, N, H] -> [D_X, N, H]     In[B, T, D] -> [B_X, T, D]
//   tp: Y       Wq          -> [D_X, N_Y, H]   Q[B, T, N, H] -> [B_X, T, N_Y, H]
//   sp: true    In          -> [B_X, T_Y, D]   (the axes of tp, on activations that have D)
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "plan/preset_table.h"
#include "spec/run_spec.h"

namespace shardsim {

struct TensorLayout {
  Sharding held;        // parameter: between steps; input, activation: as passed between statements
  bool wished = false;  // false: an activation takes whatever its statement yields
  bool stated = false;  // in a single layout of its own, not by a preset
  // Parameter: as held between micro-batches, once reduced. Activation: {U} over axes on which the
  // gradient may stay a partial sum.
  Sharding gradient;
  Sharding optimizer;  // parameter: of its state, and of the update
};

// The column "when" of one mesh axis, over all presets that use it.
struct AxisTiming {
  std::string axis;
  WhenRule when;
};

struct Layouts {
  std::vector<TensorLayout> tensors;  // [Layer::tensors]
  std::vector<AxisTiming> timings;
  std::vector<std::string> zigzag;  // axes over which rows of a sequence lie in that order

  // The axes over which arrays of this role are the ones to gather.
  std::vector<std::string> gather_axes(TensorRole role) const;
  // Whether the gathered copies of a tensor are freed after the forward pass.
  bool regathers(const Layer& layer, int tensor) const;
  // What is left of such a tensor after the forward pass: whole over the axes whose gathered copies
  // are kept, cut over the others (ZeRO++'s secondary partition; PyTorch's reshard_after_forward:
  // k).
  Sharding kept_after_forward(const Layer& layer, int tensor) const;
  // Copies of weights that are freed after each pass stay for the backward pass instead.
  void keep_gathered_weights();
  // The order of the blocks of a sequence that is cut over these axes.
  BlockOrder order_over(const std::vector<std::string>& axes) const;
  // Whether gradients of parameters are reduced over the axis after every micro-batch.
  bool reduces_each_microbatch(std::string_view axis) const;
};

// A layout that somebody wrote, for every role. Axes that were taken apart become their parts.
TensorLayout layout_by_hand(const Mesh& mesh, Sharding sharding);

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
