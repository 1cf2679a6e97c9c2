// Schedules of one stage per rank.
#pragma once

#include "plan/schedule_ask.h"

namespace shardsim {

Schedule gpipe(const ScheduleAsk& ask);
Schedule one_f_one_b(const ScheduleAsk& ask);
Schedule zb_h1(const ScheduleAsk& ask);
Schedule zb_h1_light(const ScheduleAsk& ask);
Schedule zb_h2(const ScheduleAsk& ask);

}  // namespace shardsim
