// Paths with the fewest links inside one level of a cluster, or on an explicit graph (the door to
// Boost.Graph).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/cluster.h"

namespace shardsim {

// Keeps what it has found out; does not refer to the cluster.
class GraphPaths {
 public:
  // Of links that are not missing.
  GraphPaths(const Cluster& cluster, int level);
  ~GraphPaths();
  GraphPaths(const GraphPaths&) = delete;
  GraphPaths& operator=(const GraphPaths&) = delete;

  // How many paths, at most `most`. REQUIRES: there is one.
  int count(DeviceId from, DeviceId to, int most);
  // So many of them, spread evenly among all in the order of their links.
  std::vector<std::vector<LinkId>> taken(DeviceId from, DeviceId to, int most);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

// Two devices of one grid of a level, or of a graph, of which the second cannot be reached from the
// first there.
std::optional<std::pair<DeviceId, DeviceId>> unreachable_pair(const Cluster& cluster);

}  // namespace shardsim
