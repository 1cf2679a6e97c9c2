// What a rank of a pipeline hands to the next: a device's block of the layers' first input, or,
// where copies of it lie along axes of the mesh, a piece from each copy, gathered after the
// transfer (scatter/gather; Narayanan et al. 2021, arXiv 2104.04473, section 4.1).
#pragma once

#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/sharded_layer.h"
#include "plan/collective_run.h"
#include "plan/layer_plan.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Boundary {
  Bytes bytes;                            // that a device sends
  std::vector<ShardedCollective> gather;  // none or one: makes the pieces whole again
  std::vector<AlgorithmChoice> choices;   // of it

  // What a device has of it before it sends, and after the pieces have been gathered.
  Bytes whole() const { return gather.empty() ? bytes : gather.front().bytes; }
};

// Without algorithms. Appends a problem where pieces are asked for and there are no copies.
Boundary make_boundary(const LayerPlan& layers, const Mesh& mesh, const Precision& precision,
                       const ScheduleSpec& schedule, std::vector<Problem>& problems);

}  // namespace shardsim
