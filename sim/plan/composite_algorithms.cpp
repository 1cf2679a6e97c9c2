#include "plan/composite_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/algorithm_parts.h"

namespace shardsim {

namespace {

// The axes of the innermost level, and all others.
struct Inside {
  std::vector<int> axes, across;

  explicit Inside(const GroupNet& net) {
    int level = net.axes[0].level;
    for (const GroupAxis& axis : net.axes) level = std::min(level, axis.level);
    for (int a = 0; a < static_cast<int>(net.axes.size()); ++a) {
      (net.axes[static_cast<std::size_t>(a)].level == level ? axes : across).push_back(a);
    }
  }
};

// One kind after the other inside, across and inside; none: nothing there.
struct Stages {
  std::vector<Collective> before, after;  // inside
  Collective across = Collective::all_reduce;
};

Stages stages_of(Collective kind) {
  switch (kind) {
    case Collective::all_reduce:
      return {{Collective::reduce_scatter}, {Collective::all_gather}, kind};
    case Collective::broadcast:
      return {{Collective::scatter}, {Collective::all_gather}, kind};
    case Collective::reduce:
      return {{Collective::reduce_scatter}, {Collective::gather}, kind};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {{kind}, {}, kind};
    default:  // all-gather, gather
      return {{}, {kind}, kind};
  }
}

// Without their rows.
std::vector<Part> by_level(const CollectiveAsk& ask, const GroupNet& net) {
  const Inside inside(net);
  const Stages stages = stages_of(ask.kind);
  std::vector<Part> parts;
  const auto add_inside = [&](Collective kind) {
    parts.push_back(part_of(kind, ask, net, inside.axes, true));
    // A scatter hands out what the root's node has, a gather collects there.
    parts.back().at_root = kind == Collective::scatter || kind == Collective::gather;
  };
  for (const Collective kind : stages.before) add_inside(kind);
  parts.push_back(part_of(stages.across, ask, net, inside.across, false));
  for (const Collective kind : stages.after) add_inside(kind);
  return parts;
}

}  // namespace

std::string hierarchical_suits(const CollectiveAsk& ask, const GroupNet& net) {
  using enum Collective;
  const std::string why = only_for(ask, {all_gather, reduce_scatter, all_reduce, broadcast, reduce,
                                         Collective::gather, scatter});
  if (!why.empty()) return why;
  return levels(net) ? "" : "the group is inside one level";
}

Composite hierarchical(const CollectiveAsk& ask, const GroupNet& net) {
  Composite made{"hierarchical", by_level(ask, net)};
  for (Part& part : made.parts) part = cheapest(std::move(part), net);
  return made;
}

std::string scatter_gather_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::broadcast, Collective::reduce});
  if (!why.empty()) return why;
  // There every device gathers in its own way, so the plan grows with the square of their number.
  constexpr int kMost = 1024;
  const bool open = std::any_of(net.axes.begin(), net.axes.end(),
                                [](const GroupAxis& axis) { return axis.wiring == Wiring::line; });
  if (!open || net.ranks() <= kMost) return "";
  return fmt::format("on lines and meshes it is for at most {} devices", kMost);
}

Composite scatter_gather(const CollectiveAsk& ask, const GroupNet& net) {
  std::vector<int> all(net.axes.size());
  std::iota(all.begin(), all.end(), 0);
  const bool out = ask.kind == Collective::broadcast;
  const auto part = [&](Collective kind) {
    return cheapest(part_of(kind, ask, net, all, true), net);
  };
  return {"scatter-gather",
          {part(out ? Collective::scatter : Collective::reduce_scatter),
           part(out ? Collective::all_gather : Collective::gather)}};
}

std::string node_trees_suit(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::all_reduce});
  if (!why.empty()) return why;
  if (!levels(net)) return "the group is inside one level";
  const Inside inside(net);
  const bool one_ring = inside.axes.size() == 1 && star(along(net, inside.axes));
  if (one_ring && star(along(net, inside.across))) return "";
  return "it is for nodes with a switch inside, an axis each, and one level of switches outside";
}

Composite node_trees(const CollectiveAsk& ask, const GroupNet& net) {
  Composite made{"node-trees", by_level(ask, net)};
  for (Part& part : made.parts) {
    const bool across = part.ask.kind == Collective::all_reduce;
    part.row = find_algorithm(across ? "double-binary-tree" : "ring-oneway");
  }
  return made;
}

}  // namespace shardsim
