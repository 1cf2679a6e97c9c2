#include "plan/plan_time.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/file.h"
#include "plan/collective_template.h"
#include "plan/graph_builder.h"

namespace shardsim {

namespace {

constexpr double kMostSends = 5e5;  // of all candidates: about a second

// Template ops phase by phase, in order within a phase.
std::vector<std::uint32_t> by_phase(const CollectiveTemplate& made) {
  std::vector<std::uint32_t> order(made.ops.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return made.ops[a].phase < made.ops[b].phase;
  });
  return order;
}

// Loads of links while one phase is on them, and altogether.
class Loads {
 public:
  Loads(const OpGraph& graph, Bytes bytes)
      : graph_(graph), bytes_(bytes), phase_(graph.links.size()), all_(graph.links.size()) {}

  void add(const Op& op) {
    for (const std::uint32_t link : graph_.route(op.route)) {
      const Seconds time = bytes_ * (op.bytes / kTemplateBytes) / graph_.links[link].bandwidth;
      phase_[link] += time;
      all_[link] += time;
    }
  }
  Seconds busiest_of(const Op& op) const {
    Seconds most;
    for (const std::uint32_t link : graph_.route(op.route)) most = std::max(most, phase_[link]);
    return most;
  }
  void end_phase(const Op& op) {
    for (const std::uint32_t link : graph_.route(op.route)) phase_[link] = Seconds{};
  }
  Seconds busiest() const {
    return all_.empty() ? Seconds{} : *std::max_element(all_.begin(), all_.end());
  }

 private:
  const OpGraph& graph_;
  Bytes bytes_;
  std::vector<Seconds> phase_, all_;  // [links]
};

}  // namespace

Seconds plan_time(const CollectivePlan& plan, const Cluster& cluster, const GroupNet& net,
                  Bytes bytes) {
  GraphBuilder builder(cluster, Fold::full(cluster));
  const CollectiveTemplate made = flow_template(builder, plan, net, UnlikePhases::of_plan);
  const OpGraph graph = builder.take();
  Loads loads(graph, bytes);
  std::vector<Seconds> end(made.ops.size());  // at first how long each op takes
  const std::vector<std::uint32_t> order = by_phase(made);
  const auto sends = [&](std::uint32_t i) { return made.op(i).kind == OpKind::transfer; };
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && made.ops[order[last]].phase == made.ops[order[first]].phase)
      ++last;
    const std::span<const std::uint32_t> phase(order.data() + first, last - first);
    for (const std::uint32_t i : phase)
      if (sends(i)) loads.add(made.op(i));
    for (const std::uint32_t i : phase) {
      if (made.op(i).kind != OpKind::join) end[i] = made.op(i).seconds;
      if (sends(i)) end[i] += loads.busiest_of(made.op(i));
    }
    for (const std::uint32_t i : phase)
      if (sends(i)) loads.end_phase(made.op(i));
  }
  Seconds latest = loads.busiest();
  for (std::size_t i = 0; i < end.size(); ++i) {
    Seconds ready;
    for (std::uint32_t w = made.wait_offset[i]; w < made.wait_offset[i + 1]; ++w)
      ready = std::max(ready, end[made.waits[w]]);
    end[i] += ready;
    latest = std::max(latest, end[i]);
  }
  return latest;
}

std::optional<Seconds> plan_time(const AlgorithmRow& row, const CollectiveAsk& ask,
                                 const Cluster& cluster, const GroupNet& net) {
  if (!net.uneven || net.graph != nullptr) return std::nullopt;
  if (row.sends_per_rank(ask, net) * cluster.devices() > kMostSends) return std::nullopt;
  throw_if_interrupted();
  return plan_time(row.plan(ask, net, net.sizes()), cluster, net, ask.bytes);
}

std::optional<Choice> choose_by_plan_time(const CollectiveAsk& ask, const Cluster& cluster,
                                          const GroupNet& net) {
  if (!net.uneven || net.graph != nullptr) return std::nullopt;
  const std::vector<const AlgorithmRow*> rows = considered(ask, net);
  double sends = 0;
  for (const AlgorithmRow* row : rows) sends += row->sends_per_rank(ask, net) * cluster.devices();
  if (sends > kMostSends) return std::nullopt;
  return cheapest(rows, [&](const AlgorithmRow& row) {
    return plan_time(row, ask, cluster, net).value_or(Seconds{});
  });
}

}  // namespace shardsim
