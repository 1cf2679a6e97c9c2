// ShardedLayer: a layer's statements with local shapes, the case of every mesh axis, and the
// collectives around them, forward and backward, in execution order.
//
//   In[B_X,T,D] * Wq[D_X,N_Y,H]     X: case 2, Wq is gathered       before: all-gather Wq over X
//                                   Y: case 1                        compute: Q[B_X,T,N_Y,H]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/collective_plan.h"
#include "ir/notation.h"
#include "ir/op_graph.h"

namespace shardsim {

// Bytes per element by role.
struct Precision {
  double weights = 2;
  double gradients = 2;
  double activations = 2;
  double optimizer = 4;
};

struct ShardedCollective {
  Collective kind = Collective::all_gather;
  std::string tensor;             // "Wq", "dWq"
  std::vector<std::string> axes;  // mesh axes, major first
  std::string dim;                // gathered or scattered into; the source dim of an all-to-all
  std::string to_dim;             // all-to-all only
  Sharding before, after;
  Bytes bytes;                 // V of one group (collectives.md §2), padded dims
  std::string case_text;       // "case 2", "case 3", "case 4", "adjoint", "layout"
  bool once_per_step = false;  // a gradient reduction that waits for the last micro-batch
  std::string reason;          // one sentence
  std::vector<std::string>
      alternatives;  // "gather In instead: 512 MiB", "slice In, then …: refused, …"
};

struct AxisCase {
  std::string axis;
  int number = 1;  // 1..4, JAX Scaling Book ch. 3; 0: cuts a dim that one operand sums alone
  std::string why;
};

// "case 3"; "summed dim" for 0.
std::string case_name(int number);

// One way to compute a statement and what it would cost.
struct PricedPlan {
  std::string text;       // "slice B over X; then all-reduce C over X"
  Seconds communication;  // operands and output, the output's wish included; not overlapped
  Seconds extra_compute;  // beyond the plan that computes least of those that compute all of it
  Flops flops;            // per device, padded local shapes
  Bytes bytes;            // V of its collectives
  std::string verdict;    // "taken", "costs 293.6 us more", "is refused: …"
  // Where no bandwidth is known, instead of times: through the busiest link, all links alike.
  std::optional<Bytes> link_bytes = {};
};

struct ShardedStatement {
  Pass pass = Pass::forward;
  int statement = 0;  // index into Layer::statements; of the adjoints, too
  std::string text;   // "Q = In * Wq", "dWq = In * dQ"
  StatementKind kind = StatementKind::einsum;
  std::vector<std::string> operand_names;
  std::vector<Sharding> operands;  // as computed with, after `before`
  std::string out_name;
  Sharding out;                   // as computed, before `after`
  std::vector<AxisCase> cases;    // one per mesh axis, einsums only
  std::vector<PricedPlan> plans;  // einsums of the forward pass: the one taken, then the others
  Flops flops;                    // per device, padded local shapes
  double imbalance = 1;           // flops of the busiest device, whom all wait for, over `flops`
  Bytes memory_bytes;             // per device: operands read + output written in HBM
  Bytes beside_bytes;  // per device: of kernels that follow or precede the products (softmax)
  double tiles = 0;    // per device: of a product's result, 256 x 128, those at its edges included
  double whole_tiles = 0;  // as many as its elements would fill; 0: not a product
  bool matmul = false;     // flops run on the matrix unit (einsum with a contraction, attention)
  bool again = false;      // of the forward pass, recomputed in the backward pass
  std::vector<std::string> idle_axes;  // mesh axes on which devices repeat the same work
  std::vector<ShardedCollective> before, after;
};

struct ShardedLayer {
  std::vector<Sharding> held;           // [Layer::tensors], as passed between statements
  std::vector<ShardedStatement> steps;  // execution order; forward first
  std::vector<std::string> padding;     // every padded dim, once, in words
  std::vector<std::string> warnings;    // ties, arrays gathered whole to be cut again
  Flops model_flops;                    // whole machine, unpadded, no redundancy: fwd + bwd
};

}  // namespace shardsim
