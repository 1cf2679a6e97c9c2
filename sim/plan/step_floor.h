// A lower bound of a step, told from its plan: no ops are made, so that it is there in the time
// that planning takes, however many layers and micro-batches there are.
//
// Cells of the schedule start when their rank and their input are there, as in the ideal engine;
// within a cell the layers follow one another, each as long as its computing and the collectives
// that it waits for, every one by itself; gathers ahead and reductions beside it are streams of
// their own. What is left out only takes longer: of devices of one rank the fastest counts, no
// collective waits for another of its communicator unless both are ahead of or beside the chain,
// and with blocking transfers ranks do not wait for each other.
//
// So: floor <= ideal engine <= replay; and floor = ideal engine where nothing overlaps, transfers
// do not block and devices are alike.
//
// Where single links or chips differ, or the network is a graph, groups come to a collective one
// after the other: the ideal engine, for which they share their links at once, may then be above
// the replay. There only computing counts.
#pragma once

#include "base/units.h"
#include "ir/op_graph.h"
#include "plan/alone_times.h"
#include "plan/lower.h"
#include "plan/prepare.h"

namespace shardsim {

// Whether the ideal engine is never above the replay on this network: all groups do alike.
bool ideal_is_bound(const Cluster& cluster);

// Of lower(…, run, options).
Seconds step_floor(const Prepared& run, const LowerOptions& options, AloneTimes& alone);

}  // namespace shardsim
