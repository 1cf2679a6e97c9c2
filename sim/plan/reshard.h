// reshard: the collectives that bring one array from one layout to another.
//
//   [B_X, T, D]{U_Y} -> [B_X, T_Y, D]   reduce-scatter over Y into T
//   [B, T, D]{U_X}   -> [B, T, D]       all-reduce over X
//   [D_X, F]         -> [D, F]          all-gather over X on D
//   [I_X, J]         -> [I, J_X]        all-to-all over X from I to J
//   [I, J]           -> [I_X, J]        nothing: every device keeps its block
//
// Several axes of one dim move as one collective. Axis order is major first: only the minor-most
// axes of a dim can be gathered, so [I_XY] -> [I_Y] gathers both and cuts again; a permutation
// would be cheaper and is not planned.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "ir/sharded_layer.h"

namespace shardsim {

// One array: its name and what an element weighs.
struct ArrayInfo {
  std::string name;
  double element_bytes = 2;
};

double local_elements(const Layer& layer, const Mesh& mesh, const Sharding& sharding);
Bytes local_bytes(const Layer& layer, const Mesh& mesh, const Sharding& sharding,
                  double element_bytes);

// In order; case_text, reason and alternatives are left to the caller. Axes of size 1 need none.
// Partial sums are reduced first, into the dim where `to` has the axis if its order allows.
// REQUIRES: the same dims in both; `to` is unreduced at most where `from` is.
std::vector<ShardedCollective> reshard(const Layer& layer, const Mesh& mesh, const ArrayInfo& array,
                                       const Sharding& from, const Sharding& to);

// True when `to` comes out of `from` by cutting alone.
bool only_slices(const Sharding& from, const Sharding& to);

// The layout with no axis at all.
Sharding whole(const std::vector<std::string>& dims);

}  // namespace shardsim
