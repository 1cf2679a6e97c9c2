// Schedules in which chunk k of rank r is stage k * p + r.
#pragma once

#include "plan/schedule_ask.h"

namespace shardsim {

Schedule interleaved(const ScheduleAsk& ask);
Schedule interleaved_flex(const ScheduleAsk& ask);
Schedule interleaved_moe_overlap(const ScheduleAsk& ask);
Schedule interleaved_zero_bubble(const ScheduleAsk& ask);
Schedule looped_bfs(const ScheduleAsk& ask);

// Micro-batches per round in PyTorch's rule: m / max(1, m / p), rounded down; 0 when rounds would
// be unequal.
int rounds_group(int ranks, int microbatches);

}  // namespace shardsim
