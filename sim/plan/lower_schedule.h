// From a schedule to the graph that is replayed.
#pragma once

#include <optional>
#include <string>

#include "ir/op_graph.h"
#include "ir/schedule.h"
#include "plan/schedule_ask.h"

namespace shardsim {

// The first ops are the cells, rank by rank, each after the one before it and its inputs; then a
// delay of `costs.p2p` for every transfer between ranks and, blocking, a join at the end of every
// group. Device: rank. Origins: "F3.1" on stream "compute", "F3.1 to rank 2" on "p2p to rank 2",
// with micro-batch and, as layer, stage. REQUIRES: check(schedule) is empty; blocking: the schedule
// has its groups of transfers.
OpGraph lower_schedule(const Schedule& schedule, const CellCosts& costs, P2pMode mode);

// What waits for itself, as the path of a cycle; nothing when the graph can run.
struct Deadlock {
  std::string path;      // "F0.1 on rank 1 waits for F0.0 on rank 0 waits for …"
  std::size_t cell = 0;  // one on the path, counted rank by rank
};
std::optional<Deadlock> deadlock(const OpGraph& lowered);

}  // namespace shardsim
