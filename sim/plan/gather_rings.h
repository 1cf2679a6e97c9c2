// All-gathers round closed paths through all ranks (plan/device_path.h).
#pragma once

#include <span>

#include "ir/collective_plan.h"
#include "plan/device_path.h"
#include "plan/gather.h"

namespace shardsim {

// Ring j carries piece j of every shard, in N-1 steps: a rank passes on what the one before it sent
// last. Rings do not keep step with one another (their hops may take unequally long), so each has
// phases of its own. REQUIRES: closed paths.
CollectivePlan gather_round_rings(const PlanFrame& frame, std::span<const DevicePath> rings);

}  // namespace shardsim
