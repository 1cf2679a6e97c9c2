// An order of all ranks of a group in which each is a neighbour of the next: what a chain and a
// ring through a torus or a mesh follow.
//
//   line:4, ring:4    0 1 2 3
//   mesh:4x3          row by row, forwards and back; as a cycle with column 0 kept for the way back
//   torus:3x3         row by row, each a step behind the row before, so that the last row ends
//                     above the start
//
// A grid without wrapped axes has a cycle through all devices exactly if one of its sizes is even;
// a product of two cycles always has one (both are folklore; the constructions are in the .cpp).
#pragma once

#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

struct Hop {
  int axis = -1;      // group axis, or -1: through a switch
  int direction = 0;  // +1 or -1 on that axis
};

struct DevicePath {
  std::vector<int> ranks;
  // hops[i] leads from ranks[i] to ranks[i + 1]; in a cycle the last to ranks[0].
  std::vector<Hop> hops;
  bool closed = false;
};

// Closed where a cycle exists that can be travelled both ways over different links, on one-way
// rings, and where switches join the ends. REQUIRES: at most one axis where one is one-way.
DevicePath device_path(const GroupNet& net);
bool has_cycle(const GroupNet& net);  // whether device_path(net) is closed

// The hop of an axis backwards; a path from its end to its start.
Hop reversed(const Hop& hop);
DevicePath reversed(const DevicePath& path);

}  // namespace shardsim
