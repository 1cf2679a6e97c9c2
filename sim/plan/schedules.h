// The table of pipeline schedules.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/schedule_ask.h"
#include "plan/schedule_forms.h"

namespace shardsim {

struct ScheduleRow {
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view help;
  int fewest_chunks, most_chunks;  // stages per rank; the smallest number above 0 is the default
  bool groups;                     // takes --group
  bool searched;                   // for the costs, within a memory limit
  bool posts;                      // knows the groups of blocking transfers
  // Why it does not suit this many ranks, micro-batches and so on, as "expected …, found …"; empty
  // when it does.
  std::string (*why_not)(const ScheduleAsk& ask);
  // REQUIRES: why_not is empty.
  Schedule (*generate)(const ScheduleAsk& ask);
  ScheduleForms (*closed_forms)(const ScheduleAsk& ask);
};

std::span<const ScheduleRow> schedules();
// By name or alias; nullptr when there is none.
const ScheduleRow* find_schedule(std::string_view name);

}  // namespace shardsim
