// Broadcasts as pipelines over spanning trees: a tree carries its share of the array in pieces, and
// piece q passes an edge `period` slots after piece q - 1. A slot is the time of one piece over one
// link; no port sends, or receives, two pieces in a slot. A reduce is the mirror image, an
// all-reduce the sequence of both (ir/collective_plan.h).
//
//   chain over 4 ranks        edges 0-1, 1-2, 2-3 in slots 0, 1, 2; period 1
//   binomial tree             whole array, one piece; every holder sends in every slot
//   axis tree over 3 x 3      from the root along the first axis, from all there along the second;
//                             every edge is a link of its own
//   double binary tree        two trees with half of the array each, period 2: a rank is inner in
//   at
//                             most one of them, and receives from one in even slots, from the other
//                             in odd ones (Sanders, Speck, Träff 2009)
#pragma once

#include <span>
#include <vector>

#include "ir/collective_plan.h"
#include "plan/device_path.h"
#include "plan/gather.h"

namespace shardsim {

struct TreeEdge {
  int from = 0;
  int to = 0;
  int tree = 0;
  int slot = 0;  // of the first piece
  Hop hop = {};
};

struct Forest {
  std::vector<TreeEdge> edges;  // parents before children
  int trees = 1;                // with equal shares
  int period = 1;

  int slots() const;  // until the first piece has passed every edge
};

// One path from `root` on, both ways from there where it has two ends; on a closed one round it in
// one direction, or half of the data in each.
enum class Round { forwards, backwards, both };
Forest chain(const DevicePath& path, int root, Round round);
// How far a tree goes along an axis from a rank at `at`: half of a ring each way, to both ends of a
// line, all the way round where links have one direction, which `backwards` turns.
struct Reach {
  int forwards = 0;
  int backwards = 0;
};
Reach reach(const GroupAxis& axis, int at, bool backwards);
Forest axis_tree(const GroupNet& net, int root, bool backwards);  // REQUIRES: one_grid(net)
Forest binomial_tree(int ranks, int root);
Forest double_binary_tree(int ranks, int root);

// Broadcast of `pieces` pieces per tree; frame.piece_share is set here.
CollectivePlan broadcast(PlanFrame frame, const Forest& forest, int pieces, int root);

// Slots until the last piece is everywhere, when every edge passes its pieces as soon as they have
// come and its two ports have done what is due before.
int makespan_in_slots(const Forest& forest, int pieces);

}  // namespace shardsim
