#include "plan/snake_algorithm.h"

#include <algorithm>
#include <array>

#include "plan/algorithm_parts.h"
#include "plan/device_path.h"
#include "plan/gather_rings.h"

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
  if (has_cycle(net)) return "";
  return "a mesh of odd axes has no ring through all devices: one axis must be even";
}

CollectivePlan plan_snake(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  const DevicePath path = device_path(net);
  const std::array<DevicePath, 2> both = {path, reversed(path)};
  return from_gather(ask.kind, [&](int) {
    return gather_round_rings(frame("snake", net, fold, {0.5, 0.5}, ask.merged), both);
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
  return rounds(ask.kind) * 2 * (ask.merged ? 1 : net.ranks() - 1);
}

}  // namespace shardsim
