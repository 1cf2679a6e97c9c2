// reshard: the cheapest collectives that bring one array from one layout to another.
//
//   [B_X, T, D]{U_Y} -> [B_X, T_Y, D]   reduce-scatter over Y into T
//   [D_X, F]         -> [D, F]          all-gather over X on D
//   [I_X, J]         -> [I, J_X]        all-to-all over X from I to J
//   [I_{XY}, J]      -> [I_Y, J]        permute to [I_{YX}, J], then all-gather over X
//   [I, J]           -> [I_X, J]        nothing: every device keeps its block
//
// A search over sequences of primitives (plan/reshard_moves.h) by their price in seconds on the
// run's cluster (plan/price.h), ties by bytes, then fewer steps, then the order of the table of
// primitives. Never into {U}. Axis order is major first. Source: JAX Scaling Book ch. 3; Zhang et
// al., "Memory-efficient array redistribution through portable collective communication"
// (arXiv:2112.01075), which searches the same primitives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "ir/sharded_layer.h"
#include "plan/price.h"

namespace shardsim {

// One array: its name and what an element weighs.
struct ArrayInfo {
  std::string name;
  double element_bytes = 2;
};

int local_size(const Layer& layer, const Mesh& mesh, const DimLayout& dim);
double local_elements(const Layer& layer, const Mesh& mesh, const Sharding& sharding);
Bytes local_bytes(const Layer& layer, const Mesh& mesh, const Sharding& sharding,
                  double element_bytes);

enum class ReshardFreedom : std::uint8_t {
  any,          // also cuts over idle axes, and dims that the target does not cut
  used_axes,    // the same, over axes that either layout uses
  single_axes,  // as any, one mesh axis at a time
  straight      // an axis only goes where the target has it: what the authors of presets do
};

struct ReshardPlan {
  std::vector<ShardedCollective> steps;  // case_text, reason, alternatives: left to the caller
  Seconds price;                         // sum over the steps
  Bytes bytes;                           // V of each step
  std::vector<std::string> warnings;     // a dim gathered whole and cut again; a bounded search
};

// REQUIRES: the same dims in both; `to` is unreduced at most where `from` is. Groups of one device
// move nothing and leave no step.
ReshardPlan reshard(const Layer& layer, PriceBook& pricing, const ArrayInfo& array,
                    const Sharding& from, const Sharding& to,
                    ReshardFreedom freedom = ReshardFreedom::any);

// The same, or nullopt where it costs more than `most`, often without all of the search.
std::optional<ReshardPlan> reshard_within(const Layer& layer, PriceBook& pricing,
                                          const ArrayInfo& array, const Sharding& from,
                                          const Sharding& to, ReshardFreedom freedom, Seconds most);

// A bound from below on the price of that reshard, without a search: the bytes that some device
// lacks of its block, over all links that the reshard may use at once.
Seconds reshard_bound(const Layer& layer, PriceBook& pricing, const ArrayInfo& array,
                      const Sharding& from, const Sharding& to,
                      ReshardFreedom freedom = ReshardFreedom::any);

// True when `to` comes out of `from` by cutting alone.
bool only_slices(const Sharding& from, const Sharding& to);

// The layout with no axis at all.
Sharding whole(const std::vector<std::string>& dims);

}  // namespace shardsim
