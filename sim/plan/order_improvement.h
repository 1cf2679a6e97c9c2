// Orders made shorter, move by move: a tabu search over the cells of a longest path, as for job
// shops (Nowicki and Smutnicki, Management Science 42, 1996), within the memory of every rank.
#pragma once

#include "plan/schedule_task.h"

namespace shardsim {

// The orders or shorter ones that fit the same memory. Evaluates about `cells` cells.
// REQUIRES: no overlapped cells.
FoundSchedule improved(const ScheduleTask& task, const Orders& orders, double cells);

}  // namespace shardsim
