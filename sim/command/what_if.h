// What if a cost were zero: the same graph without it, replayed by the same engine.
#pragma once

#include <vector>

#include "replay/replay.h"
#include "report/run.h"

namespace shardsim {

// The step without each kind of cost that there is, shortest first: the collectives of each
// communicator, what ranks of a pipeline send each other, recomputation with its
// collectives, computes that take as long as their memory traffic, the optimizer. Orders, streams
// and waits stay as they are. One replay each.
std::vector<KindTime> what_ifs(Run& run, const EngineRow& engine);

// The step without any communication.
Seconds step_without_communication(Run& run, const EngineRow& engine);

// Graphs of at most so many ops are asked without being told to: a fraction of a second.
inline constexpr std::size_t kSmallGraph = 20'000;

}  // namespace shardsim
