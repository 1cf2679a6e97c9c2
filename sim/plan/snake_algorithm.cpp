#include "plan/snake_algorithm.h"

#include <algorithm>

#include "base/file.h"
#include "plan/algorithm_parts.h"
#include "plan/device_path.h"

namespace shardsim {

std::string snake_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (!one_grid(net)) return "it is for the axes of one torus or mesh";
  if (net.axes.size() < 2) return "it needs more than one axis";
  if (std::any_of(net.axes.begin(), net.axes.end(), one_way)) {
    return "a path through all devices turns back: it needs links in both directions";
  }
  const auto even = [](const GroupAxis& axis) { return axis.size % 2 == 0; };
  if (std::any_of(net.axes.begin(), net.axes.end(), even)) return "";
  if (device_path(net).closed) return "";
  return "a mesh of odd axes has no ring through all devices: one axis must be even";
}

namespace {

// One direction round the cycle: in step t, the device in place i passes on the shard from t - 1
// places behind it.
class Round {
 public:
  Round(CollectivePlan& plan, const DevicePath& path, int piece, int direction)
      : plan_(plan),
        path_(path),
        piece_(piece),
        direction_(direction),
        latest_(path.ranks.size()) {}

  void step(int t) {
    const int n = static_cast<int>(path_.ranks.size());
    std::vector<std::uint32_t> now(latest_.size());
    for (int i = 0; i < n; ++i) {
      const Hop& ahead = path_.hops[index(direction_ > 0 ? i : i - 1)];
      const Hop hop = direction_ > 0 ? ahead : reversed(ahead);
      Send send;
      send.from = rank(i);
      send.to = rank(i + direction_);
      send.chunks = {.origin = rank(i - direction_ * (t - 1)), .piece = piece_};
      send.share = plan_.share_of(send.chunks);
      send.axis = hop.axis;
      send.direction = hop.direction;
      send.phase = t - 1;
      std::vector<std::uint32_t> waits;
      if (t > 1) waits = {latest_[index(i - direction_)], latest_[index(i)]};
      now[index(i)] = plan_.add(send, waits);
    }
    latest_ = std::move(now);
  }

 private:
  std::size_t index(int place) const {
    const int n = static_cast<int>(path_.ranks.size());
    return static_cast<std::size_t>((place % n + n) % n);
  }
  int rank(int place) const { return path_.ranks[index(place)]; }

  CollectivePlan& plan_;
  const DevicePath& path_;
  int piece_;
  int direction_;
  std::vector<std::uint32_t> latest_;  // [places] the last send from there
};

CollectivePlan gather_round(const PlanFrame& frame, const DevicePath& path) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  Round forwards(plan, path, 0, 1), backwards(plan, path, 1, -1);
  for (int t = 1; t < plan.ranks(); ++t) {
    throw_if_interrupted();
    forwards.step(t);
    backwards.step(t);
  }
  return plan;
}

}  // namespace

CollectivePlan plan_snake(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  const DevicePath path = device_path(net);
  return from_gather(ask.kind, [&](int) {
    return gather_round(frame("snake", net, fold, {0.5, 0.5}), path);
  });
}

// The halved ring over all N devices (Scaling Book ch. 3, exact in N).
ClosedForm form_snake(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  Seconds latency, half_shard;
  for (const GroupAxis& axis : net.axes) {
    latency = std::max(latency, axis.latency);
    half_shard = std::max(half_shard, ask.bytes / (2 * n) / axis.w1);
  }
  return {rounds(ask.kind) * (n - 1) * (latency + half_shard),
          times(ask.kind, "(N-1) * (a + V/(2*N*W1))"), same_links(net)};
}

double sends_snake(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * 2 * (net.ranks() - 1);
}

}  // namespace shardsim
