// What a root sends or receives over several levels, or cables, everything at once.
#pragma once

#include "base/units.h"
#include "plan/algorithms.h"

namespace shardsim {

// A gather or scatter with `shard` bytes of each rank: the root's ports of a level carry the shards
// whose ends differ there, and of a scatter those that go to the right position inside first, each
// no sooner than its latency. REQUIRES: no graph.
ClosedForm form_over_levels(const GroupNet& net, Bytes shard, Collective kind);

}  // namespace shardsim
