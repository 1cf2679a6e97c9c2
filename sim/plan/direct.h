// Plans in which every rank sends straight to its destination and the network routes: direct
// all-gather on a switch, a sum in the switch, all-to-all anywhere, a shift.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "plan/gather.h"

namespace shardsim {

// On a switch: every rank sends its shard (all-gather) or 1/N^2 of V (all-to-all) to every other,
// `window` sends at once: the nearest first, the next ones when those have ended.
CollectivePlan direct_in_windows(const PlanFrame& frame, Collective kind, int window);

// Every rank sends its whole array to the switch, which adds them and returns the sum.
CollectivePlan switch_sum(const PlanFrame& frame);

// Over links: every rank sends 1/N^2 of V to every other, in rounds with a barrier between them.
// All messages are posted at the start (latency runs from there); the rounds only keep the sharing
// of links simple. A round holds displacements that differ by sign and by exchanging alike axes, so
// that it loads the busiest axes evenly; rounds in which another axis would be busiest are merged
// with ones that have slack. The sum of the rounds is the bound: the load of the busiest link.
// wiring[i] is of group axis i.
CollectivePlan direct_all_to_all(const PlanFrame& frame, std::span<const Wiring> wiring);

// Axis by axis in the given order: every rank passes on, to the ranks along the axis, whatever must
// go there, V/N in all; a barrier between the axes.
CollectivePlan all_to_all_by_axis(const PlanFrame& frame, std::span<const int> order);

// The rounds of direct_all_to_all, in order.
struct AllToAllRound {
  std::vector<double> load;  // [axes] chunks that pass one port of the axis
  int shortest = 0;          // hops of the nearest and the farthest destination
  int longest = 0;
};
std::vector<AllToAllRound> all_to_all_rounds(std::span<const int> sizes,
                                             std::span<const Wiring> wiring);

// Every rank sends its 1/N of V to the rank `by` further along the last axis.
CollectivePlan shift(const PlanFrame& frame, int by);

// The links of an axis, in one direction, that a displacement modulo its size loads: those of the
// shortest way round, 0..size-1. On a line size - d ranks go d links one way and d ranks size - d
// the other: the links in the middle carry min(d, size - d) of either.
int hops(Wiring wiring, int size, int displacement);

}  // namespace shardsim
