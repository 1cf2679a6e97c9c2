// Rows of the algorithm table whose distances double or halve (see algorithms.h for the columns).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

// All-gather by doubling; all-reduce of whole arrays.
std::string recursive_doubling_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net,
                                       const std::vector<int>& fold);
ClosedForm form_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net);
double sends_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net);

// Reduce-scatter by halving; all-reduce by halving, then doubling.
std::string halving_doubling_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_halving_doubling(const CollectiveAsk& ask, const GroupNet& net,
                                     const std::vector<int>& fold);
ClosedForm form_halving_doubling(const CollectiveAsk& ask, const GroupNet& net);
double sends_halving_doubling(const CollectiveAsk& ask, const GroupNet& net);

// All ranks' symmetry under XOR on powers of two, none otherwise.
std::vector<int> fold_doubling(const CollectiveAsk& ask, const GroupNet& net);

std::string dissemination_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_dissemination(const CollectiveAsk& ask, const GroupNet& net,
                                  const std::vector<int>& fold);
ClosedForm form_dissemination(const CollectiveAsk& ask, const GroupNet& net);
double sends_dissemination(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
