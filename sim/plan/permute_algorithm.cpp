#include "plan/permute_algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/file.h"
#include "plan/algorithm_parts.h"
#include "plan/direct_algorithms.h"
#include "plan/permute.h"

namespace shardsim {
namespace {

// Blocks on every directed link, and the longest way, of messages in dimension order.
class LinkLoads {
 public:
  explicit LinkLoads(const GroupNet& net)
      : net_(net),
        sizes_(net.sizes()),
        strides_(row_major_strides(sizes_)),
        order_(net.axes.size()),
        blocks_(static_cast<std::size_t>(net.ranks()) * net.axes.size() * 2) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return net_.axes[a].axes < net_.axes[b].axes;
    });
  }

  // A tie on one axis is split over both ways round; the ways on the others do not depend on it.
  void send(int from, int to) {
    int at = from;
    Seconds latency;
    int hops = 0;
    for (const std::size_t a : order_) {
      const int place = from / strides_[a] % sizes_[a];
      const int target = to / strides_[a] % sizes_[a];
      const Ways ways = ways_along(a, place, target);
      const bool tie = ways.forward > 0 && ways.back > 0;
      walk(at, a, ways.forward, 1, tie ? 0.5 : 1.0);
      walk(at, a, ways.back, -1, tie ? 0.5 : 1.0);
      const int shortest = std::max(ways.forward, ways.back);
      at += (target - place) * strides_[a];
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
  // Hops each way; both where they are equally many.
  struct Ways {
    int forward = 0, back = 0;
  };

  Ways ways_along(std::size_t a, int from, int to) const {
    const int size = sizes_[a];
    const int forward = (to - from + size) % size;
    if (net_.axes[a].wiring == Wiring::line)
      return {std::max(to - from, 0), std::max(from - to, 0)};
    if (net_.axes[a].wiring != Wiring::ring || forward == 0) return {forward, 0};
    const int back = size - forward;
    return {forward <= back ? forward : 0, back <= forward ? back : 0};
  }

  void walk(int at, std::size_t axis, int hop_count, int direction, double share) {
    const int size = sizes_[axis];
    int place = at / strides_[axis] % size;
    const int others = at - place * strides_[axis];
    for (int h = 0; h < hop_count; ++h) {
      const auto rank = static_cast<std::size_t>(others + place * strides_[axis]);
      blocks_[(rank * sizes_.size() + axis) * 2 + (direction > 0 ? 0 : 1)] += share;
      place += direction;
      if (place < 0) place += size;
      if (place == size) place = 0;
    }
  }

  const GroupNet& net_;
  std::vector<int> sizes_, strides_;
  std::vector<std::size_t> order_;  // of axes, as routes take them
  std::vector<double> blocks_;      // [rank][axis][direction]
  Seconds latency_;
  int hops_ = 0;
};

}  // namespace

std::string permutation_suits(const CollectiveAsk& ask, const GroupNet&) {
  const std::string why = only_for(ask, {Collective::collective_permute});
  if (!why.empty()) return why;
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
    if (rank % 4096 == 0) throw_if_interrupted();
    const int to = ask.targets[static_cast<std::size_t>(rank)];
    if (to == rank) continue;
    Send send{.from = rank, .to = to, .chunks = {.origin = rank}};
    send.share = 1.0 / plan.ranks();
    plan.add(send, {});
  }
  return plan;
}

namespace {

// Over several levels or cables every rank sends and receives one block: no port passes more than
// one, but for those that align others.
ClosedForm form_through_ports(const CollectiveAsk& ask, const GroupNet& net) {
  ClosedForm form{Seconds{}, "one block through the slowest port, and every level's latency",
                  false};
  const Bytes block = ask.bytes / static_cast<double>(net.ranks());
  Seconds latency;
  for (const GroupAxis& axis : net.axes) {
    form.time = std::max(form.time, block / axis.w1);
    latency += axis.latency;
  }
  form.time += latency;
  return form;
}

}  // namespace

ClosedForm form_permutation(const CollectiveAsk& ask, const GroupNet& net) {
  const int ranks = net.ranks();
  const Bytes block = ask.bytes / static_cast<double>(ranks);
  if (net.graph != nullptr) {
    std::vector<RoutedLoads::Message> messages;
    for (int rank = 0; rank < ranks; ++rank) {
      const int to = ask.targets[static_cast<std::size_t>(rank)];
      if (to != rank) messages.emplace_back(rank, to);
    }
    return form_routed(net, ask.bytes, RoutedLoads(net).of(messages));
  }
  if (star(net)) {
    return {net.axes[0].latency + block / net.axes[0].w1, "a + V/(N*W1)"};
  }
  const bool hops_only = std::none_of(net.axes.begin(), net.axes.end(), [](const GroupAxis& axis) {
    return axis.wiring == Wiring::star || axis.wiring == Wiring::full_mesh;
  });
  if (!hops_only) return form_through_ports(ask, net);
  LinkLoads loads(net);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % 4096 == 0) throw_if_interrupted();
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

std::vector<int> fold_permutation(const CollectiveAsk& ask, const GroupNet& net) {
  return invariant_steps(net.sizes(), ask.targets);
}

}  // namespace shardsim
