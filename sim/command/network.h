// The cluster and mesh that options describe: --topology, --bandwidth, --latency, --chip, --mesh.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "plan/clusters.h"
#include "spec/run_spec.h"

namespace shardsim {

// As written on the command line; empty: not given.
struct NetworkArguments {
  std::string topology, bandwidth, latency, chip, mesh;
};

// "X=4,Y=2" as sizes, each with its position; an empty text has none.
std::vector<AxisSpec> sizes_of(const char* option, const std::string& text,
                               std::vector<Problem>& problems);

// The topology of a name, path or short name, with the figures that the options state: of every
// level that the file leaves open, --bandwidth is the innermost level's.
struct StatedNetwork {
  TopologySpec topology;  // without a kind or levels: it could not be read
  LinkFigures link;
  bool priced = false;  // a bandwidth is known
};
StatedNetwork stated_network(const NetworkArguments& args, std::vector<Problem>& problems,
                             TopologySpec otherwise = {});  // without --topology

}  // namespace shardsim
