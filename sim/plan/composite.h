// Collectives made of others, one after the other: reduce-scatter inside the nodes, all-reduce
// across, all-gather inside; a broadcast as scatter and all-gather. A composite row of the
// algorithm table says its parts; plan, closed form, sends and symmetry follow from theirs.
//
//   broadcast over 2 nodes of 4, root 0    bytes  axes    groups
//     scatter inside                       V      {4}     the root's node alone
//     broadcast across                     V/4    {2}     each the shards of its own position
//     all-gather inside                    V      {4}     each shard j those of all ranks at j
//
// A part begins when the one before has ended everywhere, so the closed forms add up.
#pragma once

#include <string_view>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

struct Part {
  const AlgorithmRow* row = nullptr;
  CollectiveAsk ask;      // of one of its groups: V, root among its ranks
  std::vector<int> axes;  // of the net, in the net's order; a group for every place on the others
  bool whole = true;     // a group has all shards, those beside it alike; false: those of its place
  bool at_root = false;  // only the root's group takes part
};

struct Composite {
  std::string_view name;  // of the row
  std::vector<Part> parts;
};

// The net of the groups along some axes, one for every place on the others: what of a port was one
// group's is shared with those beside it, unless one is alone (Part::at_root). REQUIRES: not a
// graph, or all axes.
GroupNet along(const GroupNet& net, const std::vector<int>& axes, bool alone = false);

// A part for a collective of `ask`'s V and root, without its row.
Part part_of(Collective kind, const CollectiveAsk& ask, const GroupNet& net, std::vector<int> axes,
             bool whole);
// With the row of the smallest closed form. REQUIRES: some row suits.
Part cheapest(Part part, const GroupNet& net);

CollectivePlan plan_of(const Composite& composite, const CollectiveAsk& ask, const GroupNet& net,
                       const std::vector<int>& fold);
ClosedForm form_of(const Composite& composite, const GroupNet& net);
double sends_of(const Composite& composite, const GroupNet& net);
std::vector<int> fold_of(const Composite& composite, const CollectiveAsk& ask, const GroupNet& net);

// The columns of a row from the function that says its parts.
template <Composite (*parts)(const CollectiveAsk&, const GroupNet&)>
struct CompositeRow {
  static CollectivePlan plan(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
    return plan_of(parts(ask, net), ask, net, fold);
  }
  static ClosedForm form(const CollectiveAsk& ask, const GroupNet& net) {
    return form_of(parts(ask, net), net);
  }
  static double sends(const CollectiveAsk& ask, const GroupNet& net) {
    return sends_of(parts(ask, net), net);
  }
  static std::vector<int> fold(const CollectiveAsk& ask, const GroupNet& net) {
    return fold_of(parts(ask, net), ask, net);
  }
};

}  // namespace shardsim
