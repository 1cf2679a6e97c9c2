// Plans in which every rank sends straight to its destination and the network routes: direct
// all-gather on a switch, a sum in the switch, all-to-all anywhere, a shift.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "plan/algorithms.h"
#include "plan/gather.h"

namespace shardsim {

// On a switch: every rank sends its shard (all-gather) or 1/N^2 of V (all-to-all) to every other,
// `window` sends at once: the nearest first, the next ones when those have ended.
CollectivePlan direct_in_windows(const PlanFrame& frame, Collective kind, int window);

// Every rank sends its whole array to the switch, which adds them and returns the sum.
CollectivePlan switch_sum(const PlanFrame& frame);

// One round of an all-to-all: displacements whose messages are under way at once.
struct AllToAllRound {
  std::vector<int> displacements;
  std::vector<Seconds> load;  // per byte of a message, of each kind of link (or link of a graph)
  Seconds farthest;           // latency of the messages, the largest
  // The smallest of those over a kind of link; infinite: there are none.
  std::vector<Seconds> nearest;
  int distance = 0;  // links to the farthest destination

  Seconds busiest() const;
  // Whether nothing passes a busiest link before the last message starts: the round then lasts its
  // latency and that link's load.
  bool one_start() const;
};

// The rounds of an all-to-all. Equal messages that start together end with the busiest link, at the
// latest after its load: each gets at least an equal part of it (max-min). So any rounds do that
// are all as long as the load of the one link that is busiest over all: together they take its
// load, the bound. A round begins with displacements that load alike links evenly: those that
// differ by sign and by exchanging alike axes of a grid, one at a time through a switch or on a
// graph; rounds in which another link would be busiest are merged with ones that have slack.
std::vector<AllToAllRound> all_to_all_rounds(const GroupNet& net);

// The load of the busiest link over all rounds, per byte of a message.
Seconds all_to_all_load(const GroupNet& net);

// Every rank sends 1/N^2 of V to every other, in the rounds with a barrier between them. All
// messages are posted at the start (latency runs from there); the rounds only keep the sharing of
// links simple.
CollectivePlan direct_all_to_all(const PlanFrame& frame, std::span<const AllToAllRound> rounds);

// The same messages on a grid, added up by the links that they pass: what every rank sends to its
// neighbours, its own and others'. REQUIRES: one_grid(net), no single link differs.
CollectivePlan merged_all_to_all(const PlanFrame& frame, const GroupNet& net);

// Unit by unit of axes in the given order: every rank passes on, to the ranks along them, whatever
// must go there, V/N in all; a barrier between the units.
CollectivePlan all_to_all_by_unit(const PlanFrame& frame, std::span<const std::vector<int>> units);

// Every rank sends its 1/N of V to the rank `by` further along the last axis.
CollectivePlan shift(const PlanFrame& frame, int by);

// The links of an axis, in one direction, that a displacement modulo its size loads: those of the
// shortest way round, 0..size-1. On a line size - d ranks go d links one way and d ranks size - d
// the other: the links in the middle carry min(d, size - d) of either.
int hops(Wiring wiring, int size, int displacement);

}  // namespace shardsim
