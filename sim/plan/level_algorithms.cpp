#include "plan/level_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "plan/algorithm_parts.h"
#include "plan/axis_pieces.h"
#include "plan/composite.h"
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

bool on_a_grid(const GroupAxis& axis) {
  return axis.wiring != Wiring::star && axis.wiring != Wiring::full_mesh;
}

// The units that pieces pass one after the other, and the grid inside, all axes of which they fill
// at once.
struct Way {
  std::vector<std::vector<int>> units;
  std::vector<int> grid;
};

Way way_of(const GroupNet& net) {
  Way way{units_of(net), {}};
  const int inside = net.axes[static_cast<std::size_t>(way.units.back().front())].level;
  while (!way.units.empty()) {
    const int a = way.units.back().front();
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(a)];
    if (axis.level != inside || !on_a_grid(axis)) break;
    way.grid.insert(way.grid.begin(), a);
    way.units.pop_back();
  }
  return way;
}

// How long each unit is busy with a gather of everything, and the grid inside, cut like that.
// Pieces go round the ring of an outer level one way: the next one would need the other way, too.
std::vector<BusyPhases> busy_units(const CollectiveAsk& ask, const GroupNet& net, const Way& way,
                                   const PhasedPieces& cut) {
  std::vector<BusyPhases> busy;
  double gathered = 1;
  for (const std::vector<int>& unit : way.units) {
    Busy time;
    for (const int a : unit) {
      const GroupAxis& axis = net.axes[static_cast<std::size_t>(a)];
      const Bytes bundle = ask.bytes * (gathered / net.ranks());
      const bool one_hop = walk_of(axis.wiring) == Walk::exchange;
      time.latency += (one_hop ? 1 : axis.size - 1) * axis.latency;
      time.bandwidth += (axis.size - 1) * bundle / (axis.w1 * (one_hop ? axis.ports : 1));
      gathered *= axis.size;
    }
    busy.push_back({{time}});
  }
  if (!way.grid.empty()) busy.push_back(busy_phases(along(net, way.grid), ask.bytes, cut));
  return busy;
}

constexpr std::array<int, 14> kPieces = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr double kSmallestPiece = 1e-6;  // of the largest

// Shares of the pieces. Those after the slowest level keep up when a piece is no smaller than the
// one before it times (their time / the slowest's); those before it keep it fed when a piece is no
// larger than the one before it times (the slowest's / their time). So the pieces grow as fast as
// the levels before allow, then shrink as fast as those after allow, and both ends are short.
std::vector<double> piece_shares(const std::vector<BusyPhases>& units, int pieces) {
  std::vector<Seconds> time;  // without latency
  for (BusyPhases busy : units) {
    for (std::vector<Busy>& axes : busy)
      for (Busy& axis : axes) axis.latency = {};
    time.push_back(time_in_phases(busy));
  }
  const auto slowest =
      static_cast<std::size_t>(std::max_element(time.begin(), time.end()) - time.begin());
  Seconds before, after;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (i < slowest) before = std::max(before, time[i]);
    if (i > slowest) after = std::max(after, time[i]);
  }
  const auto falling = [&](Seconds other, int k) {
    if (other == Seconds{}) return 1.0;
    return std::max(kSmallestPiece, std::pow(other / time[slowest], k));
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
Seconds makespan(const std::vector<BusyPhases>& units, const std::vector<double>& shares) {
  std::vector<Seconds> done(units.size());
  for (const double share : shares) {
    Seconds piece;
    for (std::size_t i = 0; i < units.size(); ++i) {
      piece = std::max(piece, done[i]) + time_in_phases(units[i], share);
      done[i] = piece;
    }
  }
  return done.back();
}

// How the array is cut: into pieces, and each inside.
struct Cut {
  std::vector<double> shares;
  PhasedPieces inside;
  Seconds time;
};

Cut best_cut(const CollectiveAsk& ask, const GroupNet& net, const Way& way) {
  std::vector<PhasedPieces> insides = {{}};
  if (!way.grid.empty()) insides = ways_in_phases(along(net, way.grid));
  std::vector<int> counts(kPieces.begin(), kPieces.end());
  if (ask.pieces > 0) counts = {ask.pieces};
  Cut best;
  best.time = Seconds{std::numeric_limits<double>::infinity()};
  for (const PhasedPieces& inside : insides) {
    const std::vector<BusyPhases> units = busy_units(ask, net, way, inside);
    for (const int pieces : counts) {
      std::vector<double> shares = piece_shares(units, pieces);
      const Seconds time = makespan(units, shares);
      if (time < best.time * (1 - 1e-9)) best = {std::move(shares), inside, time};
    }
  }
  return best;
}

// The pipelines inside, along the axes of the group.
std::vector<Pipeline> lanes_of(const Way& way, const PhasedPieces& inside, int direction,
                               bool both) {
  std::vector<Pipeline> lanes = pipelines(inside, direction, both);
  for (Pipeline& lane : lanes)
    for (int& axis : lane.order) axis = way.grid[static_cast<std::size_t>(axis)];
  return lanes;
}

// Parts of all pieces: each as it is cut inside.
std::vector<double> part_shares(const Cut& cut, bool both) {
  if (cut.inside.empty()) return cut.shares;
  std::vector<double> shares;
  for (const double piece : cut.shares)
    for (const double part : shares_of(cut.inside, both)) shares.push_back(piece * part);
  return shares;
}

}  // namespace

CollectivePlan plan_pipelined(const CollectiveAsk& ask, const GroupNet& net,
                              const std::vector<int>& fold) {
  const Way way = way_of(net);
  const Cut cut = best_cut(ask, net, way);
  const bool both = both_directions(along(net, way.grid));
  const PlanFrame f = frame("hierarchical-pipelined", net, fold, part_shares(cut, both));
  return from_gather(ask.kind, [&](int d) {
    return gather_in_pieces(f, way.units, lanes_of(way, cut.inside, d, both), d);
  });
}

// V * max over levels of (D-1)/(D*W) when no level waits for another (collectives.md section 3.1),
// and the ends of the pipeline.
ClosedForm form_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  const Way way = way_of(net);
  const Cut cut = best_cut(ask, net, way);
  std::string within;
  if (way.grid.size() > 1) {
    within = fmt::format("; inside in {} parts, sum over phases of max over axes, over ports*W1",
                         cut.inside.size());
  } else if (both_directions(along(net, way.grid))) {
    within = "; inside over ports*W1";
  }
  return {
      rounds(ask.kind) * cut.time,
      times(ask.kind, fmt::format("until the last of P = {} pieces has passed all levels, one at a "
                                  "time each, in a + share*(A-1)*G*V/(N*W1){}",
                                  cut.shares.size(), within))};
}

double sends_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  const Way way = way_of(net);
  const Cut cut = best_cut(ask, net, way);
  double sends = 0, inside = 0;
  for (const std::vector<int>& unit : way.units)
    for (const int a : unit) sends += net.axes[static_cast<std::size_t>(a)].size - 1;
  for (const int a : way.grid) inside += net.axes[static_cast<std::size_t>(a)].size - 1;
  const double lanes = both_directions(along(net, way.grid)) ? 2 : 1;
  sends += inside * lanes * static_cast<double>(cut.inside.size());
  return rounds(ask.kind) * sends * static_cast<double>(cut.shares.size());
}

int pieces_pipelined(const CollectiveAsk& ask, const GroupNet& net) {
  return static_cast<int>(best_cut(ask, net, way_of(net)).shares.size());
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
