// Rows of the algorithm table that are made of others (plan/composite.h; algorithms.h has the
// columns).
#pragma once

#include <string>

#include "plan/composite.h"

namespace shardsim {

// Level by level, every part by its cheapest algorithm. What reduces or leaves the root goes inside
// first, so that all NICs of a node share what crosses; what gathers comes back inside last.
std::string hierarchical_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
Composite hierarchical(const CollectiveAsk& ask, const GroupNet& net);

// A broadcast as scatter and all-gather, a reduce as reduce-scatter and gather (Barnett et al.
// 1994; Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005).
std::string scatter_gather_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
Composite scatter_gather(const CollectiveAsk& ask, const GroupNet& net);

// Inside a node a chain for each position, which ends or begins at that position's NIC (together:
// a ring's reduce-scatter and all-gather); from NIC to NIC double binary trees, one pair on every
// rail (NCCL's tree; Sanders, Speck, Träff 2009).
std::string node_trees_suit(const CollectiveAsk& ask, const GroupNet& net);  // why_not
Composite node_trees(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
