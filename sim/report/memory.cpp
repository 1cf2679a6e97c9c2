#include "report/memory.h"

#include <algorithm>

namespace shardsim {
namespace {

Seconds time_of(const MemoryDelta& delta, const Timeline& timeline) {
  return (delta.at_end ? timeline.end : timeline.start)[static_cast<std::size_t>(delta.op)];
}

// In the order in which they happen: by time, what is given back first.
void sort(std::vector<std::uint32_t>& changes, const OpGraph& graph, const Timeline& timeline) {
  std::stable_sort(changes.begin(), changes.end(), [&](std::uint32_t a, std::uint32_t b) {
    const MemoryDelta& x = graph.memory[a];
    const MemoryDelta& y = graph.memory[b];
    const Seconds tx = time_of(x, timeline), ty = time_of(y, timeline);
    if (tx != ty) return tx < ty;
    return (x.bytes < Bytes{}) > (y.bytes < Bytes{});
  });
}

// Indices of the changes of every class.
std::vector<std::vector<std::uint32_t>> by_device(const OpGraph& graph, const Timeline& timeline) {
  std::vector<std::vector<std::uint32_t>> changes(graph.device_classes);
  for (std::size_t i = 0; i < graph.memory.size(); ++i)
    changes[graph.memory[i].device].push_back(static_cast<std::uint32_t>(i));
  for (std::vector<std::uint32_t>& of_one : changes) sort(of_one, graph, timeline);
  return changes;
}

// Calls `see` with the state after all changes of each time.
template <class See>
void walk(const OpGraph& graph, const Timeline& timeline, std::span<const std::uint32_t> changes,
          See see) {
  MemoryPoint now;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const MemoryDelta& delta = graph.memory[changes[i]];
    now.at = time_of(delta, timeline);
    now.op = delta.op;
    now.split[static_cast<std::size_t>(delta.kind)] += delta.bytes;
    const bool more =
        i + 1 < changes.size() && time_of(graph.memory[changes[i + 1]], timeline) == now.at;
    if (!more) see(now);
  }
}

}  // namespace

Bytes total(const MemorySplit& split) {
  Bytes sum;
  for (const Bytes bytes : split) sum += bytes;
  return sum;
}

std::vector<MemoryPoint> memory_timeline(const OpGraph& graph, const Timeline& timeline,
                                         std::uint32_t device) {
  std::vector<std::uint32_t> changes;
  for (std::size_t i = 0; i < graph.memory.size(); ++i)
    if (graph.memory[i].device == device) changes.push_back(static_cast<std::uint32_t>(i));
  sort(changes, graph, timeline);
  std::vector<MemoryPoint> points;
  walk(graph, timeline, changes, [&](const MemoryPoint& point) { points.push_back(point); });
  return points;
}

std::vector<std::vector<MemoryPoint>> memory_timelines(const OpGraph& graph,
                                                       const Timeline& timeline) {
  std::vector<std::vector<MemoryPoint>> all;
  for (std::uint32_t device = 0; device < graph.device_classes; ++device)
    all.push_back(memory_timeline(graph, timeline, device));
  return all;
}

std::vector<MemoryPeak> memory_peaks(const OpGraph& graph, const Timeline& timeline,
                                     const std::vector<std::vector<std::uint32_t>>& ranks) {
  const auto changes = by_device(graph, timeline);
  std::vector<MemoryPeak> peaks;
  for (const std::vector<std::uint32_t>& classes : ranks) {
    MemoryPeak& peak = peaks.emplace_back();
    for (const std::uint32_t device : classes) {
      walk(graph, timeline, changes[device], [&](const MemoryPoint& point) {
        const Bytes here = total(point.split), most = total(peak.split);
        if (here < most || (here == most && !(point.at < peak.at))) return;
        static_cast<MemoryPoint&>(peak) = point;
        peak.device = device;
      });
    }
  }
  return peaks;
}

const MemoryPeak& highest(const std::vector<MemoryPeak>& peaks) {
  return *std::max_element(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) {
    return total(a.split) < total(b.split);
  });
}

}  // namespace shardsim
