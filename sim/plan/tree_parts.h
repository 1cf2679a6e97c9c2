// What the algorithms over trees share.
#pragma once

#include <string>

#include "base/units.h"
#include "ir/collective_plan.h"
#include "plan/algorithms.h"

namespace shardsim {

// Why a row does not suit the kind: it is for broadcast, reduce, all-reduce and barrier.
std::string for_trees_or_barrier(const CollectiveAsk& ask);

// The P that makes (period * P + fill) * (a + x/P) smallest, where x is the time of what passes an
// edge: sqrt(fill * x / (period * a)). That which is asked for, if any.
int best_pieces(const CollectiveAsk& ask, double fill, double period, Seconds edge,
                Seconds latency);

// The three kinds from the broadcast. `barrier`: the reduce ends before the broadcast begins, as
// both use the same ports.
CollectivePlan from_broadcast(Collective kind, const CollectivePlan& plan, int trees, bool barrier);

bool there_and_back(Collective kind);  // all-reduce, or barrier, which is one of nothing
Seconds highest_latency(const GroupNet& net);
BytesPerSec slowest(const GroupNet& net);
bool any_one_way(const GroupNet& net);

}  // namespace shardsim
