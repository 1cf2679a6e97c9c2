#include "plan/rooted.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/file.h"
#include "plan/algorithm_parts.h"

namespace shardsim {

CollectivePlan scatter_over(const PlanFrame& frame, const Forest& forest, int root) {
  CollectivePlan plan = empty_plan(frame, Collective::scatter);
  plan.root = root;
  const int ranks = plan.ranks();
  constexpr std::uint32_t kNone = 0xffffffffu;
  std::vector<std::uint32_t> latest(static_cast<std::size_t>(ranks), kNone);  // send from or to
  for (const TreeEdge& edge : forest.edges) {
    const auto from = static_cast<std::size_t>(edge.from);
    const int place = (edge.to - root + ranks) % ranks;
    const int span = (edge.to - edge.from + ranks) % ranks;
    Send send{.from = edge.from, .to = edge.to, .chunks = {.origin = edge.to}, .phase = edge.slot};
    send.chunks.origins = std::min(span, ranks - place);
    send.share = plan.share_of(send.chunks);
    std::vector<std::uint32_t> waits;
    if (latest[from] != kNone) waits.push_back(latest[from]);
    latest[from] = latest[static_cast<std::size_t>(edge.to)] = plan.add(send, waits);
  }
  return plan;
}

namespace {

// Signed hops by the shortest way along one axis; a tie of a ring goes forwards.
int way(const GroupAxis& axis, int from, int to) {
  if (!wrapped(axis)) return to - from;
  const int forward = (to - from + axis.size) % axis.size;
  return one_way(axis) || 2 * forward <= axis.size ? forward : forward - axis.size;
}

bool tie(const GroupAxis& axis, int hop_count) {
  return wrapped(axis) && !one_way(axis) && 2 * std::abs(hop_count) == axis.size;
}

// Group axes in the order in which routes take them.
std::vector<std::size_t> route_order(const GroupNet& net) {
  std::vector<std::size_t> order(net.axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return net.axes[a].axes < net.axes[b].axes; });
  return order;
}

// One rank's way to or from the root.
struct Way {
  std::vector<int> hops;  // per group axis, signed
  std::size_t lane = 0;   // axis of the root's port
  bool split = false;     // over both ports of that axis
  // The axis nearest to the port on which the way is whole; axes.size(): none.
  std::size_t whole = 0;
};

void find_way(const GroupNet& net, std::span<const std::size_t> order, std::span<const int> from,
              std::span<const int> to, Way& result) {
  // `order` begins at the root's end of the way.
  const std::size_t none = net.axes.size();
  result.hops.assign(none, 0);
  result.split = false;
  result.lane = result.whole = none;
  for (const std::size_t i : order) {
    result.hops[i] = way(net.axes[i], from[i], to[i]);
    if (result.hops[i] == 0) continue;
    const bool split = tie(net.axes[i], result.hops[i]);
    if (result.lane == none) {
      result.lane = i;
      result.split = split;
    } else if (result.whole == none && !split) {
      result.whole = i;
    }
  }
}

// To the coordinates of the next rank.
void step(std::span<const int> sizes, std::vector<int>& at) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (++at[i] < sizes[i]) return;
    at[i] = 0;
  }
}

// The hops but those along one axis as one number, in their lexicographic order.
std::int64_t order_of_others(const GroupNet& net, std::span<const int> hops, std::size_t but) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const int size = net.axes[i].size;
    number = number * (2 * size) + (i == but ? 0 : hops[i]) + size;
  }
  return number;
}

// By what turns are ordered. A tuple's comparison takes several times as long.
struct TurnKey {
  Seconds latency;
  std::size_t lane = 0;     // axis of the root's port
  int hops = 0;             // along it
  std::int64_t others = 0;  // hops along the other axes
  std::size_t place = 0;    // among those found

  bool operator<(const TurnKey& other) const {
    if (latency != other.latency) return latency < other.latency;
    if (lane != other.lane) return lane < other.lane;
    if (hops != other.hops) return hops < other.hops;
    if (others != other.others) return others < other.others;
    return place < other.place;
  }
};

std::vector<RootTurn> find_turns(const GroupNet& net, int root, Collective kind) {
  const std::vector<int> sizes = net.sizes();
  const bool out = kind == Collective::scatter;
  std::vector<std::size_t> order = route_order(net);
  if (!out) std::reverse(order.begin(), order.end());
  const std::vector<int> here = rank_coordinates(sizes, root);
  std::vector<TurnKey> keys;
  std::vector<RootTurn> found;
  Way way;
  std::vector<int> there(sizes.size(), 0);
  const int ranks = net.ranks();
  keys.reserve(static_cast<std::size_t>(ranks));
  found.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank, step(sizes, there)) {
    if (rank == root) continue;
    find_way(net, order, out ? here : there, out ? there : here, way);
    RootTurn turn{.rank = {rank}, .rate = net.axes[way.lane].w1};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (way.hops[i] == 0) continue;
      turn.latency += std::abs(way.hops[i]) * net.axes[i].latency;
      turn.rate = std::min(turn.rate, net.axes[i].w1);
    }
    turn.lane = {static_cast<int>(way.lane), way.hops[way.lane] > 0 ? 1 : -1};
    turn.split = way.split;
    if (way.split) {
      if (way.whole == sizes.size()) {
        turn.load = 0.5;
      } else if (wrapped(net.axes[way.whole]) && !one_way(net.axes[way.whole])) {
        if (way.hops[way.whole] < 0) continue;  // comes with its mirror image
        const int across = (out ? -2 : 2) * way.hops[way.whole];
        turn.rank[1] = shifted(sizes, rank, static_cast<int>(way.whole), across);
        turn.ranks = 2;
      }
    }
    keys.push_back({turn.latency, way.lane, std::abs(way.hops[way.lane]),
                    order_of_others(net, way.hops, way.lane), found.size()});
    found.push_back(std::move(turn));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<RootTurn> turns;
  turns.reserve(keys.size());
  for (const TurnKey& key : keys) turns.push_back(found[key.place]);
  return turns;
}

struct TurnsAsked {
  std::vector<GroupAxis> axes;
  int root = 0;
  Collective kind = Collective::scatter;

  bool operator==(const TurnsAsked&) const = default;
};

}  // namespace

std::shared_ptr<const std::vector<RootTurn>> root_turns(const GroupNet& net, int root,
                                                        Collective kind) {
  thread_local TurnsAsked last;
  thread_local std::shared_ptr<const std::vector<RootTurn>> turns;
  TurnsAsked asked{net.axes, root, kind};
  if (turns == nullptr || !(asked == last)) {
    turns = std::make_shared<const std::vector<RootTurn>>(find_turns(net, root, kind));
    last = std::move(asked);
  }
  return turns;
}

CollectivePlan direct_rooted(const PlanFrame& frame, const GroupNet& net, Collective kind,
                             int root) {
  CollectivePlan plan = empty_plan(frame, kind);
  plan.root = root;
  const bool out = kind == Collective::scatter;
  const auto add = [&](int rank, int phase, std::span<const std::uint32_t> waits) {
    Send send{.from = out ? root : rank, .to = out ? rank : root, .chunks = {.origin = rank}};
    send.share = plan.share_of(send.chunks);
    send.phase = phase;
    send.posted = true;
    return plan.add(send, waits);
  };
  if (!one_grid(net)) {  // nothing is relayed from rank to rank
    for (int rank = 0; rank < net.ranks(); ++rank) {
      if (rank != root) add(rank, 0, {});
    }
    return plan;
  }
  std::vector<std::vector<std::uint32_t>> latest(2 * net.axes.size());  // by port of the root
  int phase = 0;
  const auto turns = root_turns(net, root, kind);
  for (const RootTurn& turn : *turns) {
    throw_if_interrupted();
    const auto [one, other] = turn.ports();
    std::vector<std::uint32_t> waits = latest[one];
    if (turn.split) waits.insert(waits.end(), latest[other].begin(), latest[other].end());
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::vector<std::uint32_t> sent;
    for (const int rank : turn.both()) sent.push_back(add(rank, phase, waits));
    ++phase;
    latest[one] = latest[other] = sent;
  }
  return plan;
}

}  // namespace shardsim
