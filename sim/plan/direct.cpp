#include "plan/direct.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/file.h"
#include "plan/routed_load.h"

namespace shardsim {

namespace {

// The displacement of rank `to` from rank 0 is to's coordinates; the same one from `from`.
int displaced(std::span<const int> sizes, int from, int displacement) {
  int result = 0;
  int stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    result += (from % sizes[i] + displacement % sizes[i]) % sizes[i] * stride;
    stride *= sizes[i];
    from /= sizes[i];
    displacement /= sizes[i];
  }
  return result;
}

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

// Kinds of links: one for each axis of a grid, then each port that a switch is reached by.
class LinkKinds {
 public:
  explicit LinkKinds(const GroupNet& net) : net_(net), count_(net.axes.size()) {
    for (const GroupAxis& axis : net.axes) {
      for (const Climb& climb : axis.climbs) {
        if (index_.try_emplace(climb.port, count_).second) ++count_;
      }
    }
  }

  // Adds what the messages of a displacement do. They cross the outermost level in which their ends
  // differ, and those inside that if they go to the right position first (rails, grids).
  AllToAllRound messages(int displacement) const {
    AllToAllRound made{{displacement}, std::vector<Seconds>(count_), {}, {}, 0};
    const std::vector<int> at = rank_coordinates(net_.sizes(), displacement);
    for (int level = 64; level >= 0;) {
      int crossed = -1, nic = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const int its = net_.axes[i].level;
        if (at[i] == 0 || its > level || its < crossed) continue;
        crossed = its;
        nic = net_.axes[i].nic_level;
      }
      if (crossed < 0 || !cross(crossed, at, made)) break;
      level = nic - 1;
    }
    for (const Seconds load : made.load)
      made.nearest.push_back(load > Seconds{} ? made.farthest : kNever);
    return made;
  }

 private:
  // Returns whether the way goes on inside.
  bool cross(int level, const std::vector<int>& at, AllToAllRound& made) const {
    bool aligned = true, through_switch = false;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const GroupAxis& axis = net_.axes[i];
      if (axis.level != level || at[i] == 0) continue;
      aligned = aligned && (axis.aligned || axis.wiring != Wiring::star);
      const int h = hops(axis.wiring, axis.size, at[i]);
      if (axis.wiring != Wiring::star) {
        made.load[i] += h * (Bytes{1} / (axis.w1 * axis.ports));
      } else if (through_switch) {
        continue;  // the axes of one switch are crossed at once
      }
      through_switch = axis.wiring == Wiring::star;
      if (through_switch) {
        for (const Climb& climb : axis.climbs)
          made.load[index_.at(climb.port)] += Bytes{1} / climb.all;
      }
      made.farthest += h * axis.latency;
      made.distance += h;
    }
    return aligned;
  }

  const GroupNet& net_;
  std::map<int, std::size_t> index_;  // of ports
  std::size_t count_;
};

void absorb(AllToAllRound& into, const AllToAllRound& other) {
  into.displacements.insert(into.displacements.end(), other.displacements.begin(),
                            other.displacements.end());
  for (std::size_t i = 0; i < into.load.size(); ++i) {
    into.load[i] += other.load[i];
    into.nearest[i] = std::min(into.nearest[i], other.nearest[i]);
  }
  into.farthest = std::max(into.farthest, other.farthest);
  into.distance = std::max(into.distance, other.distance);
}

constexpr int kMostRounds = 256;  // through switches, where a round may be short

// The displacement as many hops away along every axis that comes first: forwards along a ring, to
// the next in a full mesh. Together they load the links of a grid evenly.
int first_alike(const GroupNet& net, const std::vector<int>& at) {
  std::vector<int> first = at;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const GroupAxis& axis = net.axes[i];
    if (axis.wiring != Wiring::star) first[i] = hops(axis.wiring, axis.size, at[i]);
  }
  return rank_at(net.sizes(), first);
}

// What displacements have in common that begin in one round: hops up to sign and exchange of alike
// axes; where there are switches, the place of the first alike in the order of displacements.
std::vector<int> key_of(const GroupNet& net, int displacement, int distance) {
  const std::vector<int> at = rank_coordinates(net.sizes(), displacement);
  std::vector<std::vector<int>> alike(at.size());  // hops of the axes alike to axis i, i first
  std::vector<int> key = {distance};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const GroupAxis& axis = net.axes[i];
    if (axis.wiring == Wiring::star) {
      key = {distance, static_cast<int>(1LL * first_alike(net, at) * kMostRounds / net.ranks())};
      break;
    }
    std::size_t first = 0;
    while (net.axes[first].size != axis.size || net.axes[first].wiring != axis.wiring) ++first;
    alike[first].push_back(hops(axis.wiring, axis.size, at[i]));
  }
  for (std::vector<int>& group : alike) {
    std::sort(group.begin(), group.end());
    key.insert(key.end(), group.begin(), group.end());
  }
  return key;
}

std::vector<AllToAllRound> on_axes(const GroupNet& net) {
  const LinkKinds kinds(net);
  std::map<std::vector<int>, AllToAllRound> by_key;
  for (int d = 1; d < net.ranks(); ++d) {
    if (d % 4096 == 0) throw_if_interrupted();
    AllToAllRound one = kinds.messages(d);
    std::vector<int> key = key_of(net, d, one.distance);
    const auto [at, fresh] = by_key.try_emplace(std::move(key), std::move(one));
    if (!fresh) absorb(at->second, one);
  }
  std::vector<AllToAllRound> result;
  for (auto& [key, round] : by_key) result.push_back(std::move(round));
  return result;
}

std::vector<AllToAllRound> on_graph(const GroupNet& net) {
  RoutedLoads loads(net);
  std::vector<AllToAllRound> result;
  for (int d = 1; d < net.ranks(); ++d) {
    throw_if_interrupted();
    const RoutedLoad load = loads.of_displacement(d);
    std::vector<Seconds> nearest(load.links.size(), load.nearest);
    result.push_back({{d}, load.links, load.farthest, std::move(nearest), 0});
  }
  return result;
}

// By how much the link `busiest` is busy for less long than the busiest other; 0 or less: it has
// the lead.
Seconds deficit(const AllToAllRound& round, std::size_t busiest) {
  return round.busiest() - round.load[busiest];
}

std::vector<AllToAllRound> merged(std::vector<AllToAllRound> all) {
  std::vector<Seconds> total(all.front().load.size());
  for (const AllToAllRound& c : all) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += c.load[i];
  }
  const auto busiest =
      static_cast<std::size_t>(std::max_element(total.begin(), total.end()) - total.begin());
  const Seconds even = total[busiest] * 1e-12;
  std::vector<AllToAllRound> needy, good;
  for (AllToAllRound& c : all) (deficit(c, busiest) > even ? needy : good).push_back(std::move(c));
  std::vector<AllToAllRound> result;
  std::size_t used = 0;
  for (const AllToAllRound& c : needy) {
    const bool open = !result.empty() && deficit(result.back(), busiest) > even;
    if (open) {
      absorb(result.back(), c);
    } else {
      result.push_back(c);
    }
    while (used < good.size() && deficit(result.back(), busiest) > even) {
      absorb(result.back(), good[used++]);
    }
  }
  while (result.size() > 1 && deficit(result.back(), busiest) > even) {
    const AllToAllRound last = std::move(result.back());
    result.pop_back();
    absorb(result.back(), last);
  }
  result.insert(result.end(), std::make_move_iterator(good.begin() + static_cast<long>(used)),
                std::make_move_iterator(good.end()));
  std::stable_sort(result.begin(), result.end(),
                   [](const AllToAllRound& a, const AllToAllRound& b) {
                     return std::pair(a.farthest, a.distance) < std::pair(b.farthest, b.distance);
                   });
  return result;
}

}  // namespace

int hops(Wiring wiring, int size, int displacement) {
  switch (wiring) {
    case Wiring::ring:
    case Wiring::line:
      return std::min(displacement, size - displacement);
    case Wiring::ring_oneway:
    case Wiring::pair:
      return displacement;
    case Wiring::star:
    case Wiring::full_mesh:
    case Wiring::graph:
      return displacement == 0 ? 0 : 1;
  }
  return 0;
}

Seconds AllToAllRound::busiest() const {
  return *std::max_element(load.begin(), load.end());
}

bool AllToAllRound::one_start() const {
  for (std::size_t i = 0; i < load.size(); ++i)
    if (load[i] >= busiest() * (1 - 1e-12) && nearest[i] == farthest) return true;
  return false;
}

std::vector<AllToAllRound> all_to_all_rounds(const GroupNet& net) {
  return merged(net.graph == nullptr ? on_axes(net) : on_graph(net));
}

Seconds all_to_all_load(const GroupNet& net) {
  const LinkKinds kinds(net);
  AllToAllRound all = kinds.messages(0);
  for (int d = 1; d < net.ranks(); ++d) {
    const AllToAllRound one = kinds.messages(d);
    for (std::size_t i = 0; i < all.load.size(); ++i) all.load[i] += one.load[i];
  }
  return all.busiest();
}

CollectivePlan direct_in_windows(const PlanFrame& frame, Collective kind, int window) {
  CollectivePlan plan = empty_plan(frame, kind);
  const int ranks = plan.ranks();
  for (const int rank : plan.representatives()) {
    std::vector<std::uint32_t> before;
    for (int first = 1; first < ranks; first += window) {
      throw_if_interrupted();
      const int last = std::min(first + window, ranks);
      const int phase = (first - 1) / window;
      std::vector<std::uint32_t> sent;
      for (int d = first; d < last; ++d) {
        const int to = displaced(plan.sizes, rank, d);
        Send send{.from = rank, .to = to, .chunks = {.origin = rank}, .phase = phase};
        if (kind == Collective::all_to_all) send.chunks.dest = to;
        send.share = plan.share_of(send.chunks);
        sent.push_back(plan.add(send, before));
      }
      if (last == ranks) break;
      const Send join{.from = rank, .to = rank, .chunks = {.origin = rank}, .phase = phase};
      before = {plan.add(join, sent)};
    }
  }
  return plan;
}

CollectivePlan switch_sum(const PlanFrame& frame) {
  CollectivePlan plan = empty_plan(frame, Collective::all_reduce);
  const std::uint32_t all_axes = (1u << plan.sizes.size()) - 1;
  for (const int rank : plan.representatives()) {
    Send send{.from = rank, .to = rank, .chunks = {.origin = rank, .spread = all_axes}};
    send.share = 1;
    send.reduces = send.switch_adds = true;
    plan.add(send, {});
  }
  return plan;
}

namespace {

// The end of a phase whose sends these are.
std::uint32_t joined(CollectivePlan& plan, int phase, std::span<const std::uint32_t> sent) {
  const Send join{.phase = phase, .stage = phase};
  return plan.add(join, sent);
}

}  // namespace

CollectivePlan direct_all_to_all(const PlanFrame& frame, std::span<const AllToAllRound> rounds) {
  CollectivePlan plan = empty_plan(frame, Collective::all_to_all);
  const double ranks = plan.ranks();
  const std::vector<int> reps = plan.representatives();
  std::vector<std::uint32_t> barrier;
  int phase = 0;
  for (const AllToAllRound& round : rounds) {
    std::vector<std::uint32_t> sent;
    throw_if_interrupted();
    for (const int d : round.displacements) {
      for (const int rank : reps) {
        const int to = displaced(plan.sizes, rank, d);
        Send send{.from = rank, .to = to, .chunks = {.origin = rank, .dest = to}};
        send.share = 1.0 / (ranks * ranks);
        send.phase = phase;
        send.stage = phase;
        send.posted = true;
        sent.push_back(plan.add(send, barrier));
      }
    }
    barrier = {joined(plan, phase++, sent)};
  }
  return plan;
}

namespace {

// Of the pairs of an axis, those whose shortest way leaves place `at` in a direction; half of a tie
// either way.
double pairs_past(const GroupAxis& axis, int at, int direction) {
  const double size = axis.size;
  switch (axis.wiring) {
    case Wiring::ring:
      return (axis.size % 2 == 0 ? size * size : size * size - 1) / 8;
    case Wiring::line:
      return direction > 0 ? (at + 1.0) * (size - 1 - at) : at * (size - at);
    case Wiring::ring_oneway:
      return direction > 0 ? size * (size - 1) / 2 : 0;
    default:
      return direction > 0 ? 1 : 0;  // a pair: its one port leads to the other
  }
}

}  // namespace

// Dimension by dimension: a link of an axis is passed by the messages of all pairs there, of which
// the other coordinates are those of the line for either the source or the destination.
CollectivePlan merged_all_to_all(const PlanFrame& frame, const GroupNet& net) {
  CollectivePlan plan = empty_plan(frame, Collective::all_to_all);
  plan.unordered = true;
  const double ranks = plan.ranks();
  for (const int rank : plan.representatives()) {
    const std::vector<int> at = rank_coordinates(plan.sizes, rank);
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (const int direction : {1, -1}) {
        const double pairs = pairs_past(net.axes[i], at[i], direction);
        if (pairs == 0) continue;
        Send send{.from = rank, .chunks = {.origin = rank}};
        send.hop_along(static_cast<int>(i), direction);
        send.to = shifted(plan.sizes, rank, send.axis, direction);
        send.share = pairs / net.axes[i].size / ranks;
        plan.add(send, {});
      }
    }
  }
  return plan;
}

CollectivePlan all_to_all_by_unit(const PlanFrame& frame, std::span<const std::vector<int>> units) {
  CollectivePlan plan = empty_plan(frame, Collective::all_to_all);
  const int ranks = plan.ranks();
  const std::vector<int> reps = plan.representatives();
  std::vector<std::uint32_t> barrier;
  std::vector<bool> moved(plan.sizes.size(), false);
  int phase = 0;
  for (const std::vector<int>& unit : units) {
    throw_if_interrupted();
    std::vector<std::uint32_t> sent;
    for (const int rank : reps) {
      const std::vector<int> here = rank_coordinates(plan.sizes, rank);
      // A chunk is here when its origin agrees with the rank on the axes that it has not moved
      // along yet, and its destination on those that it has: numbered by the other coordinates.
      for (int chunk = 0; chunk < ranks; ++chunk) {
        const std::vector<int> other = rank_coordinates(plan.sizes, chunk);
        const bool stays = std::all_of(unit.begin(), unit.end(), [&](int axis) {
          return other[static_cast<std::size_t>(axis)] == here[static_cast<std::size_t>(axis)];
        });
        if (stays) continue;
        std::vector<int> origin = here, dest = other;
        for (std::size_t i = 0; i < moved.size(); ++i) {
          if (moved[i]) {
            origin[i] = other[i];
            dest[i] = here[i];
          }
        }
        std::vector<int> to = here;
        for (const int axis : unit)
          to[static_cast<std::size_t>(axis)] = dest[static_cast<std::size_t>(axis)];
        Send send{.from = rank, .to = rank_at(plan.sizes, to)};
        send.chunks = {.origin = rank_at(plan.sizes, origin), .dest = rank_at(plan.sizes, dest)};
        send.share = 1.0 / (static_cast<double>(ranks) * ranks);
        send.phase = phase;
        send.stage = phase;
        sent.push_back(plan.add(send, barrier));
      }
    }
    barrier = {joined(plan, phase++, sent)};
    for (const int axis : unit) moved[static_cast<std::size_t>(axis)] = true;
  }
  return plan;
}

CollectivePlan shift(const PlanFrame& frame, int by) {
  CollectivePlan plan = empty_plan(frame, Collective::collective_permute);
  const int last = static_cast<int>(plan.sizes.size()) - 1;
  for (const int rank : plan.representatives()) {
    const int to = shifted(plan.sizes, rank, last, by);
    if (to == rank) continue;
    Send send{.from = rank, .to = to, .chunks = {.origin = rank}};
    send.share = 1.0 / plan.ranks();
    plan.add(send, {});
  }
  return plan;
}

}  // namespace shardsim
