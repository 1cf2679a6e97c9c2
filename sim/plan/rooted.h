// Scatters: the root's array goes to all ranks, a shard each. A gather is the mirror image over a
// tree, and has its own order where the network routes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "plan/algorithms.h"
#include "plan/gather.h"
#include "plan/trees.h"

namespace shardsim {

// Every rank of a binomial tree passes on the shards of each subtree as one message. REQUIRES: the
// forest is binomial_tree(ranks, root).
CollectivePlan scatter_over(const PlanFrame& frame, const Forest& forest, int root);

// Shards that pass the root's ports together, straight by the network's routes. A message half way
// round a ring is split over both ports there and whole again on the next axis, which would leave
// half of the ports idle; it shares them with its mirror image on that axis.
struct RootTurn {
  std::array<int, 2> rank = {};  // one, or two mirror images
  int ranks = 1;
  Hop lane = {};          // the root's port that it passes
  bool split = false;     // a tie: and the opposite port
  Seconds latency = {};   // of the whole way
  BytesPerSec rate = {};  // of the slowest link on it
  double load = 1;        // shards' time on each of its ports

  std::span<const int> both() const { return {rank.data(), static_cast<std::size_t>(ranks)}; }
  // Among the root's ports, two for each axis of the group; the same one twice without a tie.
  std::array<std::size_t, 2> ports() const {
    const std::size_t one = 2 * static_cast<std::size_t>(lane.axis) + (lane.direction > 0 ? 1 : 0);
    return {one, split ? one ^ 1u : one};
  }
};

// All turns in the order in which the root's ports take them: by latency, so that none waits for
// one that is farther. Opposite ports of an axis have the same order. The routes take the axes of
// the hardware in order; a scatter leaves by the first axis that it moves along, a gather comes in
// by the last. The last answer is kept: to choose an algorithm, to tell its closed form and to plan
// it are the same question.
std::shared_ptr<const std::vector<RootTurn>> root_turns(const GroupNet& net, int root,
                                                        Collective kind);

// Straight to or from the root: on a switch all at once, elsewhere one turn after the other on
// each of the root's ports, so that no two share a link. All are posted at the start.
CollectivePlan direct_rooted(const PlanFrame& frame, const GroupNet& net, Collective kind,
                             int root);

}  // namespace shardsim
