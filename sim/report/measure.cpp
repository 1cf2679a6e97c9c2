#include <algorithm>

#include "report/critical_path.h"
#include "report/device_use.h"

namespace shardsim {

namespace {

Seconds at(const std::vector<Seconds>& times, OpId op) {
  return times[static_cast<std::size_t>(op)];
}

std::vector<LinkLoad> link_loads(const Run& run, Seconds step) {
  std::vector<Bytes> bytes(run.graph.links.size());
  for (const Op& op : run.graph.ops) {
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : run.graph.route(op.route)) bytes[link] += op.bytes;
  }
  std::vector<LinkLoad> loads;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == Bytes{}) continue;
    const NetLink& link = run.graph.links[i];
    loads.push_back({link.name, link.bandwidth, bytes[i],
                     step == Seconds{} ? 0.0 : bytes[i] / (link.bandwidth * step)});
  }
  std::stable_sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation > b.utilisation;
  });
  return loads;
}

std::vector<Seconds> collective_times(const Run& run) {
  std::vector<Seconds> times;
  for (const CollectiveInstance& c : run.plan.collectives) {
    Seconds sum;
    for (const Occurrence& once : c.times) {
      if (once.begin.empty()) continue;
      Seconds first = at(run.timeline.end, once.begin.front()), last;
      for (std::size_t g = 0; g < once.begin.size(); ++g) {
        first = std::min(first, at(run.timeline.end, once.begin[g]));
        last = std::max(last, at(run.timeline.end, once.end[g]));
      }
      sum += last - first;
    }
    times.push_back(sum);
  }
  return times;
}

constexpr const char* kPasses[] = {"forward", "backward", kOptimizer};

// Which of the passes an op belongs to; -1: to none.
int pass_of(const Run& run, const Op& op) {
  const Origin& origin = run.graph.origins[op.origin];
  const bool counts =
      op.kind == OpKind::compute || (op.kind == OpKind::transfer && origin.collective >= 0);
  if (!counts) return -1;
  if (origin.purpose == Purpose::optimizer) return 2;
  return origin.pass == Pass::forward ? 0 : 1;
}

std::vector<PassTime> pass_times(const Run& run) {
  constexpr Seconds kNever{-1};
  PassTime all[3];
  for (PassTime& pass : all) pass.end = kNever;
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const int number = pass_of(run, run.graph.ops[i]);
    if (number < 0) continue;
    PassTime& pass = all[number];
    const Seconds start = run.timeline.start[i];
    pass.start = pass.end == kNever ? start : std::min(pass.start, start);
    pass.end = std::max(pass.end, run.timeline.end[i]);
  }
  std::vector<PassTime> passes;
  for (int number = 0; number < 3; ++number) {
    if (all[number].end == kNever) continue;
    passes.push_back({kPasses[number], all[number].start, all[number].end});
  }
  return passes;
}

// Returns the rank that ends last.
std::size_t measure_ranks(const std::vector<UseTimes>& uses, Metrics& metrics) {
  Seconds busy, longest;
  std::size_t last = 0;
  for (std::size_t rank = 0; rank < uses.size(); ++rank) {
    const UseTimes& use = uses[rank];
    metrics.ranks.push_back({use.compute, use.exposed, use.busy, use.first, use.last});
    for (const CommunicatorTime& c : use.communicators)
      metrics.longest_communicator = std::max(metrics.longest_communicator, c.time);
    busy += use.busy / static_cast<double>(uses.size());
    longest = std::max(longest, metrics.ranks.back().span());
    if (use.last > uses[last].last) last = rank;
  }
  const UseTimes& device = uses[last];
  const bool pipeline = uses.size() > 1;
  metrics.compute = device.compute;
  metrics.comm = device.comm;
  metrics.exposed = device.exposed;
  metrics.bubble = pipeline ? device.idle : Seconds{};
  metrics.rest = pipeline ? device.waiting : device.idle + device.waiting;
  metrics.communicators = device.communicators;
  if (pipeline && metrics.step > Seconds{}) metrics.makespan_bubble = 1 - busy / metrics.step;
  if (pipeline && longest > Seconds{}) metrics.span_bubble = 1 - busy / longest;
  return last;
}

void measure_speed(const Run& run, Metrics& metrics) {
  if (!run.workload || metrics.step == Seconds{}) return;
  const Workload& work = *run.workload;
  const auto share = [&](Flops flops) {
    return flops / metrics.step / (work.peak * static_cast<double>(run.plan.cluster.devices()));
  };
  metrics.mfu = share(work.model);
  metrics.mfu_all_scores = share(work.model_all_scores);
  metrics.hfu = share(work.executed);
  metrics.hfu_all_scores = share(work.executed_all_scores);
  if (work.head > Flops{}) metrics.mfu_without_head = share(work.model - work.head);
  if (work.tokens == 0) return;
  metrics.tokens_per_s = work.tokens / (metrics.step / Seconds{1});
  if (work.training_tokens) metrics.training = metrics.step * (*work.training_tokens / work.tokens);
}

}  // namespace

Metrics measure(const Run& run) {
  Metrics metrics;
  metrics.step = run.timeline.makespan();
  const std::vector<DeviceUse> uses = device_uses(run);
  std::vector<UseTimes> times;
  for (const DeviceUse& use : uses) times.push_back(times_of(use, metrics.step));
  const std::size_t last = measure_ranks(times, metrics);
  metrics.computes = compute_kinds(run, uses[last].device);
  metrics.critical_path = critical_path(run);
  metrics.passes = pass_times(run);
  metrics.collective_time = collective_times(run);
  metrics.memory = memory_peaks(run.graph, run.timeline, run.plan.ranks);
  if (run.workload && !metrics.memory.empty()) {
    metrics.memory_left = run.workload->memory - total(highest(metrics.memory).split);
  }
  metrics.links = link_loads(run, metrics.step);
  measure_speed(run, metrics);
  return metrics;
}

}  // namespace shardsim
