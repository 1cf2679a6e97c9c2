// Small clusters for tests, by short name.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "spec/load.h"

namespace shardsim::testing {

inline Cluster cluster(const std::string& text, Seconds latency = {},
                       BytesPerSec bandwidth = BytesPerSec{100e9}) {
  std::vector<Problem> problems;
  const TopologySpec spec = parse_topology(text, argument_pos("test", text), problems);
  Cluster made = make_cluster(spec, {bandwidth, 1.0, latency}, problems);
  if (!problems.empty()) throw ConfigError(problems);
  return made;
}

inline std::vector<int> all_axes(const Cluster& c) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < c.axes.size(); ++i) axes.push_back(static_cast<int>(i));
  return axes;
}

// Lines, rings, tori and switches with 2 to 16 ranks, sizes even, odd, equal and not.
inline std::vector<std::string> small_networks() {
  std::vector<std::string> names;
  for (int n = 2; n <= 16; ++n) {
    for (const char* kind : {"ring:", "ring-oneway:", "switch:"})
      names.push_back(kind + std::to_string(n));
  }
  for (const char* torus :
       {"torus:2x2", "torus:3x2", "torus:4x2", "torus:3x3", "torus:4x3", "torus:4x4", "torus:5x3",
        "torus:8x2", "torus:2x2x2", "torus:3x2x2", "torus:4x2x2"}) {
    names.emplace_back(torus);
  }
  return names;
}

}  // namespace shardsim::testing
