// Schedules from a building block: the works of every rank in the order of the block repeated, each
// as early as possible ("squeezed", arXiv 2405.15362, section 3.3), and ahead of that order where a
// rank would be idle and the memory of what is planned before is kept free.
#pragma once

#include "plan/building_blocks.h"
#include "plan/schedule_task.h"

namespace shardsim {

struct SqueezePolicy {
  // A work is held back for one that is planned earlier and arrives within this part of its time.
  double patience = 0, weight_patience = 0;
  // W only where a rank is idle or needs the memory. Otherwise so only when no forward is left, and
  // until then where it is planned.
  bool lazy = false;
  // [ranks] activations of the first chunk with which no forward of it is run ahead; empty: any.
  std::vector<int> early = {};
};

// REQUIRES: two chunks per rank, room for the block. Gives up when a
// cell would end after `limit`; is never stuck.
FoundSchedule squeeze(const ScheduleTask& task, const BuildingBlock& block,
                      const SqueezePolicy& policy, Seconds limit);

}  // namespace shardsim
