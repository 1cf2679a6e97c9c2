// Links and chips that differ from the others of a cluster.
#pragma once

#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "spec/run_spec.h"

namespace shardsim {

// Applies the overrides in order; a later one may change what an earlier one has. Appends problems:
// an unknown port, axis, node or position, a link that is not there, an override that changes
// nothing or does not say what, no bandwidth, a port of a switch that is missing.
// REQUIRES: no axis has been taken apart.
void apply_overrides(const std::vector<OverrideSpec>& overrides, Cluster& cluster,
                     std::vector<Problem>& problems);

}  // namespace shardsim
