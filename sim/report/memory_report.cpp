#include "report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {
namespace {

constexpr std::size_t kMostRanks = 16;

std::string_view name_of(std::size_t kind) {
  return to_text(static_cast<MemoryKind>(kind));
}

const Origin& origin_of(const Run& run, const MemoryPeak& peak) {
  return run.graph.origins[run.graph.ops[static_cast<std::size_t>(peak.op)].origin];
}

std::string split_text(const MemorySplit& split) {
  std::vector<std::string> parts;
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (split[kind] != Bytes{})
      parts.push_back(fmt::format("{} {}", name_of(kind), to_text(split[kind])));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string row(std::string_view label, const std::vector<std::string>& cells) {
  std::string text = fmt::format("{:<5}", label);
  for (const std::string& cell : cells) text += fmt::format(" {:>12}", cell);
  return text + "\n";
}

}  // namespace

std::string memory_text(const Run& run, const Metrics& metrics) {
  if (!metrics.memory_left) return "";
  const MemoryPeak& peak = highest(metrics.memory);
  const Origin& origin = origin_of(run, peak);
  const Bytes left = *metrics.memory_left;
  const bool fits = left >= Bytes{};
  const std::string rank =
      metrics.memory.size() == 1 ? "" : fmt::format(" on rank {}", &peak - metrics.memory.data());
  return fmt::format("peak {}{} of {} ({} {}), at {} in \"{}\" of layer {}, micro-batch {}: {}",
                     to_text(total(peak.split)), rank, to_text(run.workload->memory),
                     to_text(fits ? left : Bytes{} - left), fits ? "left" : "too much",
                     to_text(peak.at), origin.name, origin.layer, origin.microbatch,
                     split_text(peak.split));
}

std::string memory_rows(const Metrics& metrics) {
  const std::size_t ranks = metrics.memory.size();
  if (ranks < 2) return "";
  std::vector<std::string> head = {"peak memory"};
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) head.emplace_back(name_of(kind));
  std::string text = "\n" + row("rank", head);
  for (std::size_t rank = 0; rank < std::min(ranks, kMostRanks); ++rank) {
    const MemorySplit& split = metrics.memory[rank].split;
    std::vector<std::string> cells = {to_text(total(split))};
    for (const Bytes bytes : split) cells.push_back(to_text(bytes));
    text += row(fmt::format("{}", rank), cells);
  }
  if (ranks > kMostRanks) text += fmt::format("… and {} more\n", ranks - kMostRanks);
  return text;
}

Object memory_fields(const Run& run, const MemoryPeak& peak) {
  const Origin& origin = origin_of(run, peak);
  Object memory{{"at_s", peak.at / Seconds{1}},
                {"op", origin.name},
                {"pass", std::string(to_text(origin.pass))},
                {"layer", origin.layer},
                {"microbatch", origin.microbatch},
                {"stage", origin.stage}};
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
    memory.emplace_back(std::string(name_of(kind)) + "_bytes", peak.split[kind] / Bytes{1});
  return memory;
}

void memory_counters(const Run& run, const std::function<void(Object)>& add) {
  std::int64_t device = 0;
  for (const std::vector<MemoryPoint>& points : memory_timelines(run.graph, run.timeline)) {
    for (const MemoryPoint& point : points) {
      Object split;
      for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
        split.emplace_back(std::string(name_of(kind)), point.split[kind] / Bytes{1 << 30});
      add(Object{{"ph", "C"},
                 {"name", "memory in GiB"},
                 {"pid", device},
                 {"ts", point.at / Seconds{1e-6}},
                 {"args", std::move(split)}});
    }
    ++device;
  }
}

}  // namespace shardsim
