// Gradients while the backward pass is planned: contributions come in, the last one completes the
// gradient, and what reads it or an array of the forward pass gets it in the layout it needs.
//
//   dY1 = dQ * Wq  {U_Y}   first of three contributions
//   dY1 = dV * Wv  {U_Y}   the last: after it, one all-reduce over Y
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/sharded_layer.h"
#include "plan/shard.h"

namespace shardsim {

// The gradient of one tensor while its contributions come in.
struct Gradient {
  std::vector<Sharding> parts;  // distinct layouts of the contributions so far
  int waiting = 0;              // contributions still to come
  int contributions = 0;
  Sharding held;                 // once complete
  std::vector<Sharding> copies;  // gathered for a statement that produced partial sums
};

struct Backward {
  const ShardInput& in;
  ShardedLayer& out;
  std::size_t forward_steps = 0;
  std::vector<Gradient> gradients;            // [tensor]
  std::vector<std::vector<Sharding>> copies;  // [tensor] layouts at hand, the held one first
};

// A name and a layout that a step reads.
struct Read {
  std::string name;
  Sharding layout;
  double element_bytes = 2;
};

const LayerTensor& tensor(const Backward& b, int t);
bool is_parameter(const Backward& b, int t);
Gradient& gradient(Backward& b, int t);
double gradient_bytes(const Backward& b, int t);  // of one element
std::string gradient_name(const Backward& b, int t);
// The reshard of tensor t, or of its gradient; what it warns of is kept.
std::vector<ShardedCollective> moves(Backward& b, int t, const ArrayInfo& array,
                                     const Sharding& from, const Sharding& to);
Sharding dual(Sharding layout);  // cut <-> cut, replicated <-> replicated, {U} -> replicated

// The step's output is one contribution to the gradient of t.
void contribute(Backward& b, int t, ShardedStatement& step);

// The gradient of a statement's output in the dual of the layout the statement yielded; a gradient
// that was left a partial sum is read as one. Collectives go before the step.
Read read_gradient(Backward& b, int t, const Sharding& yielded, ShardedStatement& step);

// An array of the forward pass as it was computed with; copies freed since are gathered again.
Read read_array(Backward& b, int t, const Sharding& used, ShardedStatement& step);

}  // namespace shardsim
