// The topology table, clusters made from it, and logical meshes placed on them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "spec/run_spec.h"

namespace shardsim {

struct TopologyRow {
  std::string_view name;
  std::string_view help;
  std::string_view example;       // short name
  int lowest_axes, highest_axes;  // how many axes it takes
  Wiring wiring;
};
std::span<const TopologyRow> topologies();

// The link figures a cluster is made with, after defaults from the chip.
struct LinkFigures {
  BytesPerSec bandwidth;  // W1, nominal
  double efficiency = 1;
  Seconds latency;
};

// Appends problems (unknown kind, wrong number of axes, an axis of size 1, too many devices) and
// returns an empty cluster when there was any.
Cluster make_cluster(const TopologySpec& spec, const LinkFigures& link,
                     std::vector<Problem>& problems);

// The mesh on the cluster. Axes that name hardware axes span them; sizes alone are laid out in the
// order that the user must then state (row-major: the first mesh axis is major). A switch has no
// axes of its own, so its devices are renumbered on the mesh's axes (cluster.axes is replaced).
// Appends problems: an unknown or doubly used hardware axis, devices left over, sizes that do not
// multiply to the number of devices or do not fall on axis boundaries, sizes without an order.
Mesh place_mesh(const MeshSpec& spec, Cluster& cluster, std::vector<Problem>& problems);

// Every hardware axis its own mesh axis, for `collective`.
Mesh hardware_mesh(const Cluster& cluster);

}  // namespace shardsim
