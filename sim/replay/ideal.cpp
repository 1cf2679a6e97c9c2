// The ideal engine: every phase of every collective as if it ran alone on the network.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "replay/replay.h"
#include "replay/walk.h"

namespace shardsim {

namespace {

bool moves_bytes(const Op& op) {
  return op.kind == OpKind::transfer && op.bytes > Bytes{0};
}

// The ops that move bytes, phase by phase, in id order within a phase.
std::vector<std::uint32_t> flows_by_phase(const OpGraph& graph) {
  std::vector<std::uint32_t> flows;
  bool sorted = true;
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (!moves_bytes(graph.ops[op])) continue;
    sorted = sorted && (flows.empty() || graph.ops[flows.back()].phase <= graph.ops[op].phase);
    flows.push_back(op);
  }
  if (sorted) return flows;
  std::vector<std::uint32_t> next(graph.phases + std::size_t{1}, 0);  // counting sort
  for (const std::uint32_t op : flows) ++next[graph.ops[op].phase + std::size_t{1}];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::uint32_t> by_phase(flows.size());
  for (const std::uint32_t op : flows) by_phase[next[graph.ops[op].phase]++] = op;
  return by_phase;
}

// Adds to each flow of one phase the time that the phase needs on the flow's most loaded link.
// `load` [links] is zero before and after.
void add_phase(const OpGraph& graph, std::span<const std::uint32_t> flows,
               std::vector<Seconds>& load, std::vector<Seconds>& duration) {
  for (const std::uint32_t op : flows)
    for (const std::uint32_t link : graph.route(graph.ops[op].route))
      load[link] += graph.ops[op].bytes / graph.links[link].bandwidth;
  for (const std::uint32_t op : flows) {
    Seconds slowest;
    for (const std::uint32_t link : graph.route(graph.ops[op].route))
      slowest = std::max(slowest, load[link]);
    duration[op] += slowest;
  }
  for (const std::uint32_t op : flows)
    for (const std::uint32_t link : graph.route(graph.ops[op].route)) load[link] = Seconds{};
}

}  // namespace

Timeline replay_ideal(const OpGraph& graph) {
  std::vector<Seconds> duration = own_times(graph);
  std::vector<Seconds> load(graph.links.size());
  {
    const std::vector<std::uint32_t> flows = flows_by_phase(graph);
    for (std::size_t first = 0; first < flows.size();) {
      std::size_t last = first;
      while (last < flows.size() && graph.ops[flows[last]].phase == graph.ops[flows[first]].phase)
        ++last;
      add_phase(graph, std::span(flows).subspan(first, last - first), load, duration);
      first = last;
    }
  }
  Timeline timeline = longest_path(graph, std::move(duration));
  throw_if_stuck(graph, timeline);
  return timeline;
}

}  // namespace shardsim
