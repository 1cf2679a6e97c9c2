// From a prepared run to the ops of a step: every rank of the pipeline works off its cells; a cell
// is the passes of the layers of its stage; a pass is the tasks of its layer (plan/layer_tasks.h).
//
// A device has one compute stream and one stream for each communicator, each in order. A task waits
// for the one before it in its pass and for the last op of its stream. Overlap takes tasks out of
// that chain: gathers of weights then wait for room only, reductions of gradients for their
// gradient only. In a cell that overlaps a forward and a backward, the two chains take turns on the
// streams: while one waits for a collective, the other computes.
#pragma once

#include "ir/op_graph.h"
#include "ir/plan.h"
#include "plan/prepare.h"

namespace shardsim {

// Appends the collectives to `plan.collectives`. `ops`: about how many it will be, for which room
// is made. REQUIRES: plan.cluster and plan.fold are set; the fold keeps the ranks of the pipeline
// apart.
OpGraph lower_step(const Prepared& run, Plan& plan, Grain grain, double ops);

}  // namespace shardsim
