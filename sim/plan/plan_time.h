// How long plans take where links differ or are those of a graph, or axes of the group meet on
// them, and which algorithm is the fastest there. The closed forms know the slowest link only, or
// the busiest of one step, and not which plans pass it by or how steps run into each other.
#pragma once

#include <optional>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "plan/algorithms.h"

namespace shardsim {

// The sends of the plan, of all groups of the net at once, each at the least of its fair shares of
// links (plan/link_sharing.h): an estimate, without a replay. REQUIRES: the plan is not folded.
Seconds plan_time(const CollectivePlan& plan, const Cluster& cluster, const GroupNet& net,
                  Bytes bytes);

// That of a row's plan. Nothing where the closed form is exact or the net regular, and when the
// plan would have more than about half a million sends.
std::optional<Seconds> plan_time(const AlgorithmRow& row, const CollectiveAsk& ask,
                                 const Cluster& cluster, const GroupNet& net);

// The algorithm with the smallest plan_time, or closed form where that is exact, among those that
// `auto` considers, and the runner-up. Nothing where all closed forms are exact or the net regular,
// there is one to take, or there would be more than about half a million sends in all.
std::optional<Choice> choose_by_plan_time(const CollectiveAsk& ask, const Cluster& cluster,
                                          const GroupNet& net);

}  // namespace shardsim
