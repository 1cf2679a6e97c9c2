// Schedules that go down the ranks and up again, or both ways at once.
#pragma once

#include "plan/schedule_ask.h"

namespace shardsim {

Schedule zb_v(const ScheduleAsk& ask);
Schedule dualpipe(const ScheduleAsk& ask);
Schedule dualpipev(const ScheduleAsk& ask);
Schedule chimera(const ScheduleAsk& ask);

}  // namespace shardsim
