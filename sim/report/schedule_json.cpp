#include <utility>

#include "report/reports.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

double seconds(Seconds s) {
  return s / Seconds{1};
}

Array rank_list(const ScheduleRun& run) {
  Array ranks;
  for (std::size_t rank = 0; rank < run.metrics.ranks.size(); ++rank) {
    const RankUse& use = run.metrics.ranks[rank];
    ranks.push_back(Object{{"rank", static_cast<int>(rank)},
                           {"busy_s", seconds(use.busy)},
                           {"idle_s", seconds(run.metrics.makespan - use.busy)},
                           {"first_s", seconds(use.first)},
                           {"last_s", seconds(use.last)},
                           {"span_s", seconds(use.span())},
                           {"peak_activations", use.peak.until_input},
                           {"peak_activations_until_weight", use.peak.until_weight},
                           {"peak_activations_weighted", use.peak.weighted},
                           {"order", order_text(run.schedule.programs[rank])}});
  }
  return ranks;
}

Array form_list(const ScheduleRun& run) {
  Array forms;
  for (const ScheduleForm& form : run.forms) {
    forms.push_back(Object{{"what", std::string(form.what)},
                           {"formula", std::string(form.formula)},
                           {"value_s", seconds(form.value)},
                           {"condition", std::string(form.condition)},
                           {"holds", form.holds},
                           {"source", std::string(form.source)},
                           {"note", std::string(form.note)}});
  }
  return forms;
}

}  // namespace

Object schedule_object(const ScheduleRun& run, const std::string& p2p_mode) {
  const CellCosts& costs = run.costs;
  return Object{{"kind", run.kind},
                {"stages", run.schedule.ranks()},
                {"microbatches", run.schedule.microbatches},
                {"chunks", run.schedule.chunks},
                {"placement", std::string(to_text(run.schedule.placement))},
                {"parameter_copies", run.metrics.parameter_copies},
                {"p2p_mode", p2p_mode},
                {"costs_of_a_cell", Object{{"forward_s", seconds(costs.forward)},
                                           {"backward_s", seconds(costs.backward)},
                                           {"backward_input_s", seconds(costs.backward_input)},
                                           {"backward_weight_s", seconds(costs.backward_weight)},
                                           {"overlapped_s", seconds(costs.overlapped)},
                                           {"p2p_s", seconds(costs.p2p)}}},
                {"makespan_s", seconds(run.metrics.makespan)},
                {"max_span_s", seconds(run.metrics.max_span)},
                {"makespan_bubble", run.metrics.makespan_bubble},
                {"span_bubble", run.metrics.span_bubble},
                {"p2p_transfers", run.metrics.transfers},
                {"closed_forms", form_list(run)},
                {"ranks", rank_list(run)}};
}

Json schedule_json(const ScheduleComparison& comparison) {
  Object json = {{"schema", kSchema}};
  if (comparison.runs.size() == 1) {
    for (auto& entry : schedule_object(comparison.runs.front(), comparison.p2p_mode))
      json.push_back(std::move(entry));
  } else {
    Array runs;
    for (const ScheduleRun& run : comparison.runs)
      runs.push_back(schedule_object(run, comparison.p2p_mode));
    json.emplace_back("schedules", std::move(runs));
  }
  json.emplace_back("assumptions", comparison.assumptions);
  return json;
}

}  // namespace shardsim
