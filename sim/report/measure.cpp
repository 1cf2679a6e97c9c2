#include <algorithm>

#include "report/run.h"

namespace shardsim {

namespace {

struct Interval {
  Seconds from, to;
};

// Sorted, without overlaps.
std::vector<Interval> merged(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  std::vector<Interval> result;
  for (const Interval& i : all) {
    if (!result.empty() && i.from <= result.back().to) {
      result.back().to = std::max(result.back().to, i.to);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

Seconds length(const std::vector<Interval>& intervals) {
  Seconds sum;
  for (const Interval& i : intervals) sum += i.to - i.from;
  return sum;
}

// The length of a outside b; both sorted, without overlaps.
Seconds outside(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Seconds covered;
  std::size_t j = 0;
  for (const Interval& i : a) {
    while (j < b.size() && b[j].to <= i.from) ++j;
    for (std::size_t k = j; k < b.size() && b[k].from < i.to; ++k) {
      covered += std::min(i.to, b[k].to) - std::max(i.from, b[k].from);
    }
  }
  return length(a) - covered;
}

Seconds at(const std::vector<Seconds>& times, OpId op) {
  return times[static_cast<std::size_t>(op)];
}

// Class of the op that ends last, among ops that take time.
std::uint32_t last_class(const Run& run) {
  std::uint32_t best = 0;
  Seconds latest{-1};
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    if (run.timeline.end[i] > latest) {
      latest = run.timeline.end[i];
      best = run.graph.ops[i].device;
    }
  }
  return best;
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

}  // namespace

Metrics measure(const Run& run) {
  Metrics metrics;
  metrics.step = run.timeline.makespan();
  const std::uint32_t device = last_class(run);
  std::vector<Interval> compute, comm;
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind == OpKind::compute && op.device == device) {
      compute.push_back({run.timeline.start[i], run.timeline.end[i]});
    }
  }
  for (const CollectiveInstance& c : run.plan.collectives) {
    Seconds sum;
    for (const Occurrence& once : c.times) {
      Seconds first = metrics.step, last;
      for (std::size_t g = 0; g < once.begin.size(); ++g) {
        first = std::min(first, at(run.timeline.end, once.begin[g]));
        last = std::max(last, at(run.timeline.end, once.end[g]));
        comm.push_back({at(run.timeline.end, once.begin[g]), at(run.timeline.end, once.end[g])});
      }
      sum += std::max(last - first, Seconds{0});
    }
    metrics.collective_time.push_back(sum);
  }
  compute = merged(std::move(compute));
  comm = merged(std::move(comm));
  metrics.compute = length(compute);
  metrics.comm = length(comm);
  metrics.exposed = outside(comm, compute);
  metrics.rest = metrics.step - metrics.compute - metrics.exposed;
  metrics.memory = memory_peaks(run.graph, run.timeline, run.plan.ranks);
  if (run.workload && !metrics.memory.empty()) {
    metrics.memory_left = run.workload->memory - total(highest(metrics.memory).split);
  }
  metrics.links = link_loads(run, metrics.step);
  if (run.workload && metrics.step > Seconds{}) {
    const double devices = run.plan.cluster.devices();
    metrics.mfu = run.workload->model_flops / metrics.step / (run.workload->peak * devices);
    if (run.workload->tokens > 0) {
      metrics.tokens_per_s = run.workload->tokens / (metrics.step / Seconds{1});
    }
  }
  return metrics;
}

}  // namespace shardsim
