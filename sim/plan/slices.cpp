#include "plan/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace shardsim {

namespace {

std::string rule_text(const IciSpec& ici) {
  if (ici.wrap_length > 0) return fmt::format("an axis wraps at {} only", ici.wrap_length);
  return fmt::format("all axes wrap when all are multiples of {}, otherwise none", ici.wrap_cube);
}

// What is wrong with the shape; empty: the slice exists.
std::string why_not(const LevelSpec& level, const IciSpec& ici) {
  const auto count = static_cast<int>(level.axes.size());
  if (count > ici.dims) {
    return fmt::format("expected at most {} axes in a slice of {}, found {}", ici.dims, ici.chip,
                       count);
  }
  double chips = 1;
  for (const AxisSpec& axis : level.axes) {
    chips *= axis.size;
    if (ici.wrap_length > 0 && axis.size > ici.wrap_length) {
      return fmt::format("expected at most {} chips along an axis of {}, found {}", ici.wrap_length,
                         ici.chip, axis.size);
    }
  }
  if (chips <= ici.chips) return "";
  return fmt::format("expected at most {} chips in a slice of {}, found {:.0f}", ici.chips,
                     ici.chip, chips);
}

Chosen<std::vector<Chosen<std::string>>> wrapped_axes(const LevelSpec& level, const IciSpec& ici) {
  const bool whole = static_cast<int>(level.axes.size()) == ici.dims;
  const bool cubes = whole && ici.wrap_cube > 0 &&
                     std::all_of(level.axes.begin(), level.axes.end(), [&](const AxisSpec& axis) {
                       return axis.size % ici.wrap_cube == 0;
                     });
  Chosen<std::vector<Chosen<std::string>>> wrap{{}, level.pos, true};
  for (const AxisSpec& axis : level.axes) {
    if (cubes || axis.size == ici.wrap_length) wrap.value.push_back({axis.name, axis.pos, true});
  }
  return wrap;
}

void settle(LevelSpec& level, const IciSpec& ici, std::vector<Problem>& problems) {
  if (level.kind.value != kSlice) return;
  if (ici.chip.empty()) {
    problems.push_back(
        {level.kind.pos,
         "expected a tpu-slice of a chip that comes in slices, found another chip or none",
         "name a chip such as tpu-v5p, or write torus or mesh"});
    return;
  }
  if (level.wrap.given) {
    problems.push_back({level.wrap.pos,
                        fmt::format("expected no wrap beside a tpu-slice of {}, found one: {}",
                                    ici.chip, rule_text(ici)),
                        "write torus or mesh instead of tpu-slice"});
    return;
  }
  if (level.axes.size() > 1) {
    std::erase_if(level.axes, [](const AxisSpec& axis) { return axis.size == 1; });
  }
  const std::string wrong = why_not(level, ici);
  if (!wrong.empty()) {
    problems.push_back({level.pos, wrong, rule_text(ici)});
    return;
  }
  level.wrap = wrapped_axes(level, ici);
}

}  // namespace

TopologySpec settle_slices(TopologySpec topology, const IciSpec& ici,
                           std::vector<Problem>& problems) {
  settle(topology, ici, problems);
  for (LevelSpec& level : topology.levels) settle(level, ici, problems);
  return topology;
}

}  // namespace shardsim
