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

std::size_t last_op(const Timeline& timeline) {
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  return static_cast<std::size_t>(last - timeline.end.begin());
}

}  // namespace

std::vector<KindTime> critical_path(const Run& run) {
  const std::vector<Seconds>&start = run.timeline.start, &end = run.timeline.end;
  Sums sums;
  if (end.empty()) return {};
  for (std::size_t op = last_op(run.timeline);;) {
    sums.add(kind_of(run, run.graph.ops[op]), end[op] - start[op]);
    std::size_t before = run.graph.size();
    for (const OpId dep : run.graph.waits_for(OpId{static_cast<std::uint32_t>(op)})) {
      const auto d = static_cast<std::size_t>(dep);
      if (before == run.graph.size() || end[d] > end[before]) before = d;
    }
    if (before == run.graph.size()) {
      sums.add(kWaiting, start[op]);
      break;
    }
    sums.add(kWaiting, start[op] - end[before]);
    op = before;
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
