#include "plan/plan_time.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
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

// Loads of links while one phase is on them.
class Loads {
 public:
  Loads(const OpGraph& graph, Bytes bytes)
      : graph_(graph), bytes_(bytes), phase_(graph.links.size()) {}

  Seconds on(std::uint32_t link, const Op& op) const {
    return bytes_ * (op.bytes / kTemplateBytes) / graph_.links[link].bandwidth;
  }
  void add(const Op& op) {
    for (const std::uint32_t link : graph_.route(op.route)) phase_[link] += on(link, op);
  }
  Seconds busiest_of(const Op& op) const {
    Seconds most;
    for (const std::uint32_t link : graph_.route(op.route)) most = std::max(most, phase_[link]);
    return most;
  }
  void end_phase(const Op& op) {
    for (const std::uint32_t link : graph_.route(op.route)) phase_[link] = Seconds{};
  }

 private:
  const OpGraph& graph_;
  Bytes bytes_;
  std::vector<Seconds> phase_;  // [links]
};

// How long the chains of ops are that lead to each and go on from it, when every op takes `takes`.
struct Chains {
  std::vector<Seconds> before, after;  // [ops] without the op itself
};

Chains chains(const CollectiveTemplate& made, const std::vector<Seconds>& takes) {
  Chains found{std::vector<Seconds>(takes.size()), std::vector<Seconds>(takes.size())};
  const auto waits = [&](std::size_t i) {
    return std::span(made.waits)
        .subspan(made.wait_offset[i], made.wait_offset[i + 1] - made.wait_offset[i]);
  };
  for (std::size_t i = 0; i < takes.size(); ++i)
    for (const std::uint32_t w : waits(i))
      found.before[i] = std::max(found.before[i], found.before[w] + takes[w]);
  for (std::size_t i = takes.size(); i-- > 0;)
    for (const std::uint32_t w : waits(i))
      found.after[w] = std::max(found.after[w], found.after[i] + takes[i]);
  return found;
}

// Of one link: what it carries, the earliest that it begins, the least that follows its last send.
struct Busy {
  Seconds load, before, after;
};

// No link is done before it has carried everything: one-machine bound (Carlier 1982).
Seconds longest_busy(const CollectiveTemplate& made, const OpGraph& graph, const Loads& loads,
                     const Chains& chains) {
  std::vector<std::optional<Busy>> busy(graph.links.size());
  for (std::size_t i = 0; i < made.ops.size(); ++i) {
    const Op op = made.op(i);
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : graph.route(op.route)) {
      if (!busy[link]) busy[link] = Busy{{}, chains.before[i], chains.after[i]};
      busy[link]->load += loads.on(link, op);
      busy[link]->before = std::min(busy[link]->before, chains.before[i]);
      busy[link]->after = std::min(busy[link]->after, chains.after[i]);
    }
  }
  Seconds longest;
  for (const std::optional<Busy>& link : busy)
    if (link) longest = std::max(longest, link->before + link->load + link->after);
  return longest;
}

}  // namespace

Seconds plan_time(const CollectivePlan& plan, const Cluster& cluster, const GroupNet& net,
                  Bytes bytes) {
  GraphBuilder builder(cluster, Fold::full(cluster));
  const CollectiveTemplate made = flow_template(builder, plan, net, UnlikePhases::of_plan);
  const OpGraph graph = builder.take();
  Loads loads(graph, bytes);
  std::vector<Seconds> takes(made.ops.size());
  const std::vector<std::uint32_t> order = by_phase(made);
  const auto sends = [&](std::uint32_t i) { return made.op(i).kind == OpKind::transfer; };
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && made.ops[order[last]].phase == made.ops[order[first]].phase)
      ++last;
    const std::span<const std::uint32_t> phase(order.data() + first, last - first);
    for (const std::uint32_t i : phase)
      if (sends(i)) loads.add(made.op(i));
    for (const std::uint32_t i : phase) {
      if (made.op(i).kind != OpKind::join) takes[i] = made.op(i).seconds;
      if (sends(i)) takes[i] += loads.busiest_of(made.op(i));
    }
    for (const std::uint32_t i : phase)
      if (sends(i)) loads.end_phase(made.op(i));
  }
  const Chains chain = chains(made, takes);
  Seconds latest = longest_busy(made, graph, loads, chain);
  for (std::size_t i = 0; i < takes.size(); ++i)
    latest = std::max(latest, chain.before[i] + takes[i]);
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
