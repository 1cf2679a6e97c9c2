// `layer:` and `dims:` of a run file stand in for a model: the statements become model_spec, and
// the sizes of B and T, if they are among the dims, the batch.
//
//   dims: {B: 8, T: 4096, D: 1024, F: 4096}
//   layer: ["G[B_X, T, F_Y] = In[B_X, T, D] * Win[D, F_Y]"]     (in a block list)
#pragma once

#include "spec/fields.h"
#include "spec/run_spec.h"
#include "spec/table.h"

namespace shardsim {

// Appends problems: both a model and a layer, dims without a layer, a layer without statements, a
// size that dims and batch both give. `root` is the run file: a layer in it that could not be read
// has been reported.
void settle_layer(const Node& root, RunSpec& run, Problems& problems);

}  // namespace shardsim
