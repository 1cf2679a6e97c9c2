// Rings through all ranks of a group over several levels, one for every position inside a node:
// what collective libraries do on clusters of GPUs (see algorithms.h for the columns).
//
//   2 nodes of 4, ring 0:  (0,0) (0,1) (0,2) (0,3) | (1,3) (1,2) (1,1) (1,0) | back to (0,0)
//           ring 1:        (0,1) (0,2) (0,3) (0,0) | (1,0) (1,3) (1,2) (1,1) | back to (0,1)
//
// Every ring carries an equal part of every shard and leaves a node by a NIC of its own; from node
// to node it stays on its rail, but for the way home when their number is odd.
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string node_rings_suit(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_node_rings(const CollectiveAsk& ask, const GroupNet& net,
                               const std::vector<int>& fold);
ClosedForm form_node_rings(const CollectiveAsk& ask, const GroupNet& net);
double sends_node_rings(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
