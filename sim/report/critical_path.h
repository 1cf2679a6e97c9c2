// The critical path: from the op that ends last back to the start, always to the dependency that
// ended last. Whoever wants the step shorter has to shorten it.
#pragma once

#include <cstdint>
#include <vector>

#include "report/run.h"

namespace shardsim {

// Its time by kind, longest first; sums to the step. Waiting: no op of the path ran.
std::vector<KindTime> critical_path(const Run& run);

// What computes of one device class take by kind, in the order of the step.
std::vector<KindTime> compute_kinds(const Run& run, std::uint32_t device);

}  // namespace shardsim
