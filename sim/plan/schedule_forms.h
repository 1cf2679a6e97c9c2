// Closed forms of schedules, each with the condition under which it was found to be exact. Those
// for p2p time 0 are for async and serial p2p.
#pragma once

#include <vector>

#include "ir/schedule_form.h"
#include "plan/schedule_ask.h"

namespace shardsim {

using ScheduleForms = std::vector<ScheduleForm>;

ScheduleForms gpipe_forms(const ScheduleAsk& ask);
ScheduleForms one_f_one_b_forms(const ScheduleAsk& ask);
ScheduleForms interleaved_forms(const ScheduleAsk& ask);
ScheduleForms zb_h1_forms(const ScheduleAsk& ask);
ScheduleForms zb_h2_forms(const ScheduleAsk& ask);
ScheduleForms zb_v_forms(const ScheduleAsk& ask);
ScheduleForms dualpipe_forms(const ScheduleAsk& ask);
ScheduleForms dualpipev_forms(const ScheduleAsk& ask);
ScheduleForms chimera_forms(const ScheduleAsk& ask);
ScheduleForms no_forms(const ScheduleAsk& ask);

}  // namespace shardsim
