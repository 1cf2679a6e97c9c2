#include "plan/direct.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/file.h"

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

// Displacements whose hops are equal up to sign and exchange of alike axes, and the load that they
// put on a port of each axis (in chunks).
struct Class {
  std::vector<int> displacements;
  std::vector<double> load;
  int shortest = 0;
  int distance = 0;  // of the farthest
};

// Links of one device that share the displacements along an axis.
double ways(Wiring wiring, int size) {
  if (wiring == Wiring::full_mesh) return size - 1;
  return wiring == Wiring::ring ? 2.0 : 1.0;
}

std::vector<Class> classes(std::span<const int> sizes, std::span<const Wiring> wiring) {
  const int ranks = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  std::map<std::vector<int>, Class> by_key;
  for (int d = 1; d < ranks; ++d) {
    if (d % 4096 == 0) throw_if_interrupted();
    const std::vector<int> at = rank_coordinates(sizes, d);
    std::vector<std::vector<int>> alike(sizes.size());  // hops of the axes alike to axis i, i first
    std::vector<double> load(sizes.size());
    int distance = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const int h = hops(wiring[i], sizes[i], at[i]);
      std::size_t first = 0;
      while (sizes[first] != sizes[i] || wiring[first] != wiring[i]) ++first;
      alike[first].push_back(h);
      load[i] = h / ways(wiring[i], sizes[i]);
      distance += h;
    }
    std::vector<int> key;
    for (std::vector<int>& group : alike) {
      std::sort(group.begin(), group.end());
      key.insert(key.end(), group.begin(), group.end());
    }
    key.insert(key.begin(), distance);
    Class& c = by_key[key];
    c.displacements.push_back(d);
    c.shortest = c.distance = distance;
    c.load.resize(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) c.load[i] += load[i];
  }
  std::vector<Class> result;
  for (auto& [key, c] : by_key) result.push_back(std::move(c));
  return result;
}

void absorb(Class& into, const Class& other) {
  into.displacements.insert(into.displacements.end(), other.displacements.begin(),
                            other.displacements.end());
  for (std::size_t i = 0; i < into.load.size(); ++i) into.load[i] += other.load[i];
  into.shortest = std::min(into.shortest, other.shortest);
  into.distance = std::max(into.distance, other.distance);
}

// How much less the axis `busiest` carries than the fullest other axis; 0 or less: it has the lead.
double deficit(const Class& c, std::size_t busiest) {
  return *std::max_element(c.load.begin(), c.load.end()) - c.load[busiest];
}

std::vector<Class> rounds(std::vector<Class> all, std::size_t axes) {
  std::vector<double> total(axes, 0.0);
  for (const Class& c : all) {
    for (std::size_t i = 0; i < axes; ++i) total[i] += c.load[i];
  }
  const auto busiest =
      static_cast<std::size_t>(std::max_element(total.begin(), total.end()) - total.begin());
  constexpr double kEven = 1e-9;
  std::vector<Class> needy, good;
  for (Class& c : all) (deficit(c, busiest) > kEven ? needy : good).push_back(std::move(c));
  std::vector<Class> result;
  std::size_t used = 0;
  for (const Class& c : needy) {
    const bool open = !result.empty() && deficit(result.back(), busiest) > kEven;
    if (open) {
      absorb(result.back(), c);
    } else {
      result.push_back(c);
    }
    while (used < good.size() && deficit(result.back(), busiest) > kEven) {
      absorb(result.back(), good[used++]);
    }
  }
  while (result.size() > 1 && deficit(result.back(), busiest) > kEven) {
    const Class last = std::move(result.back());
    result.pop_back();
    absorb(result.back(), last);
  }
  result.insert(result.end(), std::make_move_iterator(good.begin() + static_cast<long>(used)),
                std::make_move_iterator(good.end()));
  std::stable_sort(result.begin(), result.end(),
                   [](const Class& a, const Class& b) { return a.distance < b.distance; });
  return result;
}

std::vector<Class> all_rounds(std::span<const int> sizes, std::span<const Wiring> wiring) {
  std::vector<Class> all = classes(sizes, wiring);
  const bool one_hop = std::any_of(wiring.begin(), wiring.end(), [](Wiring w) {
    return w == Wiring::star || w == Wiring::full_mesh;
  });
  if (one_hop) {  // nothing is relayed from rank to rank, one round will do
    while (all.size() > 1) {
      absorb(all.front(), all.back());
      all.pop_back();
    }
  }
  return rounds(std::move(all), sizes.size());
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
      return displacement == 0 ? 0 : 1;
  }
  return 0;
}

std::vector<AllToAllRound> all_to_all_rounds(std::span<const int> sizes,
                                             std::span<const Wiring> wiring) {
  std::vector<AllToAllRound> result;
  for (const Class& c : all_rounds(sizes, wiring)) {
    result.push_back({c.load, c.shortest, c.distance});
  }
  return result;
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

CollectivePlan direct_all_to_all(const PlanFrame& frame, std::span<const Wiring> wiring) {
  CollectivePlan plan = empty_plan(frame, Collective::all_to_all);
  const double ranks = plan.ranks();
  const std::vector<int> reps = plan.representatives();
  std::vector<std::uint32_t> barrier;
  int phase = 0;
  for (const Class& round : all_rounds(plan.sizes, wiring)) {
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
    Send join{.from = reps[0],
              .to = reps[0],
              .chunks = {.origin = reps[0]},
              .phase = phase,
              .stage = phase};
    barrier = {plan.add(join, sent)};
    ++phase;
  }
  return plan;
}

CollectivePlan all_to_all_by_axis(const PlanFrame& frame, std::span<const int> order) {
  CollectivePlan plan = empty_plan(frame, Collective::all_to_all);
  const int ranks = plan.ranks();
  const std::vector<int> reps = plan.representatives();
  std::vector<std::uint32_t> barrier;
  std::vector<bool> moved(plan.sizes.size(), false);
  int phase = 0;
  for (const int axis : order) {
    throw_if_interrupted();
    std::vector<std::uint32_t> sent;
    const auto a = static_cast<std::size_t>(axis);
    for (const int rank : reps) {
      const std::vector<int> here = rank_coordinates(plan.sizes, rank);
      // A chunk is here when its origin agrees with the rank on the axes that it has not moved
      // along yet, and its destination on those that it has: numbered by the other coordinates.
      for (int chunk = 0; chunk < ranks; ++chunk) {
        const std::vector<int> other = rank_coordinates(plan.sizes, chunk);
        if (other[a] == here[a]) continue;
        std::vector<int> origin = here, dest = other;
        for (std::size_t i = 0; i < moved.size(); ++i) {
          if (moved[i]) {
            origin[i] = other[i];
            dest[i] = here[i];
          }
        }
        std::vector<int> to = here;
        to[a] = dest[a];
        Send send{.from = rank, .to = rank_at(plan.sizes, to)};
        send.chunks = {.origin = rank_at(plan.sizes, origin), .dest = rank_at(plan.sizes, dest)};
        send.share = 1.0 / (static_cast<double>(ranks) * ranks);
        send.phase = phase;
        send.stage = phase;
        sent.push_back(plan.add(send, barrier));
      }
    }
    const Send join{.from = reps[0],
                    .to = reps[0],
                    .chunks = {.origin = reps[0]},
                    .phase = phase,
                    .stage = phase};
    barrier = {plan.add(join, sent)};
    moved[a] = true;
    ++phase;
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
