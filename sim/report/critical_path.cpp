#include "report/critical_path.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "report/device_use.h"

namespace shardsim {

namespace {

constexpr const char* kWaiting = "waiting";

std::string kind_of(const Run& run, const Op& op) {
  const Origin& origin = run.graph.origins[op.origin];
  if (op.kind == OpKind::transfer) {
    if (origin.to_rank >= 0) return kPipeline;
    if (origin.collective < 0) return origin.stream;
    return collectives_over(
        communicator_of(run.plan.collectives[static_cast<std::size_t>(origin.collective)]));
  }
  if (op.kind != OpKind::compute) return kWaiting;
  switch (origin.purpose) {
    case Purpose::again:
      return kRecompute;
    case Purpose::optimizer:
      return kOptimizer;
    case Purpose::pass:
      break;
  }
  return origin.pass == Pass::forward ? "compute, forward" : "compute, backward";
}

class Sums {
 public:
  void add(std::string_view kind, Seconds time) {
    if (time == Seconds{}) return;
    for (KindTime& one : sums_) {
      if (one.kind != kind) continue;
      one.time += time;
      return;
    }
    sums_.push_back({std::string(kind), time});
  }
  std::vector<KindTime> take() { return std::move(sums_); }

 private:
  std::vector<KindTime> sums_;
};

}  // namespace

std::optional<OpId> last_awaited(const OpGraph& graph, const Timeline& timeline, OpId op) {
  std::optional<OpId> last;
  for (const OpId dep : graph.waits_for(op)) {
    const auto ended = [&](OpId id) { return timeline.end[static_cast<std::size_t>(id)]; };
    if (!last || ended(dep) > ended(*last)) last = dep;
  }
  return last;
}

std::vector<OpId> critical_ops(const OpGraph& graph, const Timeline& timeline) {
  if (timeline.end.empty()) return {};
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  std::vector<OpId> path;
  std::optional<OpId> op = OpId{static_cast<std::uint32_t>(last - timeline.end.begin())};
  for (; op; op = last_awaited(graph, timeline, *op)) path.push_back(*op);
  return path;
}

std::vector<KindTime> critical_path(const Run& run) {
  const std::vector<Seconds>&start = run.timeline.start, &end = run.timeline.end;
  Sums sums;
  const std::vector<OpId> ops = critical_ops(run.graph, run.timeline);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto op = static_cast<std::size_t>(ops[i]);
    sums.add(kind_of(run, run.graph.ops[op]), end[op] - start[op]);
    const Seconds before =
        i + 1 < ops.size() ? end[static_cast<std::size_t>(ops[i + 1])] : Seconds{};
    sums.add(kWaiting, start[op] - before);
  }
  std::vector<KindTime> path = sums.take();
  std::stable_sort(path.begin(), path.end(),
                   [](const KindTime& a, const KindTime& b) { return a.time > b.time; });
  return path;
}

std::vector<KindTime> compute_kinds(const Run& run, std::uint32_t device) {
  Sums sums;
  for (std::size_t op = 0; op < run.graph.size(); ++op) {
    if (run.graph.ops[op].kind != OpKind::compute || run.graph.ops[op].device != device) continue;
    sums.add(kind_of(run, run.graph.ops[op]), run.timeline.end[op] - run.timeline.start[op]);
  }
  return sums.take();
}

}  // namespace shardsim
