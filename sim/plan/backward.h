// backward: the adjoint of every statement, last first, with the layouts the forward pass computed
// with.
//
//   Q = Y1 * Wq      dY1 = dQ * Wq,  dWq = Y1 * dQ
//
// Layouts of gradients are dual to those of the arrays (JAX's unreduced and reduced types): cut <->
// cut, replicated <-> replicated, {U} <-> replicated. So the adjoint of
//
//   an all-reduce of partial sums           is nothing
//   a reduce-scatter                        is an all-gather of the gradient
//   an all-gather                           is a reduce-scatter
//   devices that read a replicated array    is an all-reduce
//
// Contributions to one gradient that have one layout are added locally first, so that the readers
// of one array cost one reduction; it runs after the last of them. Weights that a preset frees
// after use are gathered again; gathered activations are kept. Gradients of weights are reduced in
// their own dtype as soon as they are complete.
//
// The gradient of a reshape is the inverse reshape of the gradient: a step without work, too.
// The gradient of an add is passed on: a step without work. The three gradients of attention are
// three steps with a quarter, a half and a quarter of the flops of its backward pass.
#pragma once

#include "ir/sharded_layer.h"
#include "plan/shard.h"

namespace shardsim {

// Appends the backward steps; model_flops becomes that of both passes.
// REQUIRES: `sharded` is shard(input, ...) without problems.
void append_backward(const ShardInput& input, ShardedLayer& sharded);

}  // namespace shardsim
