// The search for schedules over two chunks per rank, down the ranks and up again.
#pragma once

#include "plan/schedule_task.h"

namespace shardsim {

// The shortest schedule found from building blocks, squeezed for the costs and for even costs (all
// works alike, transfers free), and from `known` orders that fit; the best of them improved
// cell by cell. Takes less than a second for 64 ranks and 512 micro-batches.
// REQUIRES: room for one micro-batch (two chunks).
FoundSchedule search_v(const ScheduleTask& task, const std::vector<Orders>& known);

}  // namespace shardsim
