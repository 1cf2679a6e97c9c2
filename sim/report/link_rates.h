// What flows on links over time: a transfer's bytes spread evenly over the time it flows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "report/run.h"

namespace shardsim {

// From `at` on.
struct RatePoint {
  Seconds at;
  BytesPerSec rate;
};

// [links] of each the times at which its rate changes, in order. `links` are indices into
// OpGraph::links, each once.
std::vector<std::vector<RatePoint>> link_rates(const Run& run,
                                               std::span<const std::uint32_t> links);

}  // namespace shardsim
