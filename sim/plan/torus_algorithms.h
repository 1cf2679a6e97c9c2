// Rows of the algorithm table for several axes of a torus (see algorithms.h for the columns).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string several_axes(const CollectiveAsk& ask, const GroupNet& net);  // why_not
std::string balanced(const CollectiveAsk& ask, const GroupNet& net);      // why_not

// All axes at once, pieces weighted so that every port is busy.
CollectivePlan plan_all_axes(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold);
ClosedForm form_all_axes(const CollectiveAsk& ask, const GroupNet& net);
double sends_all_axes(const CollectiveAsk& ask, const GroupNet& net);

// One axis after the other, outer levels first: reduce-scatter the other way round, all-reduce is
// reduce-scatter inside, all-reduce across, all-gather inside. `axis-by-axis` in one level,
// `hierarchical` over several.
CollectivePlan plan_by_axis(const CollectiveAsk& ask, const GroupNet& net,
                            const std::vector<int>& fold);
ClosedForm form_by_axis(const CollectiveAsk& ask, const GroupNet& net);
double sends_by_axis(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
