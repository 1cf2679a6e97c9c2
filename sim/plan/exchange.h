// What a permutation of blocks exchanges, on packed layouts (plan/reshard_moves.h): of every dim
// the axes that change, without those that both layouts have major-most or minor-most.
//
//   [I_{XYZ}, J_P] -> [I_{YXZ}, J_P]      XY for YX
//
// A message goes along one hardware axis after the other, in their order. Exchanges whose hardware
// axes lie all before or all after those of another are independent: the links of each carry what
// they would carry alone. Between its axes another one would have some of its coordinates changed
// and some not yet, and ways that were apart would meet.
#pragma once

#include <string>
#include <vector>

#include "plan/reshard_moves.h"

namespace shardsim {

struct Exchange {
  AxisList before, after;
};

// REQUIRES: both use the same axes, but for those of one device, and cut every dim into equally
// many blocks.
std::vector<Exchange> exchanges(const PlacedAxes& before, const PlacedAxes& after);
// REQUIRES: both fit into packed layouts.
std::vector<Exchange> exchanges(const Mesh& mesh, const Sharding& before, const Sharding& after);
std::vector<std::vector<Exchange>> independent(const Mesh& mesh, const std::vector<Exchange>& all);

// The axes along which blocks move, in the order of the mesh.
AxisList moved_axes(const std::vector<Exchange>& all);

// Equal for equal lists, and only for those.
std::string key_of(const std::vector<Exchange>& all);

}  // namespace shardsim
