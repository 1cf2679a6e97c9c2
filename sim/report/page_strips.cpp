#include "report/page_strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "report/columns.h"
#include "report/link_rates.h"
#include "report/memory.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostPoints = 2'000;  // of a step function
constexpr std::size_t kMostLinks = 24;

// At most about kMostPoints of a step function: of each stretch of time the highest point and the
// last one. `height` says how high a point is.
template <class Point, class Height>
std::vector<Point> few_points(std::vector<Point> points, Seconds step, Height height) {
  if (points.size() <= kMostPoints) return points;
  const Seconds stretch = step * (2.0 / kMostPoints);
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size();) {
    const double number = std::floor(points[i].at / stretch);
    std::size_t highest = i, last = i;
    for (; i < points.size() && std::floor(points[i].at / stretch) == number; ++i) {
      last = i;
      if (height(points[i]) > height(points[highest])) highest = i;
    }
    kept.push_back(points[highest]);
    if (last != highest) kept.push_back(points[last]);
  }
  return kept;
}

// The links that carried anything, busiest first.
std::vector<std::uint32_t> busy_links(const Run& run) {
  std::vector<Seconds> busy(run.graph.links.size());
  for (const Op& op : run.graph.ops) {
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : run.graph.route(op.route))
      busy[link] += op.bytes / run.graph.links[link].bandwidth;
  }
  std::vector<std::uint32_t> links(busy.size());
  std::iota(links.begin(), links.end(), 0u);
  std::erase_if(links, [&](std::uint32_t link) { return busy[link] == Seconds{}; });
  std::stable_sort(links.begin(), links.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return busy[a] > busy[b]; });
  return links;
}

}  // namespace

void add_memory(const Run& run, const Metrics& metrics, const Slices& made, const Ticks& ticks,
                Object& page) {
  Array ranks;
  for (std::size_t rank = 0; rank < metrics.memory.size(); ++rank) {
    const std::uint32_t device = metrics.memory[rank].device;
    const bool several = rank < run.plan.ranks.size() && run.plan.ranks[rank].size() > 1;
    const std::vector<MemoryPoint> points =
        few_points(memory_timeline(run.graph, run.timeline, device), made.end,
                   [](const MemoryPoint& point) { return total(point.split); });
    if (points.empty()) continue;
    Array kinds, bytes;
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      kinds.emplace_back(std::string(to_text(static_cast<MemoryKind>(kind))));
      Column column;
      for (const MemoryPoint& point : points) {
        column.add(static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, std::llround(point.split[kind] / Bytes{1}))));
      }
      bytes.emplace_back(column.text());
    }
    DifferenceColumn at;
    for (const MemoryPoint& point : points) at.add(ticks.at(point.at));
    const Bytes limit = run.workload ? run.workload->memory : Bytes{};
    ranks.push_back(
        Object{{"rank", static_cast<int>(rank)},
               {"label", several ? fmt::format("device class {}", device) : std::string()},
               {"limit_bytes", limit > Bytes{} ? Json(limit / Bytes{1}) : Json(nullptr)},
               {"kinds", std::move(kinds)},
               {"at", at.text()},
               {"bytes", std::move(bytes)}});
  }
  page.emplace_back("memory", std::move(ranks));
}

void add_links(const Run& run, const Slices& made, const Ticks& ticks, Object& page) {
  std::vector<std::uint32_t> links = busy_links(run);
  const std::size_t all = links.size();
  links.resize(std::min(all, kMostLinks));
  std::vector<std::vector<RatePoint>> rates = link_rates(run, links);
  Array list;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const NetLink& link = run.graph.links[links[i]];
    DifferenceColumn at;
    Column rate;
    for (const RatePoint& point :
         few_points(std::move(rates[i]), made.end, [](const RatePoint& p) { return p.rate; })) {
      at.add(ticks.at(point.at));
      rate.add(static_cast<std::uint64_t>(std::llround(1000 * (point.rate / link.bandwidth))));
    }
    list.push_back(Object{{"name", link.name},
                          {"bandwidth_bytes_per_s", link.bandwidth / BytesPerSec{1}},
                          {"at", at.text()},
                          {"rate", rate.text()}});
  }
  page.emplace_back("links", std::move(list));
  page.emplace_back("links_left_out", static_cast<std::int64_t>(all - links.size()));
}

}  // namespace shardsim
