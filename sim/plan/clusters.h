// The topology table, and clusters made from it.
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
  std::string_view example;       // short name; empty: only a level of several
  int lowest_axes, highest_axes;  // how many axes it takes
  Wiring wiring;                  // of an axis that wraps, where there is a choice
  bool wraps;                     // whether axes wrap when nothing is said
  bool rails = false;             // a switch for each position inside
};
std::span<const TopologyRow> topologies();

const TopologyRow* find_topology(std::string_view kind);  // nullptr when unknown; nvlink is switch

// What a cluster is made with besides its topology: the link figures of the innermost level, after
// defaults from the chip, and the slices that the chip comes in.
struct LinkFigures {
  BytesPerSec bandwidth;  // W1, nominal
  double efficiency = 1;
  Seconds latency;
  IciSpec ici = {};
};

// The cluster of one level, or of several. A switch level with a bandwidth of its own gives every
// device (or devices_per_nic of them) a port there; one without carries what can reach it from the
// level below, through NICs or the uplinks of that level, divided by its oversubscription: leaf,
// spine, core.
//
//   nvlink: switch, 8, 450 GB/s   ib: rails, 32, 50 GB/s   spine: switch, 4, oversubscription 2
//   from device to device of another leaf: ib up, spine up, spine down, ib down; spine up is shared
//   by the 32 devices of a rail's leaf and has 32 * 50 / 2 GB/s
//
// An explicit graph is made by plan/graph_cluster.h, and overrides are applied to either
// (plan/link_overrides.h).
//
// Appends problems (a device that another cannot reach, unknown kind, wrong number of axes, an axis
// of size 1, too many devices, wrap of an axis that cannot, a level without bandwidth,
// oversubscription below 1, NICs that do not divide) and returns an empty cluster when there was
// any.
Cluster make_cluster(const TopologySpec& spec, const LinkFigures& link,
                     std::vector<Problem>& problems);

}  // namespace shardsim
