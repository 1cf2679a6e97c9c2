// The search behind plan/reshard.h: the cheapest way from one packed layout to another.
//
// A* (Hart, Nilsson, Raphael 1968) with a bound on what is left: the bytes that some device still
// lacks of its target block, over all of its links at once. Slices are free steps of a way.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "plan/reshard.h"
#include "plan/reshard_moves.h"

namespace shardsim {

// What is moved, by whom, from where to where.
struct ReshardTask {
  const Layer& layer;
  PriceBook& pricing;
  const ArrayInfo& array;
  const Sharding& from;
  const Sharding& to;
  // What the answer may cost; a search ends once it is certain that it costs more.
  Seconds most{std::numeric_limits<double>::infinity()};

  const Mesh& mesh() const { return pricing.mesh(); }
  Bytes local(const Sharding& sharding) const {
    return local_bytes(layer, mesh(), sharding, array.element_bytes);
  }
};

// V (JAX Scaling Book ch. 3) of one collective of `group` devices, with the padding of its blocks:
// `sent` is what a device starts from (all-to-all: its block for one other), `after` its result.
Bytes reshard_bytes(Collective kind, Bytes sent, Bytes after, int group);

// The collective of a step that is not free. REQUIRES: it starts from `before`.
ShardedCollective collective_of(const ReshardTask& task, const ReshardStep& step,
                                PackedLayout before);

struct SearchLimits {
  std::size_t layouts = 500;       // that may be settled
  std::size_t permutations = 200;  // that may be priced, of
  std::size_t sends = 51200;       // so many messages together
  std::size_t steps = 20000;       // that may be looked at
  bool dive = false;  // some way, soon: always the layout with the fewest axes out of place
  double below = std::numeric_limits<double>::infinity();  // only ways that cost less
};
struct SearchResult {
  std::optional<ReshardPath> path;
  double cost = 0;        // of the path, in the measure of the search
  bool given_up = false;  // at a limit: there may be a way, or a cheaper one
};
// A bound from below on every way, in seconds: what find_path() begins with.
Seconds least_price(const ReshardTask& task, const ReshardScope& scope, PackedLayout from);

// No path and not given up: every way costs more than the task allows, or than `limits.below`.
SearchResult find_path(const ReshardTask& task, const ReshardScope& scope, PackedLayout from,
                       const SearchLimits& limits);

}  // namespace shardsim
