// Which of two schedules for the same task is taken.
#pragma once

#include "plan/schedule_task.h"

namespace shardsim {

// Whether `a` is the better one: it is complete; or shorter; or its longest rank is, which is what
// bubbles of the zero-bubble papers count; or the fullest rank holds less: weighted, then until W,
// then until I.
bool better(const FoundSchedule& a, const FoundSchedule& b);

// Whether no rank holds more than the task has room for.
bool fits(const ScheduleTask& task, const Orders& orders);

}  // namespace shardsim
