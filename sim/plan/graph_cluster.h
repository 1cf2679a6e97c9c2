// Clusters written as a graph: devices, switches and the links between them.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "plan/clusters.h"
#include "spec/run_spec.h"

namespace shardsim {

// One axis "device" and the links of the specification, each as fast as it says, or as `link` does.
// Appends problems (fewer than two devices, switches that share a name or have a number for one,
// unknown nodes, a link from a node to itself, without bandwidth or written twice). Without sound
// nodes the cluster is empty; with a link to an unknown node it has none; others that are refused
// are left out or have some bandwidth.
Cluster make_graph(const TopologySpec& spec, const LinkFigures& link,
                   std::vector<Problem>& problems);

// Whether every node has a link; otherwise a problem that names those without.
bool require_links(const TopologySpec& spec, const Cluster& cluster,
                   std::vector<Problem>& problems);

// A node's index by its name, -1 with a problem when there is none: a device's number or a switch.
int find_node(const Cluster& cluster, const Chosen<std::string>& name,
              std::vector<Problem>& problems);

}  // namespace shardsim
