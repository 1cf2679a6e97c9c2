// Row of the algorithm table for permutations (see algorithms.h for the columns): every rank sends
// its block straight to the rank that CollectiveAsk::targets names, by the network's routes.
//
// Closed form: the busiest link's load (Scaling Book ch. 3: time is bytes over the bandwidth of the
// link that carries most) plus the latency of the longest way. Exact without latency: messages of
// equal size share links max-min fairly, so each gets at least 1/load of every link it uses.
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string permutation_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_permutation(const CollectiveAsk& ask, const GroupNet& net,
                                const std::vector<int>& fold);
ClosedForm form_permutation(const CollectiveAsk& ask, const GroupNet& net);
double sends_permutation(const CollectiveAsk& ask, const GroupNet& net);
std::vector<int> fold_permutation(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
