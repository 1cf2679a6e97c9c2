#include "report/time_axis.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace shardsim {

namespace {

struct Unit {
  Seconds size;
  const char* name;
};
constexpr std::array kUnits = {Unit{Seconds{1}, "s"}, Unit{Seconds{1e-3}, "ms"},
                               Unit{Seconds{1e-6}, "us"}, Unit{Seconds{1e-9}, "ns"}};

Unit unit_of(Seconds end) {
  for (const Unit& unit : kUnits)
    if (end >= unit.size) return unit;
  return kUnits.back();
}

}  // namespace

std::vector<AxisTick> axis_ticks(Seconds end, int most) {
  if (end <= Seconds{} || most < 1) return {{Seconds{}, "0 s"}};
  const Unit unit = unit_of(end);
  const double least = end / unit.size / most;  // between two
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= least * (1 - 1e-9)) step = factor * power;
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  std::vector<AxisTick> ticks;
  for (int i = 0; i * step <= end / unit.size * (1 + 1e-9); ++i)
    ticks.push_back(
        {unit.size * (i * step), fmt::format("{:.{}f} {}", i * step, decimals, unit.name)});
  return ticks;
}

}  // namespace shardsim
