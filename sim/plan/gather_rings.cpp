#include "plan/gather_rings.h"

#include "base/file.h"

namespace shardsim {

CollectivePlan gather_round_rings(const PlanFrame& frame, std::span<const DevicePath> rings) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  const std::size_t n = static_cast<std::size_t>(plan.ranks());
  std::vector<std::vector<std::uint32_t>> latest(rings.size(), std::vector<std::uint32_t>(n));
  int phase = 0;
  plan.unordered = frame.merged;
  const std::size_t steps = frame.merged ? 1 : n - 1;
  const double in_step = static_cast<double>(n - 1) / static_cast<double>(steps);  // shards
  for (std::size_t t = 1; t <= steps; ++t) {
    throw_if_interrupted();
    for (std::size_t j = 0; j < rings.size(); ++j, ++phase) {
      std::vector<std::uint32_t> now(n);
      for (std::size_t i = 0; i < n; ++i) {
        Send send{.from = rings[j].ranks[i], .to = rings[j].ranks[(i + 1) % n]};
        send.chunks = {.origin = rings[j].ranks[(i + n - (t - 1)) % n],
                       .piece = static_cast<int>(j)};
        send.share = in_step * plan.share_of(send.chunks);
        send.hop_along(rings[j].hops[i].axis, rings[j].hops[i].direction);
        send.phase = phase;
        std::vector<std::uint32_t> waits;
        if (t > 1) waits = {latest[j][(i + n - 1) % n], latest[j][i]};
        now[i] = plan.add(send, waits);
      }
      latest[j] = std::move(now);
    }
  }
  return plan;
}

}  // namespace shardsim
