// Row of the algorithm table for one ring through all devices of a torus or mesh (see algorithms.h
// for the columns): every shard is halved and both halves go all the way round.
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string snake_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_snake(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold);
ClosedForm form_snake(const CollectiveAsk& ask, const GroupNet& net);
double sends_snake(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
