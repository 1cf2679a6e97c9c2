// How long plans take where single links differ, and which algorithm is the fastest there. The
// closed forms know the slowest link only, and not which plans pass it by.
#pragma once

#include <optional>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "plan/algorithms.h"

namespace shardsim {

// Every send, of all groups of the net at once, takes its latency and what its phase puts on the
// most loaded link of its way, after the sends that it waits for (alpha-beta model, Thakur,
// Rabenseifner, Gropp 2005); no less than what leads to a link, all that it carries, and what
// follows (Carlier 1982). An estimate: otherwise phases that overlap are not seen to share links.
// REQUIRES: the plan is not folded.
Seconds plan_time(const CollectivePlan& plan, const Cluster& cluster, const GroupNet& net,
                  Bytes bytes);

// That of a row's plan. Nothing where all links are alike, on a graph (its closed forms know every
// link), and when the plan would have more than about half a million sends.
std::optional<Seconds> plan_time(const AlgorithmRow& row, const CollectiveAsk& ask,
                                 const Cluster& cluster, const GroupNet& net);

// The algorithm with the smallest plan_time among those that `auto` considers, and the runner-up.
// Nothing where plan_time would say nothing of all of them together.
std::optional<Choice> choose_by_plan_time(const CollectiveAsk& ask, const Cluster& cluster,
                                          const GroupNet& net);

}  // namespace shardsim
