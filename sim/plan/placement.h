// Logical meshes placed on clusters.
#pragma once

#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "spec/run_spec.h"

namespace shardsim {

// The mesh on the cluster. Axes that name hardware axes, or levels of them, span them; sizes alone
// are laid out in the order that the user must then state (row-major: the first mesh axis is major)
// and may take hardware axes apart (cluster.axes is replaced): ring:16 as {X: 4, Y: 4} gives Y
// lines of four neighbours, and X rings whose neighbours are four links apart. Appends problems: an
// unknown or doubly used hardware axis, devices left over, sizes that do not multiply to the number
// of devices or do not come out of its axes, part of a one-way ring, sizes without an order.
Mesh place_mesh(const MeshSpec& spec, Cluster& cluster, std::vector<Problem>& problems);

// Sizes alone as --mesh writes them, the first axis major.
MeshSpec row_major(const std::vector<AxisSpec>& sizes, const SourcePos& pos);

// Every hardware axis its own mesh axis, for `collective`.
Mesh hardware_mesh(const Cluster& cluster);

}  // namespace shardsim
