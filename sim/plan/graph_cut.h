// The narrowest cut of an explicit graph (a door to Boost.Graph).
#pragma once

#include <optional>

#include "ir/cluster.h"

namespace shardsim {

// Of all ways to halve the devices, what the half that can send the least sends to the other, one
// way: the maximum flow through links and switches, hence the least cut with every switch on
// whichever side it is (Ford, Fulkerson 1956; bisection as in Dally, Towles 2004, section 3.1). Odd
// numbers are halved as evenly as they can be. Links are as overrides left them. Nothing above 16
// devices: the ways to halve them are too many, and no one of them stands out.
// REQUIRES: cluster.cables is not empty.
std::optional<BytesPerSec> graph_bisection(const Cluster& cluster);

}  // namespace shardsim
