#include "report/link_rates.h"

#include <algorithm>

namespace shardsim {

namespace {

constexpr std::uint32_t kUnasked = 0xffffffffu;

// +r when a transfer begins to flow, -r at its end.
using Changes = std::vector<std::vector<RatePoint>>;

Changes changes_of(const Run& run, std::span<const std::uint32_t> links) {
  std::vector<std::uint32_t> place(run.graph.links.size(), kUnasked);
  for (std::uint32_t i = 0; i < links.size(); ++i) place[links[i]] = i;
  Changes changes(links.size());
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind != OpKind::transfer) continue;
    const Seconds from = run.timeline.start[i] + op.seconds, to = run.timeline.end[i];
    if (to <= from) continue;
    const BytesPerSec rate = op.bytes / (to - from);
    for (const std::uint32_t link : run.graph.route(op.route)) {
      if (place[link] == kUnasked) continue;
      changes[place[link]].push_back({from, rate});
      changes[place[link]].push_back({to, BytesPerSec{} - rate});
    }
  }
  return changes;
}

// A change by less than a billionth of the bandwidth is rounding.
std::vector<RatePoint> added_up(std::vector<RatePoint> changes, BytesPerSec bandwidth) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const RatePoint& a, const RatePoint& b) { return a.at < b.at; });
  const BytesPerSec noise = bandwidth * 1e-9;
  std::vector<RatePoint> points;
  BytesPerSec rate;
  for (std::size_t i = 0; i < changes.size();) {
    const Seconds at = changes[i].at;
    BytesPerSec by;
    for (; i < changes.size() && changes[i].at == at; ++i) by += changes[i].rate;
    rate += by;
    if (by > noise || by < BytesPerSec{} - noise)
      points.push_back({at, rate > noise ? rate : BytesPerSec{}});
  }
  return points;
}

}  // namespace

std::vector<std::vector<RatePoint>> link_rates(const Run& run,
                                               std::span<const std::uint32_t> links) {
  Changes changes = changes_of(run, links);
  for (std::size_t i = 0; i < links.size(); ++i)
    changes[i] = added_up(std::move(changes[i]), run.graph.links[links[i]].bandwidth);
  return changes;
}

}  // namespace shardsim
