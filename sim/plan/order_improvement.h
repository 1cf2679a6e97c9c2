// Orders made shorter, move by move: a tabu search over the cells of a longest path, as for job
// shops (Nowicki and Smutnicki, Management Science 42, 1996), within the memory of every rank.
#pragma once

#include "plan/schedule_task.h"

namespace shardsim {

// The orders or shorter ones that fit the same memory; of one chunk per rank also those as short
// whose longest rank is shorter. Evaluates about `cells` cells.
// REQUIRES: no overlapped cells.
FoundSchedule improved(const ScheduleTask& task, const Orders& orders, double cells);

// The orders with forwards later and W's earlier, neighbour by neighbour, where neither the
// makespan nor the longest rank gets longer: no peak of memory is larger. As above.
FoundSchedule trimmed(const ScheduleTask& task, const Orders& orders, double cells);

}  // namespace shardsim
