#include <algorithm>
#include <limits>

#include "report/schedule_run.h"

namespace shardsim {

namespace {

int transfers_of(const Schedule& schedule) {
  int transfers = 0;
  for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
    for (int stage = 0; stage + 1 < schedule.stages(); ++stage) {
      const bool crosses =
          schedule.rank_of(microbatch, stage) != schedule.rank_of(microbatch, stage + 1);
      transfers += crosses ? 2 : 0;  // the activation, and its gradient back
    }
  }
  return transfers;
}

}  // namespace

ScheduleMetrics measure_schedule(const Schedule& schedule, const OpGraph& graph,
                                 const Timeline& timeline) {
  ScheduleMetrics metrics;
  metrics.makespan = timeline.makespan();
  metrics.parameter_copies = parameter_copies(schedule.placement);
  metrics.transfers = transfers_of(schedule);
  constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
  metrics.ranks.assign(schedule.programs.size(), {.first = kNever});
  for (std::size_t op = 0; op < graph.size(); ++op) {
    RankUse& use = metrics.ranks[graph.ops[op].device];
    if (graph.ops[op].kind == OpKind::delay) continue;
    use.last = std::max(use.last, timeline.end[op]);
    if (graph.ops[op].kind != OpKind::compute) continue;
    use.first = std::min(use.first, timeline.start[op]);
    use.busy += timeline.end[op] - timeline.start[op];
  }
  const std::vector<PeakActivations> peaks = peak_activations(schedule);
  Seconds busy;
  for (std::size_t rank = 0; rank < metrics.ranks.size(); ++rank) {
    metrics.ranks[rank].peak = peaks[rank];
    metrics.max_span = std::max(metrics.max_span, metrics.ranks[rank].span());
    busy += metrics.ranks[rank].busy / static_cast<double>(metrics.ranks.size());
  }
  if (metrics.makespan > Seconds{0}) metrics.makespan_bubble = 1 - busy / metrics.makespan;
  if (metrics.max_span > Seconds{0}) metrics.span_bubble = 1 - busy / metrics.max_span;
  return metrics;
}

}  // namespace shardsim
