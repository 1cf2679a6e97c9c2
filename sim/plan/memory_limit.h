// What the memory of a device must hold whatever the replay says, and whether it has room for one
// micro-batch at all.
#pragma once

#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "plan/prepare.h"
#include "spec/run_spec.h"

namespace shardsim {

// What a rank holds at the least when it has run the forward pass of one micro-batch through one of
// its stages: weights, gradients, optimizer state, and what that pass leaves for the backward pass.
// The most of any rank.
struct LeastMemory {
  Bytes held, activations;
  int rank = 0;
  Bytes total() const { return held + activations; }
};
LeastMemory least_memory(const Prepared& run);

// The same with all that the rank's schedule has in flight: what forward passes have left whose
// backward pass has not begun. No replay needs less.
Bytes memory_floor(const Prepared& run, PlanMemo& memo);

// Appends a problem when memory_limit is given and below that. Without it a run that does not fit
// is simulated all the same: fits_memory says so.
void check_memory_limit(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems);

}  // namespace shardsim
