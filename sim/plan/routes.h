// Routes over a cluster. The outermost level in which two devices differ decides: a switch is passed
// from port to port, rails and grids after going to the right position inside (over NVLink to the
// GPU on the destination's rail); a grid in dimension order, the shortest way along each axis. A message whose way is
// equally long both ways round an even ring is split in halves over both directions (a router that
// sends all ties one way makes AllToAll (N+2)/(8N) instead of 1/8 of V/W1, Scaling Book ch. 3 and
// its problems).
#pragma once

#include <vector>

#include "base/units.h"
#include "ir/cluster.h"

namespace shardsim {

struct Route {
  double share = 1;           // of the message
  std::vector<LinkId> links;  // in order
  Seconds latency;  // sum over the links: a message is cut through, not stored at each hop
};

// REQUIRES: from != to. Shares sum to 1.
std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to);

// The way to the neighbour along an axis, on a ring in that direction: one link, or several where the
// axis is a strided part of a longer one.
Route hop(const Cluster& cluster, DeviceId from, int axis, int direction);

// Up to the switch of a star axis and back down to the same device; the latency counts once.
Route through_switch(const Cluster& cluster, DeviceId device, int axis);

}  // namespace shardsim
