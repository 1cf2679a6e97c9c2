// Timeline: when every op of an OpGraph started and ended. A transfer starts when its dependencies
// have ended, so its latency is inside.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"

namespace shardsim {

struct Timeline {
  std::vector<Seconds> start;  // [ops]
  std::vector<Seconds> end;    // [ops]

  Seconds makespan() const;  // the latest end, 0 for an empty graph
};

// What is wrong with a timeline of this graph: an op that starts before a dependency ends, ends
// before it starts, or takes less than its own time; a link that carried more than its bandwidth.
// Tolerance 1e-9 relative. Empty: consistent.
std::vector<std::string> check(const Timeline& timeline, const OpGraph& graph,
                               std::size_t limit = 20);

}  // namespace shardsim
