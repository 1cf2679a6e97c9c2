#include "command/what_if.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/progress.h"
#include "report/device_use.h"

namespace shardsim {

namespace {

// A cost and the ops that are it.
struct Cost {
  std::string kind;
  std::function<bool(const Op&, const Origin&)> is;
};

Cost collectives(const Run& run, const std::string& communicator) {
  std::vector<bool> mine;
  for (const CollectiveInstance& c : run.plan.collectives)
    mine.push_back(communicator_of(c) == communicator);
  return {collectives_over(communicator), [mine](const Op&, const Origin& origin) {
            return origin.collective >= 0 && mine[static_cast<std::size_t>(origin.collective)];
          }};
}

// Costs that need no name of a communicator.
std::vector<Cost> fixed_costs() {
  const auto computes = [](const Op& op) { return op.kind == OpKind::compute; };
  return {
      {kPipeline, [](const Op&, const Origin& origin) { return origin.to_rank >= 0; }},
      {kRecompute,
       [](const Op&, const Origin& origin) { return origin.purpose == Purpose::again; }},
      {kMemoryBound,
       [computes](const Op& op, const Origin& origin) {
         return computes(op) && origin.memory_bound && origin.purpose != Purpose::optimizer;
       }},
      {kOptimizer,
       [computes](const Op& op, const Origin& origin) {
         return computes(op) && origin.purpose == Purpose::optimizer;
       }},
  };
}

// Whether there was any.
bool make_free(const Cost& cost, OpGraph& graph) {
  bool any = false;
  for (Op& op : graph.ops) {
    if (!cost.is(op, graph.origins[op.origin])) continue;
    any = any || op.seconds > Seconds{} || op.bytes > Bytes{};
    op.seconds = {};
    op.bytes = {};
  }
  return any;
}

}  // namespace

Seconds step_without_communication(Run& run, const EngineRow& engine) {
  const std::vector<Op> ops = run.graph.ops;
  make_free({"", [](const Op& op, const Origin&) { return op.kind == OpKind::transfer; }},
            run.graph);
  const Seconds step = engine.run(run.graph).makespan();
  run.graph.ops = ops;
  return step;
}

std::vector<KindTime> what_ifs(Run& run, const EngineRow& engine) {
  std::vector<Cost> costs = fixed_costs();
  std::set<std::string> communicators;
  for (const CollectiveInstance& c : run.plan.collectives) communicators.insert(communicator_of(c));
  for (const std::string& name : communicators) costs.push_back(collectives(run, name));
  const std::vector<Op> ops = run.graph.ops;
  std::vector<KindTime> result;
  Progress progress("costs made free", costs.size());
  std::uint64_t done = 0;
  for (const Cost& cost : costs) {
    if (make_free(cost, run.graph)) {
      result.push_back({cost.kind, engine.run(run.graph).makespan()});
    }
    run.graph.ops = ops;
    progress.at(++done);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const KindTime& a, const KindTime& b) { return a.time < b.time; });
  return result;
}

}  // namespace shardsim
