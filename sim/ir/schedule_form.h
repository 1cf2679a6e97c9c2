// What a closed form says of a schedule.
#pragma once

#include <string_view>

#include "base/units.h"

namespace shardsim {

// A formula for one figure of a schedule, evaluated for one ask. Capital letters are costs of
// cells: F, I, W, B = I + W, X of an overlapped cell, c of a transfer; small f and b where a rank
// holds v chunks.
struct ScheduleForm {
  std::string_view what;  // "makespan", "max span", "idle time of the middle ranks"
  std::string_view formula;
  std::string_view condition;  // when it is exact
  bool holds = false;
  Seconds value = {};
  std::string_view source;
  std::string_view note = {};  // what people get wrong about it
};

}  // namespace shardsim
