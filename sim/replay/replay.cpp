#include "replay/replay.h"

#include <algorithm>
#include <array>

#include "replay/engine_process.h"
#include "replay/walk.h"

namespace shardsim {

namespace {

constexpr std::array kEngines = {
    EngineRow{"simgrid", "max-min fair sharing of every link, by SimGrid", replay_simgrid},
    EngineRow{"ideal", "each phase of each collective as if alone: a fast lower bound",
              replay_ideal},
};

bool moves_bytes(const Op& op) {
  return op.kind == OpKind::transfer && op.bytes > Bytes{0};
}

// Without a flow or a held device nothing is shared, and a longest path says it all.
Timeline replay_without_network(const OpGraph& graph) {
  return longest_path(graph, own_times(graph));
}

}  // namespace

std::span<const EngineRow> engines() {
  return kEngines;
}

Timeline replay_simgrid(const OpGraph& graph) {
  const bool shares = !graph.holds.empty() || std::ranges::any_of(graph.ops, moves_bytes);
  Timeline timeline = shares ? replay_in_process(graph) : replay_without_network(graph);
  throw_if_stuck(graph, timeline);
  return timeline;
}

}  // namespace shardsim
