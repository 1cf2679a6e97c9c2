// Twins: switches of a graph with the same links to the same nodes. Swapping two of them maps the
// graph onto itself and every device onto itself, and a message is split evenly over the paths
// through them, so they carry the same at any time: one switch with the links of all stands for
// them, and a message takes one path instead of one through each.
#pragma once

#include <string>
#include <vector>

#include "ir/cluster.h"

namespace shardsim {

struct TwinsAsOne {
  Cluster cluster;
  std::vector<std::string> said;  // [switches that stand for several] "8 like spine0"
};

// Every other cluster stays as it is: one without twins, and a graph in which two devices have
// paths through unequal numbers of twins, or more than kMostPaths, for there the split would be
// another.
TwinsAsOne twins_as_one(const Cluster& cluster);

}  // namespace shardsim
