#include "plan/permute_algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/algorithm_parts.h"

namespace shardsim {
namespace {

// Blocks on every directed link, and the longest way, of messages in dimension order.
class LinkLoads {
 public:
  explicit LinkLoads(const GroupNet& net)
      : net_(net),
        sizes_(net.sizes()),
        order_(net.axes.size()),
        blocks_(static_cast<std::size_t>(net.ranks()) * net.axes.size() * 2) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return net_.axes[a].hardware < net_.axes[b].hardware;
    });
  }

  // A tie on one axis is split over both ways round; the ways on the others do not depend on it.
  void send(int from, int to) {
    const std::vector<int> target = rank_coordinates(sizes_, to);
    std::vector<int> at = rank_coordinates(sizes_, from);
    Seconds latency;
    int hops = 0;
    for (const std::size_t a : order_) {
      const int size = sizes_[a];
      const int forward = (target[a] - at[a] + size) % size;
      const int back = size - forward;
      const bool two_way = net_.axes[a].wiring == Wiring::ring && forward != 0;
      const int shortest = two_way ? std::min(forward, back) : forward;
      const double share = two_way && forward == back ? 0.5 : 1.0;
      if (!two_way || forward <= back) walk(at, a, forward, 1, share);
      if (two_way && back <= forward) walk(at, a, back, -1, share);
      at[a] = target[a];
      latency += shortest * net_.axes[a].latency;
      hops += shortest;
    }
    if (latency > latency_ || hops > hops_) {
      latency_ = std::max(latency_, latency);
      hops_ = std::max(hops_, hops);
    }
  }

  // Time of the busiest link for blocks of this size, and how many it carries.
  std::pair<Seconds, double> busiest(Bytes block) const {
    std::pair<Seconds, double> worst;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Seconds time = blocks_[i] * block / net_.axes[i / 2 % net_.axes.size()].w1;
      if (time > worst.first) worst = {time, blocks_[i]};
    }
    return worst;
  }
  Seconds latency() const { return latency_; }
  int hops() const { return hops_; }

 private:
  void walk(const std::vector<int>& at, std::size_t axis, int hop_count, int direction,
            double share) {
    int rank = rank_at(sizes_, at);
    for (int h = 0; h < hop_count; ++h) {
      const std::size_t link = (static_cast<std::size_t>(rank) * sizes_.size() + axis) * 2;
      blocks_[link + (direction > 0 ? 0 : 1)] += share;
      rank = shifted(sizes_, rank, static_cast<int>(axis), direction);
    }
  }

  const GroupNet& net_;
  std::vector<int> sizes_;
  std::vector<std::size_t> order_;  // of axes, as routes take them
  std::vector<double> blocks_;      // [rank][axis][direction]
  Seconds latency_;
  int hops_ = 0;
};

}  // namespace

std::string permutation_suits(const CollectiveAsk& ask, const GroupNet&) {
  if (ask.kind != Collective::collective_permute) {
    return fmt::format("it is for collective-permute, not {}", to_text(ask.kind));
  }
  return ask.targets.empty() ? "every rank sends equally far here; it is for reshards" : "";
}

CollectivePlan plan_permutation(const CollectiveAsk& ask, const GroupNet& net,
                                const std::vector<int>& fold) {
  CollectivePlan plan;
  plan.kind = Collective::collective_permute;
  plan.algorithm = "permutation";
  plan.sizes = net.sizes();
  plan.fold = fold;
  plan.piece_share = {1.0};
  for (const int rank : plan.representatives()) {
    const int to = ask.targets[static_cast<std::size_t>(rank)];
    if (to == rank) continue;
    Send send{.from = rank, .to = to, .chunks = {.origin = rank}};
    send.share = 1.0 / plan.ranks();
    plan.add(send, {});
  }
  return plan;
}

ClosedForm form_permutation(const CollectiveAsk& ask, const GroupNet& net) {
  const int ranks = net.ranks();
  const Bytes block = ask.bytes / static_cast<double>(ranks);
  if (star(net)) {
    return {net.axes[0].latency + block / net.axes[0].w1, "a + V/(N*W1)"};
  }
  LinkLoads loads(net);
  for (int rank = 0; rank < ranks; ++rank) {
    const int to = ask.targets[static_cast<std::size_t>(rank)];
    if (to != rank) loads.send(rank, to);
  }
  const auto [time, blocks] = loads.busiest(block);
  return {time + loads.latency(),
          fmt::format("{:g} * V/(N*W1) + {} * a: {:g} blocks on the busiest link", blocks,
                      loads.hops(), blocks),
          loads.latency() == Seconds{}};
}

double sends_permutation(const CollectiveAsk&, const GroupNet&) {
  return 1;
}

}  // namespace shardsim
