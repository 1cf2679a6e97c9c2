// What runs beside the computation of a step. Every policy only adds or drops edges between ops: a
// device has one compute stream and one stream for each communicator, each in order.
//
// Sources: PyTorch FSDP1 (torch/distributed/fsdp/_runtime_utils.py) and FSDP2
// (_composable/fsdp/_fsdp_param_group.py), 2.8; bucketed reductions, PyTorch DDP (Li et al. 2020,
// arXiv 2006.15704) and Megatron-LM's distributed optimizer; collective matmul, Wang et al. 2023
// (ASPLOS, "Overlap communication with dependent computation via decomposition").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/cluster.h"
#include "spec/run_spec.h"

namespace shardsim {

// How far gathering runs ahead of the layer that is computed, with `d` layers of prefetch.
//   fsdp1   the gather of layer j waits until layer j-d-1 has ended and is freed: d + 1 whole
//           layers at most. d is 1, or 2 with forward_prefetch=True: FSDP1 issues the gather of the
//           next layer alone ahead (forward_prefetch_limit and backward_prefetch_limit are 1), and
//           before it issues one its limiter waits for the older of two pending frees
//           (_FreeEventQueue): of layers j-2 and j-1 when gather j is issued as layer j begins, of
//           j-3 and j-2 when as layer j-1 does
//   fsdp2   until layer j-d-1 has begun and copied its weights out of the gather's buffer; a
//           layer's reduce-scatter must have ended when the next but one would begin: one
//           outstanding. d is as long as the lists of set_modules_to_forward_prefetch
struct FsdpRule {
  std::string_view name;
  bool frees_at_end = false;  // or at the start of the layer
  bool one_scatter = false;   // compute waits for the scatter of the layer before
  int deepest = 0;            // d at most; 0: any
  std::string_view deeper;    // than 1: what asks for it
};
std::span<const FsdpRule> fsdp_rules();

// How a product and the collective before or after it are cut into tiles.
//   two-stage       every tile is a collective of V/n: max(math, comm) + min(math, comm)/n
//   ring            one tile for each device of the group; hops to the next one bring them
//   ring-two-way    the same with hops both ways: half as many
enum class TileForm : std::uint8_t { two_stage, ring, ring_two_way };

struct Overlap {
  int prefetch = 0;  // layers; 0: weights are gathered when a statement needs them
  const FsdpRule* fsdp = nullptr;
  bool backward_pre = true;  // in the backward pass, beside the gradients of a layer
  bool gradients = false;    // reductions of gradients beside the backward pass
  Bytes bucket;              // of those once per step; 0: one layer's
  bool updates = false;      // updated weights are gathered beside the optimizer
  int tiles = 0;             // of collective matmul; 0: off
  TileForm form = TileForm::two_stage;
  bool ring_attention = false;  // keys and values come in hops beside the attention to them
  std::vector<std::pair<std::string, double>> sm_share;  // communicator ("X", "X,Y"), share

  double share_of(std::string_view communicator) const;  // 0 when none is given
  // Its number in sm_share. REQUIRES: a share is given.
  std::uint32_t number_of(std::string_view communicator) const;
  bool any() const;
};

// Appends problems: axes that the mesh has not, options that contradict each other.
Overlap make_overlap(const RunSpec& spec, const Mesh& mesh, std::vector<Problem>& problems);

// The update of the weights at the end of the step.
struct Optimizer {
  bool runs = false;      // false: no update is simulated
  double state = 12;      // bytes a parameter: master weights and two moments; or moments alone
  bool gradients = true;  // are kept in memory of their own from one step to the next
};
// `whole`: all layers of the model are run, and with them its update unless the spec says
// otherwise. `state_bytes`: of one element of its state.
Optimizer make_optimizer(const OptimizerSpec& spec, bool whole, double state_bytes,
                         std::vector<Problem>& problems);

// What the policies are, for the assumptions of a report; "nothing overlaps" when there is none.
std::vector<std::string> overlap_texts(const Overlap& overlap);

}  // namespace shardsim
