// All-gather plans as pipelines of ring steps. Every ring and torus algorithm is a set of
// pipelines: a piece of every shard travels along the group's axes in some order, in one direction
// of each. Reduce-scatter is the mirror image, all-reduce the sequence (ir/collective_plan.h).
//
//   ring, both directions, halved shards     piece 0: {x} +, piece 1: {x} -
//   ring, whole shards                       piece 0: {x} + for N/2 steps, and - for the rest
//   torus, all axes at once                  pieces: {x,y} + and -, {y,x} + and -
//   torus, one axis at a time                pieces: {x,y} + and -
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/cluster.h"
#include "ir/collective_plan.h"

namespace shardsim {

//   mesh, all axes at once                   as a torus; along a line a bundle goes both ways
//   levels, one after the other              piece 0: {spine, rails, nvlink} +
struct Pipeline {
  int piece = 0;
  std::vector<int> order;        // group axes, first travelled first
  int direction = 1;             // +1 or -1, on every ring
  int steps = -1;                // along the only axis; -1: all the way round, size - 1
  std::vector<int> phases = {};  // [stages] of order, ascending; empty: stage s in phase s
  int pieces = 1;                // piece, piece + 1, …, together
};

// How a bundle gets from one rank to all others along an axis.
enum class Walk : std::uint8_t {
  around,   // from neighbour to neighbour, in the pipeline's direction
  to_ends,  // from neighbour to neighbour, both ways: a line
  exchange  // straight to each: a switch, a full mesh
};
Walk walk_of(Wiring wiring);

// What a plan is made for: the group's axes, how it is folded, and the shares of the pieces.
struct PlanFrame {
  std::string algorithm;
  std::vector<int> sizes;
  std::vector<int> fold;
  std::vector<double> piece_share;
  std::vector<Walk> walk = {};  // per group axis; empty: around
  bool merged = false;          // CollectiveAsk::merged
};

CollectivePlan empty_plan(const PlanFrame& frame, Collective kind);

// All pipelines step together: in stage s, step t, every rank passes on along order[s] the bundle
// it received last: everything gathered so far; an exchange is one step. Optimal when the pipelines
// of one phase use different ports for equally long (Scaling Book ch. 3: one axis, or equal axes in
// rotated orders), or take turns on them for as long (plan/axis_phases.h). A phase of pipelines
// that say theirs begins when the one before it has ended everywhere.
CollectivePlan gather_in_steps(const PlanFrame& frame, std::span<const Pipeline> pipelines);

// The axes one after the other, and the pieces one after the other: while a piece is in its second
// unit the next is in its first. A unit is a set of axes that share ports, first travelled first.
// Rings are gone round in `direction`. When a piece has passed the units, the pipelines `inside`
// take a part of it each, in steps, along the axes that are left; the next begins there when it has
// ended everywhere. The shares are those of the parts, piece by piece.
CollectivePlan gather_in_pieces(const PlanFrame& frame, const std::vector<std::vector<int>>& units,
                                std::span<const Pipeline> inside, int direction);

// Every chunk goes on along its next axis as it arrives. Each port sends one chunk at a time in a
// fixed order, found here by letting every port send, whenever it is free, the waiting chunk of the
// earliest stage, ties to the smallest ring offset from its origin. `seconds_per_share[a]` is the
// time that one port of axis a takes for V (its share of 1), `ports[a]` 1 or 2. Reaches the bound
// (N-1)/N * V / (sum of all port rates) when the shares balance the axes.
CollectivePlan gather_as_it_arrives(const PlanFrame& frame, std::span<const Pipeline> pipelines,
                                    std::span<const double> seconds_per_share,
                                    std::span<const int> ports);

// Shares of the rotated orders (order j = j, j+1, …, j-1) that load every axis in proportion to its
// rate: the k x k linear system  sum_j share_j * load(axis, order j) = rate(axis) * T,
// load = (size - 1) * sizes of the axes before it in the order. Sum is 1. Empty when a share would
// be negative (an axis too short to help).
std::vector<double> balanced_shares(std::span<const int> sizes, std::span<const double> rates);

}  // namespace shardsim
