// Rows of the algorithm table for one ring or line (see algorithms.h for the columns).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string two_way_ring(const CollectiveAsk& ask, const GroupNet& net);  // why_not
std::string one_way_ring(const CollectiveAsk& ask, const GroupNet& net);  // why_not
std::string line_suits(const CollectiveAsk& ask, const GroupNet& net);    // why_not

// Halved shards, both directions, all the way round.
CollectivePlan plan_ring(const CollectiveAsk& ask, const GroupNet& net,
                         const std::vector<int>& fold);
ClosedForm form_ring(const CollectiveAsk& ask, const GroupNet& net);
double sends_line(const CollectiveAsk& ask, const GroupNet& net);
double sends_of_ring(const CollectiveAsk& ask, const GroupNet& net);

// Whole shards, both directions, half way round; without shards a barrier.
std::string whole_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_whole(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold);
ClosedForm form_whole(const CollectiveAsk& ask, const GroupNet& net);

// Whole shards, one direction.
CollectivePlan plan_oneway(const CollectiveAsk& ask, const GroupNet& net,
                           const std::vector<int>& fold);
ClosedForm form_oneway(const CollectiveAsk& ask, const GroupNet& net);

// Whole shards, both ways from their origin to the ends of a line.
CollectivePlan plan_line(const CollectiveAsk& ask, const GroupNet& net,
                         const std::vector<int>& fold);
ClosedForm form_line(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
