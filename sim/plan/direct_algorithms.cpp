#include "plan/direct_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/algorithm_parts.h"
#include "plan/direct.h"
#include "plan/root_over_levels.h"
#include "plan/rooted.h"

namespace shardsim {

std::string direct_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const bool to_or_from_root = ask.kind == Collective::gather || ask.kind == Collective::scatter;
  using enum Collective;
  const std::string why = only_for(
      ask, {all_to_all, Collective::gather, scatter, all_gather, reduce_scatter, all_reduce});
  if (!why.empty()) return why;
  const bool limited = ask.window > 0;
  if (limited && to_or_from_root) return "its root sends or receives everything at once";
  if (star(net)) return "";
  if (limited) return "a window is for a switch: over links, rounds limit what is under way";
  if (net.axes.size() == 1 && net.axes[0].wiring == Wiring::full_mesh) return "";
  if (gathers(ask.kind)) {
    return "without one switch, whole shards to everyone would pass the same links again and again";
  }
  return "";
}

namespace {

bool merges(const CollectiveAsk& ask, const GroupNet& net) {
  return ask.merged && ask.kind == Collective::all_to_all && one_grid(net) && !net.irregular();
}

int window_of(const CollectiveAsk& ask, const GroupNet& net) {
  return ask.window > 0 ? std::min(ask.window, net.ranks() - 1) : net.ranks() - 1;
}

// a, or how often it is paid with fewer sends at once.
std::string latency_text(const CollectiveAsk& ask, const GroupNet& net) {
  const int window = window_of(ask, net);
  return window == net.ranks() - 1 ? "a" : fmt::format("ceil((N-1)/{}) * a", window);
}

Seconds latency_of(const CollectiveAsk& ask, const GroupNet& net) {
  const int window = window_of(ask, net);
  return (net.ranks() - 2 + window) / window * net.axes[0].latency;
}

}  // namespace

CollectivePlan plan_direct(const CollectiveAsk& ask, const GroupNet& net,
                           const std::vector<int>& fold) {
  const PlanFrame f = frame("direct", net, fold, {1.0});
  if (ask.kind == Collective::gather || ask.kind == Collective::scatter) {
    return direct_rooted(f, net, ask.kind, ask.root);
  }
  if (merges(ask, net)) return merged_all_to_all(f, net);
  if (ask.kind == Collective::all_to_all && !star(net)) {
    return direct_all_to_all(f, all_to_all_rounds(net));
  }
  const int window = window_of(ask, net);
  if (ask.kind == Collective::all_to_all) return direct_in_windows(f, ask.kind, window);
  return from_gather(ask.kind,
                     [&](int) { return direct_in_windows(f, Collective::all_gather, window); });
}

double hop_load(const GroupAxis& axis) {
  const double a = axis.size;
  switch (axis.wiring) {
    case Wiring::ring:
      return (axis.size % 2 == 0 ? a * a : a * a - 1) / 8;
    case Wiring::line:
      return std::floor(a * a / 4);
    case Wiring::ring_oneway:
      return a * (a - 1) / 2;
    case Wiring::pair:
      return 1;
    case Wiring::full_mesh:
      return 1;
    case Wiring::star:
    case Wiring::graph:
      return a - 1;
  }
  return 0;
}

int most_hops(const GroupAxis& axis) {
  switch (axis.wiring) {
    case Wiring::ring:
      return axis.size / 2;
    case Wiring::star:
    case Wiring::full_mesh:
    case Wiring::graph:
      return 1;
    default:
      return axis.size - 1;
  }
}

namespace {

// One ring, rounds of ascending distance d: a round begins when the one before has ended and d hops
// of latency have passed since the start, and lasts the load of a port.
Seconds rounds_on_one_ring(const GroupAxis& axis, Bytes chunk) {
  Seconds now;
  for (int d = 1; d <= most_hops(axis); ++d) {
    const bool tie = axis.wiring == Wiring::ring && 2 * d == axis.size;
    now = std::max(now, d * axis.latency) + d * (tie ? 0.5 : 1.0) * chunk / axis.w1;
  }
  return now;
}

std::string bandwidth_formula(const GroupAxis& axis) {
  switch (axis.wiring) {
    case Wiring::pair:
      return "V/(4*W1)";
    case Wiring::ring_oneway:
      return "(N-1)/(2*N) * V/W1";
    case Wiring::ring:
      return axis.size % 2 == 0 ? "V/(8*W1) = V/(4*W)" : "(N^2-1)/(8*N^2) * V/W1";
    case Wiring::line:
      return axis.size % 2 == 0 ? "V/(4*W1)" : "(N^2-1)/(4*N^2) * V/W1";
    case Wiring::full_mesh:
      return "V/(N^2*W1)";
    case Wiring::star:
    case Wiring::graph:
      return "(N-1)/N^2 * V/W1";
  }
  return "";
}

constexpr const char* kRounds = ", rounds of distance d no sooner than d*a";

// One ring: the load of a port (Scaling Book ch. 3: V/(4W) on an even two-way ring, W = 2*W1).
ClosedForm form_on_one_ring(const GroupAxis& axis, Bytes chunk) {
  std::string formula = bandwidth_formula(axis);
  if (axis.latency > Seconds{}) formula += kRounds;
  return {rounds_on_one_ring(axis, chunk), std::move(formula)};
}

// The rounds of the plan one after the other. While latencies have not passed, messages of a round
// may not start together.
// On lines they go unequally far, and no end is before that of the way from corner to corner.
ClosedForm form_in_rounds(const GroupNet& net, Bytes chunk, std::string formula) {
  ClosedForm form{Seconds{}, std::move(formula)};
  for (const AllToAllRound& round : all_to_all_rounds(net)) {
    form.exact = form.exact && (form.time >= round.farthest || round.one_start());
    form.time = std::max(form.time, round.farthest) + (chunk / Bytes{1}) * round.busiest();
  }
  const auto line = [](const GroupAxis& axis) { return axis.wiring == Wiring::line; };
  if (std::any_of(net.axes.begin(), net.axes.end(), line)) {
    Seconds across;
    for (const GroupAxis& axis : net.axes) across += most_hops(axis) * axis.latency;
    form.time = std::max(form.time, across);
    form.exact = false;
  }
  return form;
}

// Several levels: a port carries the messages whose ends differ at its level, and those that go to
// the right position inside first (rails, grids).
ClosedForm form_on_levels(const GroupNet& net, Bytes chunk) {
  const std::string formula = "max over ports of pairs*V/(N^2*W1)";
  const auto late = [](const GroupAxis& axis) { return axis.latency > Seconds{}; };
  if (std::none_of(net.axes.begin(), net.axes.end(), late))
    return {(chunk / Bytes{1}) * all_to_all_load(net), formula};
  return form_in_rounds(net, chunk, formula + ", no sooner than a");
}

// A torus: the load of the busiest port, V*max(A)/(4*N*W) on equal even axes (Scaling Book ch. 3).
ClosedForm form_on_torus(const GroupNet& net, Bytes chunk) {
  const std::string formula = "V/(N*W1) * max over axes of H/A";
  const bool late = std::any_of(net.axes.begin(), net.axes.end(),
                                [](const GroupAxis& axis) { return axis.latency > Seconds{}; });
  if (!late) return {(chunk / Bytes{1}) * all_to_all_load(net), formula};
  return form_in_rounds(net, chunk, formula + kRounds);
}

// A graph: the load of the busiest link, every message on its shortest paths.
ClosedForm form_on_graph(const GroupNet& net, Bytes chunk) {
  return form_in_rounds(net, chunk, "V/N^2 * messages over the busiest link / its bandwidth");
}

ClosedForm form_all_to_all(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  const Bytes chunk = ask.bytes / (n * n);
  if (net.graph != nullptr) return form_on_graph(net, chunk);
  if (star(net)) {
    return {latency_of(ask, net) + (n - 1) * chunk / net.axes[0].w1,
            latency_text(ask, net) + " + (N-1)/N^2 * V/W1"};
  }
  if (levels(net)) return form_on_levels(net, chunk);
  const GroupAxis& first = net.axes[0];
  if (net.axes.size() > 1) return form_on_torus(net, chunk);
  if (first.wiring == Wiring::full_mesh)
    return {first.latency + chunk / first.w1, "a + V/(N^2*W1)"};
  if (first.wiring == Wiring::line) {
    ClosedForm form = form_on_torus(net, chunk);
    form.formula = bandwidth_formula(first) + (first.latency > Seconds{} ? kRounds : "");
    return form;
  }
  return form_on_one_ring(first, chunk);
}

// What passes the root's busiest port, a shard after the other, each no sooner than its latency; on
// a switch all of them (Chan et al. 2007).
ClosedForm form_rooted(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  const Bytes shard = ask.bytes / n;
  if (net.graph != nullptr) {
    std::vector<RoutedLoads::Message> messages;
    for (int rank = 0; rank < net.ranks(); ++rank) {
      if (rank == ask.root) continue;
      const bool out = ask.kind == Collective::scatter;
      messages.emplace_back(out ? ask.root : rank, out ? rank : ask.root);
    }
    return form_routed(net, ask.bytes, RoutedLoads(net).of(messages));
  }
  if (star(net)) {
    return {net.axes[0].latency + (n - 1) * shard / net.axes[0].w1, "a + (N-1)/N * V/W1"};
  }
  if (!one_grid(net)) return form_over_levels(net, shard, ask.kind);
  struct Lane {
    Seconds end;
    double shards = 0;
  };
  std::vector<Lane> lanes(2 * net.axes.size());  // the root's ports
  Lane busiest;
  const auto turns = root_turns(net, ask.root, ask.kind);
  for (const RootTurn& turn : *turns) {
    const auto [one, other] = turn.ports();
    const Seconds free = std::max(lanes[one].end, lanes[other].end);
    lanes[one].end = std::max(turn.latency, free) + turn.load * shard / turn.rate;
    lanes[one].shards += turn.load;
    if (turn.split) {
      lanes[other].end = lanes[one].end;
      lanes[other].shards += turn.load;
    }
    for (const std::size_t port : {one, other}) {
      if (lanes[port].end > busiest.end) busiest = lanes[port];
    }
  }
  std::string formula =
      fmt::format("{:g} * V/(N*W1): shards over the root's busiest port", busiest.shards);
  if (net.axes[0].latency > Seconds{}) formula += ", each no sooner than its hops * a";
  return {busiest.end, std::move(formula), same_links(net)};
}

}  // namespace

ClosedForm form_direct(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::all_to_all) return form_all_to_all(ask, net);
  if (ask.kind == Collective::gather || ask.kind == Collective::scatter) {
    return form_rooted(ask, net);
  }
  const double n = net.ranks();
  const GroupAxis& axis = net.axes[0];
  if (axis.wiring == Wiring::full_mesh) {
    return {rounds(ask.kind) * (axis.latency + ask.bytes / n / axis.w1),
            times(ask.kind, "a + V/(N*W1)")};
  }
  return {rounds(ask.kind) * (latency_of(ask, net) + (n - 1) / n * ask.bytes / axis.w1),
          times(ask.kind, latency_text(ask, net) + " + (N-1)/N * V/W1")};
}

double sends_direct(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  if (merges(ask, net)) return 2.0 * static_cast<double>(net.axes.size());
  return rooted(ask.kind) ? (n - 1) / n : sends_once(ask, net);
}

std::vector<int> fold_direct(const CollectiveAsk& ask, const GroupNet& net) {
  return rooted(ask.kind) ? no_translation(ask, net) : every_translation(ask, net);
}

std::string in_network_suits(const CollectiveAsk& ask, const GroupNet& net) {
  switch (ask.kind) {
    case Collective::all_reduce:
      return star(net) ? ""
                       : "only a switch that all ranks are at sees what they send, and can add it";
    case Collective::all_gather:
      return "it gains nothing: there is no sum, and every rank takes in (N-1)/N of V all the same";
    case Collective::reduce_scatter:
      return "it gains nothing: every rank sends out (N-1)/N of V all the same";
    default:
      return only_for(ask, {Collective::all_reduce});
  }
}

CollectivePlan plan_in_network(const CollectiveAsk&, const GroupNet& net,
                               const std::vector<int>& fold) {
  return switch_sum(frame("in-network", net, fold, {1.0}));
}

// V up and V down at once, whatever N (NVLS, SHARP; Scaling Book ch. 12): 2(N-1)/N times less than
// by sends alone.
ClosedForm form_in_network(const CollectiveAsk& ask, const GroupNet& net) {
  return {net.axes[0].latency + ask.bytes / net.axes[0].w1, "a + V/W1"};
}

double sends_in_network(const CollectiveAsk&, const GroupNet&) {
  return 1;
}

std::string shift_suits(const CollectiveAsk& ask, const GroupNet&) {
  const std::string why = only_for(ask, {Collective::collective_permute});
  if (!why.empty()) return why;
  return ask.targets.empty() ? "" : "the blocks do not all move equally far";
}

CollectivePlan plan_shift(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  return shift(frame("shift", net, fold, {1.0}), ask.shift);
}

namespace {

int shift_displacement(const CollectiveAsk& ask, const GroupNet& net) {
  const int size = net.axes.back().size;
  return (ask.shift % size + size) % size;
}

}  // namespace

ClosedForm form_routed(const GroupNet& net, Bytes bytes, const RoutedLoad& load) {
  const Bytes block = bytes / static_cast<double>(net.ranks());
  return {load.farthest + (block / Bytes{1}) * load.busiest,
          "a + V/N * messages over the busiest link / its bandwidth",
          load.nearest == load.farthest};
}

// Every link of the way carries the messages of `hops` ranks, half of them on a tie.
ClosedForm form_shift(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes.back();
  const int d = shift_displacement(ask, net);
  if (d == 0) return {Seconds{0}, "0: every rank keeps its shard"};
  if (net.graph != nullptr) return form_routed(net, ask.bytes, RoutedLoads(net).of_displacement(d));
  const double h = hops(axis.wiring, axis.size, d);
  const bool tie = axis.wiring == Wiring::ring && 2 * d == axis.size;
  const Bytes shard = ask.bytes / static_cast<double>(net.ranks());
  if (axis.wiring == Wiring::line) {
    return {std::max(d, axis.size - d) * axis.latency + h * shard / axis.w1,
            "min(d, N-d) * V/(N*W1) + max(d, N-d) * a, d = shift"};
  }
  return {h * axis.latency + h * (tie ? 0.5 : 1.0) * shard / axis.w1,
          fmt::format("{:g} hops * (a + V/({}N*W1)){}", h, tie ? "2*" : "",
                      tie ? ", split over both ways" : "")};
}

double sends_shift(const CollectiveAsk& ask, const GroupNet& net) {
  return shift_displacement(ask, net) == 0 ? 0 : 1;
}

}  // namespace shardsim
