#include "plan/algorithm_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardsim {

bool gathers(Collective kind) {
  return kind == Collective::all_gather || kind == Collective::reduce_scatter ||
         kind == Collective::all_reduce;
}

double rounds(Collective kind) {
  return kind == Collective::all_reduce ? 2.0 : 1.0;
}

// Said of most rows of the table for every collective that is priced, and seldom read.
std::string only_for(const CollectiveAsk& ask, std::initializer_list<Collective> kinds) {
  if (std::find(kinds.begin(), kinds.end(), ask.kind) != kinds.end()) return "";
  std::string why;
  why.reserve(128);
  why += "it is for ";
  for (const Collective& kind : kinds) {
    const bool last = &kind + 1 == kinds.end();
    why += &kind == kinds.begin() ? "" : last ? " and " : ", ";
    why += to_text(kind);
  }
  why += ", not ";
  why += to_text(ask.kind);
  return why;
}

std::string only_gathers(const CollectiveAsk& ask) {
  using enum Collective;
  return only_for(ask, {all_gather, reduce_scatter, all_reduce});
}

bool star(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
    return axis.wiring == Wiring::star && axis.level == net.axes[0].level;
  });
}

bool levels(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(),
                     [&](const GroupAxis& axis) { return axis.level != net.axes.front().level; });
}

std::vector<int> outside_in(const GroupNet& net) {
  std::vector<int> order(net.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return net.axes[static_cast<std::size_t>(a)].level >
           net.axes[static_cast<std::size_t>(b)].level;
  });
  return order;
}

bool one_grid(const GroupNet& net) {
  return !levels(net) && std::none_of(net.axes.begin(), net.axes.end(), [](const GroupAxis& axis) {
    return axis.wiring == Wiring::star || axis.wiring == Wiring::full_mesh ||
           axis.wiring == Wiring::graph;
  });
}

bool wrapped(const GroupAxis& axis) {
  return axis.wiring == Wiring::ring || axis.wiring == Wiring::ring_oneway;
}

bool one_way(const GroupAxis& axis) {
  return axis.wiring == Wiring::ring_oneway;
}

bool same_links(const GroupNet& net) {
  return net.graph == nullptr && !net.strided &&
         std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
           return axis.w1 == net.axes[0].w1 && axis.latency == net.axes[0].latency;
         });
}

std::vector<int> every_translation(const CollectiveAsk&, const GroupNet& net) {
  return std::vector<int>(net.axes.size(), 1);
}

std::vector<int> no_translation(const CollectiveAsk&, const GroupNet& net) {
  return net.sizes();
}

PlanFrame frame(std::string_view name, const GroupNet& net, const std::vector<int>& fold,
                std::vector<double> piece_share, bool merged) {
  PlanFrame made{std::string(name), net.sizes(), fold, std::move(piece_share), {}, merged};
  for (const GroupAxis& axis : net.axes) made.walk.push_back(walk_of(axis.wiring));
  return made;
}

CollectivePlan from_gather(Collective kind, const Gather& gather) {
  if (kind == Collective::barrier) return without_bytes(gather(1));
  if (kind == Collective::all_gather) return gather(1);
  CollectivePlan scatter = mirror(gather(-1));
  if (kind == Collective::reduce_scatter) return scatter;
  return sequence(std::move(scatter), gather(1));
}

CollectivePlan without_bytes(CollectivePlan plan) {
  plan.kind = Collective::barrier;
  for (Send& send : plan.sends) {
    send.share = 0;
    send.reduces = false;
  }
  return plan;
}

std::string times(Collective kind, std::string_view formula) {
  std::string text(formula);
  return kind == Collective::all_reduce ? "2 * [" + text + "]" : text;
}

double sends_once(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * (net.ranks() - 1);
}

}  // namespace shardsim
