#include "plan/composite_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/algorithm_parts.h"

namespace shardsim {

namespace {

// The axes of the innermost level, and all others; of a single level its last axis.
struct Inside {
  std::vector<int> axes, across;

  explicit Inside(const GroupNet& net) {
    const auto last = static_cast<int>(net.axes.size()) - 1;
    int level = net.axes[0].level;
    for (const GroupAxis& axis : net.axes) level = std::min(level, axis.level);
    for (int a = 0; a <= last; ++a) {
      const bool its =
          levels(net) ? net.axes[static_cast<std::size_t>(a)].level == level : a == last;
      (its ? axes : across).push_back(a);
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
  if (!gathers(ask.kind) && !rooted(ask.kind)) {
    return fmt::format(
        "it is for all-gather, reduce-scatter, all-reduce and rooted collectives, not {}",
        to_text(ask.kind));
  }
  return levels(net) ? "" : "the group is inside one level";
}

Composite hierarchical(const CollectiveAsk& ask, const GroupNet& net) {
  Composite made{"hierarchical", by_level(ask, net)};
  for (Part& part : made.parts) part = cheapest(std::move(part), net);
  return made;
}

namespace {

// Sums of a part of the group are moved or exchanged there, never copied: that would be two of one.
bool moves_sums(const AlgorithmRow& row) {
  return row.parts == nullptr || row.name == "axes-in-turn";
}

bool exchanges_sums(const AlgorithmRow& row) {
  return row.name == "recursive-doubling" || row.name == "axes-in-turn";
}

bool power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

std::string exchanges_suit(const CollectiveAsk& ask, const GroupNet& net) {
  const Inside inside(net);
  for (const std::vector<int>* half : {&inside.axes, &inside.across}) {
    const GroupNet its = along(net, *half);
    const bool one = its.axes.size() == 1 || star(its);
    const std::string why =
        one ? find_algorithm("recursive-doubling")->why_not(ask, its) : exchanges_suit(ask, its);
    if (!why.empty()) return why;
    if (one && !power_of_two(its.ranks())) return "whole sums are exchanged by 2^k ranks only";
  }
  return "";
}

}  // namespace

std::string axes_in_turn_suit(const CollectiveAsk& ask, const GroupNet& net) {
  const bool tree = ask.kind == Collective::broadcast || ask.kind == Collective::reduce;
  if (!tree && !gathers(ask.kind)) {
    return fmt::format(
        "it is for all-gather, reduce-scatter, all-reduce, broadcast and reduce, not {}",
        to_text(ask.kind));
  }
  if (net.axes.size() == 1) return "the group has one axis";
  if (star(net)) return "the axes of one switch are one";
  if (ask.kind == Collective::all_reduce) return exchanges_suit(ask, net);
  if (!tree && levels(net)) return "over levels that is hierarchical";
  return "";
}

// An all-gather begins outside, where a rank has least, a broadcast as well: then every node has
// it at the root's position. An all-reduce exchanges whole sums, inside first.
Composite axes_in_turn(const CollectiveAsk& ask, const GroupNet& net) {
  const Inside inside(net);
  Composite made{"axes-in-turn", {}};
  const bool whole = ask.kind != Collective::all_gather && ask.kind != Collective::reduce_scatter;
  Part across = part_of(ask.kind, ask, net, inside.across, whole);
  across.at_root = rooted(ask.kind);
  const bool outside_first =
      ask.kind == Collective::all_gather || ask.kind == Collective::broadcast;
  if (outside_first) made.parts.push_back(across);
  made.parts.push_back(part_of(ask.kind, ask, net, inside.axes, true));
  if (!outside_first) made.parts.push_back(across);
  const auto may = ask.kind == Collective::all_reduce ? exchanges_sums
                   : ask.kind == Collective::reduce   ? moves_sums
                                                      : nullptr;
  for (Part& part : made.parts) part = cheapest(std::move(part), net, may);
  return made;
}

std::string scatter_gather_suits(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind != Collective::broadcast && ask.kind != Collective::reduce) {
    return fmt::format("it is for broadcast and reduce, not {}", to_text(ask.kind));
  }
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

}  // namespace shardsim
