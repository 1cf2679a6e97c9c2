// Clusters in words: figures of every level, and what a network has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"

namespace shardsim {

// "torus:16x16"; "nvlink switch:8 inside ib rails:32".
std::string shape_text(const Cluster& cluster);

// "ring:8, W1 = 100 GB/s per directed link, latency 1 us a hop"; of several levels, innermost
// first: "hgx-h100-x2: nvlink (switch of 8), W1 = 450 GB/s egress per device, latency 1 us a route;
// ib …".
std::string network_text(const Cluster& cluster);

// How the groups of a collective over these cluster axes lie: "4 groups of 4 devices, all at once:
// X = 4 is devices 4 apart along an axis of 16".
std::string groups_text(const Cluster& cluster, const Mesh& mesh, std::span<const int> axes);

// Names of the mesh axes that span these cluster axes, in their order.
std::vector<std::string> axis_names(const Mesh& mesh, std::span<const int> axes);

// What a person compares networks by.
struct NetworkFacts {
  double links = 0;       // directed ones that lead somewhere
  double ports = 0;       // of one device, outgoing; of the best connected one
  BytesPerSec bisection;  // one way
  std::string cut;        // the axis that is halved
  std::string wrap;       // axes whose ends are joined, "-" where there are none
};

// The bisection is the capacity of the cut that halves the devices along one axis of the outermost
// level, in one direction; of the axes the one with the smallest (Dally, Towles: Principles and
// Practices of Interconnection Networks, 2004, section 3.1). Through a switch it is what the
// smaller half can send, or take in. An axis of odd size is cut as evenly as it can be. Where
// overrides slow links down or take them away, it is the least of the cuts across the middle of the
// axis, a circle's at any rotation, in either direction. Of an explicit graph it is the least over
// all halves (plan/graph_cut.h), 0 where they are too many.
NetworkFacts network_facts(const Cluster& cluster);

}  // namespace shardsim
