// Closed forms of schedules, each with the condition under which it was found to be exact. Those
// for p2p time 0 hold in every mode.
#pragma once

#include <vector>

#include "plan/schedule_ask.h"

namespace shardsim {

using ClosedForms = std::vector<ClosedForm>;

ClosedForms gpipe_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms one_f_one_b_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms interleaved_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms zb_h1_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms zb_h2_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms zb_v_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms dualpipe_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms dualpipev_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms chimera_forms(const ScheduleAsk& ask, P2pMode mode);
ClosedForms no_forms(const ScheduleAsk& ask, P2pMode mode);

}  // namespace shardsim
