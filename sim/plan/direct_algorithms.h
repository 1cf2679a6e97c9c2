// Rows of the algorithm table that send straight to the destination (see algorithms.h for the
// columns).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"
#include "plan/routed_load.h"

namespace shardsim {

// All-to-all, gather and scatter anywhere; the gathering kinds on a switch.
std::string direct_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_direct(const CollectiveAsk& ask, const GroupNet& net,
                           const std::vector<int>& fold);
ClosedForm form_direct(const CollectiveAsk& ask, const GroupNet& net);
double sends_direct(const CollectiveAsk& ask, const GroupNet& net);
std::vector<int> fold_direct(const CollectiveAsk& ask, const GroupNet& net);

// All-reduce by a switch that adds.
std::string in_network_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_in_network(const CollectiveAsk& ask, const GroupNet& net,
                               const std::vector<int>& fold);
ClosedForm form_in_network(const CollectiveAsk& ask, const GroupNet& net);
double sends_in_network(const CollectiveAsk& ask, const GroupNet& net);

// Every rank to the rank a fixed distance further.
std::string shift_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_shift(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold);
ClosedForm form_shift(const CollectiveAsk& ask, const GroupNet& net);
double sends_shift(const CollectiveAsk& ask, const GroupNet& net);

// On a graph, V/N from each rank in the messages of `load`, all at once.
ClosedForm form_routed(const GroupNet& net, Bytes bytes, const RoutedLoad& load);

// Chunks that pass the busiest port of an axis in an all-to-all along it alone: the sum of hops
// over all displacements, per port (a switch: one for every other rank).
double hop_load(const GroupAxis& axis);
// Hops to the farthest rank along an axis; 1 on a switch and in a full mesh.
int most_hops(const GroupAxis& axis);

}  // namespace shardsim
