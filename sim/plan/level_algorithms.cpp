#include "plan/level_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "plan/algorithm_parts.h"
#include "plan/direct.h"
#include "plan/direct_algorithms.h"
#include "plan/gather.h"

namespace shardsim {

std::string gathers_over_levels(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  return levels(net) ? "" : "the group is inside one level";
}

namespace {

// A unit's part of an all-gather: so long for nothing, and for each share of V.
struct StageTime {
  Seconds latency;
  Seconds bandwidth;
};

// Axes, outermost level first, in units that share ports: a leaf's and its spine's NIC.
std::vector<std::vector<int>> units_of(const GroupNet& net) {
  std::vector<std::vector<int>> units;
  int port = -1;
  for (const int a : outside_in(net)) {
    const auto& climbs = net.axes[static_cast<std::size_t>(a)].climbs;
    const int first = climbs.empty() ? -1 : climbs.front().port;
    if (first < 0 || first != port) units.emplace_back();
    port = first;
    units.back().push_back(a);
  }
  return units;
}

// Pieces go round a ring one way: the next one would need the other way, too.
std::vector<StageTime> unit_times(const CollectiveAsk& ask, const GroupNet& net) {
  std::vector<StageTime> times;
  double gathered = 1;
  for (const std::vector<int>& unit : units_of(net)) {
    StageTime time;
    for (const int a : unit) {
      const GroupAxis& axis = net.axes[static_cast<std::size_t>(a)];
      const Bytes bundle = ask.bytes * (gathered / net.ranks());
      const bool one_hop = walk_of(axis.wiring) == Walk::exchange;
      time.latency += (one_hop ? 1 : axis.size - 1) * axis.latency;
      time.bandwidth += (axis.size - 1) * bundle / (axis.w1 * (one_hop ? axis.ports : 1));
      gathered *= axis.size;
    }
    times.push_back(time);
  }
  return times;
}

constexpr std::array<int, 14> kPieces = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr double kSmallestPiece = 1e-6;  // of the largest

// Shares of the pieces. Those after the slowest level keep up when a piece is no smaller than the
// one before it times (their time / the slowest's); those before it keep it fed when a piece is no
// larger than the one before it times (the slowest's / their time). So the pieces grow as fast as
// the levels before allow, then shrink as fast as those after allow, and both ends are short.
std::vector<double> piece_shares(const std::vector<StageTime>& stages, int pieces) {
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < stages.size(); ++i) {
    if (stages[i].bandwidth > stages[slowest].bandwidth) slowest = i;
  }
  Seconds before, after;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i < slowest) before = std::max(before, stages[i].bandwidth);
    if (i > slowest) after = std::max(after, stages[i].bandwidth);
  }
  const auto falling = [&](Seconds other, int k) {
    if (other == Seconds{}) return 1.0;
    return std::max(kSmallestPiece, std::pow(other / stages[slowest].bandwidth, k));
  };
  std::vector<double> shares;
  for (int k = 0; k < pieces; ++k) {
    shares.push_back(std::min(falling(before, pieces - 1 - k), falling(after, k)));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= sum;
  return shares;
}

// Every level takes the pieces one by one, each after the level before has done it: a permutation
// flow shop.
Seconds makespan(const std::vector<StageTime>& stages, const std::vector<double>& shares) {
  std::vector<Seconds> done(stages.size());
  for (const double share : shares) {
    Seconds piece;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      piece = std::max(piece, done[i]) + stages[i].latency + share * stages[i].bandwidth;
      done[i] = piece;
    }
  }
  return done.back();
}

std::vector<double> best_shares(const CollectiveAsk& ask, const GroupNet& net) {
  const std::vector<StageTime> stages = unit_times(ask, net);
  if (ask.pieces > 0) return piece_shares(stages, ask.pieces);
  std::vector<double> best;
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const int pieces : kPieces) {
    std::vector<double> shares = piece_shares(stages, pieces);
    const Seconds time = makespan(stages, shares);
    if (time < least * (1 - 1e-9)) {
      least = time;
      best = std::move(shares);
    }
  }
  return best;
}

}  // namespace

CollectivePlan plan_pipelined(const CollectiveAsk& ask, const GroupNet& net,
                              const std::vector<int>& fold) {
  const PlanFrame f = frame("hierarchical-pipelined", net, fold, best_shares(ask, net));
  return from_gather(ask.kind, [&](int d) { return gather_in_pieces(f, units_of(net), d); });
}

// V * max over levels of (D-1)/(D*W) when no level waits for another (collectives.md section 3.1),
// and the ends of the pipeline.
ClosedForm form_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  const std::vector<double> shares = best_shares(ask, net);
  return {
      rounds(ask.kind) * makespan(unit_times(ask, net), shares),
      times(ask.kind, fmt::format("until the last of P = {} pieces has passed all levels, one at a "
                                  "time each, in a + share*(A-1)*G*V/(N*W1)",
                                  shares.size()))};
}

double sends_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  double sends = 0;
  for (const GroupAxis& axis : net.axes) sends += axis.size - 1;
  return rounds(ask.kind) * sends * pieces_pipelined(ask, net);
}

int pieces_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  return static_cast<int>(best_shares(ask, net).size());
}

std::string all_to_all_over_levels(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::all_to_all});
  if (!why.empty()) return why;
  return levels(net) ? "" : "the group is inside one level";
}

CollectivePlan plan_rail_aligned(const CollectiveAsk&, const GroupNet& net,
                                 const std::vector<int>& fold) {
  std::vector<std::vector<int>> inside_out = units_of(net);
  std::reverse(inside_out.begin(), inside_out.end());
  return all_to_all_by_unit(frame("rail-aligned", net, fold, {1.0}), inside_out);
}

namespace {

// An exchange over the switches that one NIC leads to, leaves and spines: every port carries the
// messages that cross a level by it, none sooner than that level's latency.
Seconds exchange_time(const GroupNet& net, const std::vector<int>& unit, Bytes own) {
  struct Crossing {
    double ranks = 1;
    Seconds latency;
    const std::vector<Climb>* climbs = nullptr;
  };
  std::map<int, Crossing> levels;  // innermost first
  for (const int a : unit) {
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(a)];
    Crossing& crossing = levels[axis.level];
    crossing = {crossing.ranks * axis.size, axis.latency, &axis.climbs};
  }
  double all = 1;
  for (const auto& [level, crossing] : levels) all *= crossing.ranks;
  std::map<int, Seconds> done;  // by port
  double inside = 1;
  for (const auto& [level, crossing] : levels) {
    for (const Climb& climb : *crossing.climbs) {
      Seconds& now = done[climb.port];
      now =
          std::max(now, crossing.latency) + (crossing.ranks - 1) * inside * (own / all) / climb.all;
    }
    inside *= crossing.ranks;
  }
  Seconds latest;
  for (const auto& [port, end] : done) latest = std::max(latest, end);
  return latest;
}

bool one_level(const GroupNet& net, const std::vector<int>& unit) {
  return net.axes[static_cast<std::size_t>(unit.front())].level ==
         net.axes[static_cast<std::size_t>(unit.back())].level;
}

}  // namespace

// Unit after unit, an exchange of V/N between its ranks.
ClosedForm form_rail_aligned(const CollectiveAsk& ask, const GroupNet& net) {
  ClosedForm form{Seconds{}, "sum over levels of a + (A-1)/A * V/(N*W1)", true};
  const Bytes own = ask.bytes / static_cast<double>(net.ranks());
  for (const std::vector<int>& unit : units_of(net)) {
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(unit.front())];
    if (axis.wiring == Wiring::star) {
      form.time += exchange_time(net, unit, own);
      form.exact = form.exact && one_level(net, unit);
      continue;
    }
    form.time += most_hops(axis) * axis.latency + hop_load(axis) * (own / axis.size) / axis.w1;
    form.exact = form.exact && (most_hops(axis) == 1 || axis.latency == Seconds{});
  }
  return form;
}

double sends_rail_aligned(const CollectiveAsk&, const GroupNet& net) {
  double sends = 0;
  for (const std::vector<int>& unit : units_of(net)) {
    double ranks = 1;
    for (const int a : unit) ranks *= net.axes[static_cast<std::size_t>(a)].size;
    sends += net.ranks() / ranks * (ranks - 1);
  }
  return sends;
}

}  // namespace shardsim
