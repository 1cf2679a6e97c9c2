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

// One level, or axis of a torus, after the other with all that is there: trees of trees, exchanges
// of whole sums, for small arrays.
std::string axes_in_turn_suit(const CollectiveAsk& ask, const GroupNet& net);  // why_not
Composite axes_in_turn(const CollectiveAsk& ask, const GroupNet& net);

// A broadcast as scatter and all-gather, a reduce as reduce-scatter and gather (Barnett et al.
// 1994; Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005).
std::string scatter_gather_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
Composite scatter_gather(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
