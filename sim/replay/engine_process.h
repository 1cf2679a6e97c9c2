// SimGrid in a process of its own: forked for one graph, or from one that has an engine ready.
//
// A fork copies page tables, and both sides pay for every page that they write afterwards. A
// process that replays small graphs therefore keeps another beside it, forked while it was small
// itself, which replays some hundred graphs, every one on a new engine. Then another takes its
// place: SimGrid's callbacks pile up over engines. Times are the same to the last digit either way.
#pragma once

#include <functional>

#include "ir/op_graph.h"
#include "ir/timeline.h"

namespace shardsim {

// Ends that are never reached stay kNever. Throws Interrupted, or std::runtime_error when the
// engine died.
Timeline replay_in_process(const OpGraph& graph);

// While `work` runs, replays of this process go to the engine that is ready.
void with_engine_ready(const std::function<void()>& work);

}  // namespace shardsim
