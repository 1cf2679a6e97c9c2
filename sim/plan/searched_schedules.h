// Schedules that are searched for under given costs and a limit on memory. The kinds are those of
// the zero-bubble papers (arXiv 2401.10241 section 3 and 5, arXiv 2405.15362); the search is ours.
//
//   kind        stages per rank   activations that fit a rank, in micro-batches on a stage
//   zb-auto-1p  1                 p      until I in full, half of that until W
//   zb-auto-2p  1                 2p     the same
//   zbv-auto    2                 p      in full until W, here and below
//   v-half      2                 floor(p/2) + 1
//   v-min       2                 floor((p+4)/3)
//   v-1f1b      2                 floor(2p/3) + 1; B in one cell (fitted to the authors' orders)
#pragma once

#include "plan/schedule_ask.h"

namespace shardsim {

Schedule zb_auto_1p(const ScheduleAsk& ask);
Schedule zb_auto_2p(const ScheduleAsk& ask);
Schedule zbv_auto(const ScheduleAsk& ask);
Schedule v_half(const ScheduleAsk& ask);
Schedule v_min(const ScheduleAsk& ask);
Schedule v_1f1b(const ScheduleAsk& ask);

}  // namespace shardsim
