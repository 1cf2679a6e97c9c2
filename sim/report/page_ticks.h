// The clock of a page.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace shardsim {

// 2^32 ticks in a step. Every time is rounded for itself, so what abuts still abuts.
class Ticks {
 public:
  explicit Ticks(Seconds step) : tick_(step > Seconds{} ? step / kTicks : Seconds{1}) {}

  std::int64_t at(Seconds time) const { return std::llround(time / tick_); }
  std::uint64_t length(Seconds begin, Seconds end) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, at(end) - at(begin)));
  }
  double tick_s() const { return tick_ / Seconds{1}; }

 private:
  static constexpr double kTicks = 4294967296.0;
  Seconds tick_;
};

}  // namespace shardsim
