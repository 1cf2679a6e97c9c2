// The time axis of pictures: round times, in a unit that suits what is shown.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace shardsim {

struct AxisTick {
  Seconds at;
  std::string text;  // "0.5 ms"
};

// From 0 to `end`, 1, 2 or 5 times a power of ten apart, at most `most` of them after the first.
std::vector<AxisTick> axis_ticks(Seconds end, int most);

}  // namespace shardsim
