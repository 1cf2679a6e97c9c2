// Schedules that are searched for under given costs and a limit on memory. The kinds are those of
// the zero-bubble papers (arXiv 2401.10241 section 3 and 5, arXiv 2405.15362); the search is ours.
//
//   kind        stages per rank   activations that fit a rank, in micro-batches on a stage
//   zb-auto-1p  1                 p      until I in full, half of that until W
//   zb-auto-2p  1                 2p     the same, and 3p - 1 until W
//   zbv-auto    2                 p      in full until W, here and below
//   v-half      2                 floor(p/2) + 1
//   v-min       2                 floor((p+4)/3), and ceil((2p+4)/3) / 2 as ZB-1p counts
//   v-1f1b      2                 floor(2p/3) + 1; B in one cell
// Where the papers leave a figure open it is that of the authors' orders, the largest of any p and m:
// 3p - 1, and all of v-1f1b. A stated limit counts as ZB-1p does (two stages: until W), no other.
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
