// Clusters of which the file says more that is wrong than could be read.
#pragma once

#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "spec/run_spec.h"

namespace shardsim {

// plan/clusters.h of a topology that may have been read in part only, for what is wrong with it
// besides what `problems` says already: what has a problem gets no second one there, a topology,
// level or override with one on its first line none about the whole of it, and no bandwidth is
// missed, for these may be what could not be read.
Cluster make_cluster_despite(TopologySpec spec, std::vector<Problem>& problems);

}  // namespace shardsim
