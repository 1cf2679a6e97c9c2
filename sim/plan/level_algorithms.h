// Rows of the algorithm table for groups over several levels: NVLink inside, NICs and spines
// outside (see algorithms.h for the columns).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string gathers_over_levels(const CollectiveAsk& ask, const GroupNet& net);  // why_not

// All-gather over the outer level first, then inside with what has come in (as plan_by_axis), in
// pieces: while one is inside, the next is outside. The pieces shrink (or grow) by the
// ratio of two neighbouring levels' times, so that no level waits for another and what sticks out
// at the end is small. Their number is the one with the least closed form, unless the ask names
// one.
CollectivePlan plan_pipelined(const CollectiveAsk& ask, const GroupNet& net,
                              const std::vector<int>& fold);
ClosedForm form_pipelined(const CollectiveAsk& ask, const GroupNet& net);
double sends_pipelined(const CollectiveAsk& ask, const GroupNet& net);
int pieces_pipelined(const CollectiveAsk& ask, const GroupNet& net);

// All-to-all inside first, to the rank in the destination's position, then across to it.
std::string all_to_all_over_levels(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_rail_aligned(const CollectiveAsk& ask, const GroupNet& net,
                                 const std::vector<int>& fold);
ClosedForm form_rail_aligned(const CollectiveAsk& ask, const GroupNet& net);
double sends_rail_aligned(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
