// What lies in the memory of devices over the time of a step: OpGraph::memory laid on a timeline.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "ir/timeline.h"

namespace shardsim {

inline constexpr std::size_t kMemoryKinds = static_cast<std::size_t>(MemoryKind::count);
using MemorySplit = std::array<Bytes, kMemoryKinds>;  // [MemoryKind]
Bytes total(const MemorySplit& split);

// From `at` on. What is given back at a time goes before what is taken then.
struct MemoryPoint {
  Seconds at;
  MemorySplit split = {};
  OpId op = {};  // that made the last change
};
// One point for each time at which the memory of a device of the class changes.
std::vector<MemoryPoint> memory_timeline(const OpGraph& graph, const Timeline& timeline,
                                         std::uint32_t device);
// [device classes]
std::vector<std::vector<MemoryPoint>> memory_timelines(const OpGraph& graph,
                                                       const Timeline& timeline);

// The point with the most of all devices of these classes; the first such, by time and class.
// Without changes: nothing, at 0.
struct MemoryPeak : MemoryPoint {
  std::uint32_t device = 0;
};
// One for each rank of a pipeline, whose classes are given.
std::vector<MemoryPeak> memory_peaks(const OpGraph& graph, const Timeline& timeline,
                                     const std::vector<std::vector<std::uint32_t>>& ranks);

// The first of the highest. REQUIRES: there is one.
const MemoryPeak& highest(const std::vector<MemoryPeak>& peaks);

}  // namespace shardsim
