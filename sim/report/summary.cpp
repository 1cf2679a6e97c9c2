#include <fmt/format.h>

#include <algorithm>

#include "report/memory_report.h"
#include "report/reports.h"

namespace shardsim {

namespace {

double seconds(Seconds s) {
  return s / Seconds{1};
}
double bytes(Bytes b) {
  return b / Bytes{1};
}

Json link_list(const Metrics& metrics) {
  Array links;
  for (const LinkLoad& link : metrics.links) {
    links.push_back(Object{{"link", link.name},
                           {"bandwidth_bytes_per_s", link.bandwidth / BytesPerSec{1}},
                           {"bytes", bytes(link.bytes)},
                           {"utilisation", link.utilisation}});
  }
  return links;
}

Object instance(const CollectiveInstance& c, Seconds time) {
  return Object{
      {"kind", std::string(to_text(c.kind))},
      {"algorithm", c.algorithm},
      {"axes", c.axes},
      {"devices", c.devices},
      {"bytes", bytes(c.bytes)},
      {"count", static_cast<std::int64_t>(c.times.size())},
      {"time_s", seconds(time) / static_cast<double>(std::max<std::size_t>(c.times.size(), 1))},
      {"analytic_s", seconds(c.analytic)},
      {"analytic_exact", c.exact},
      {"formula", c.formula},
      {"bandwidth_convention", c.convention},
      {"reason", c.reason}};
}

Json level_list(const Cluster& cluster) {
  Array levels;
  for (const Level& level : cluster.levels) {
    levels.push_back(Object{{"name", level.name},
                            {"kind", level.kind},
                            {"bandwidth_bytes_per_s", level.bandwidth / BytesPerSec{1}},
                            {"efficiency", level.efficiency},
                            {"latency_s", seconds(level.latency)}});
  }
  return levels;
}

Array rank_list(const Run& run, const Metrics& metrics) {
  Array ranks;
  for (std::size_t rank = 0; rank < metrics.ranks.size(); ++rank) {
    const RankTimes& r = metrics.ranks[rank];
    const bool any = rank < metrics.memory.size() && run.graph.size() > 0;
    const MemoryPeak* peak = any ? &metrics.memory[rank] : nullptr;
    ranks.push_back(Object{{"stage", static_cast<std::int64_t>(rank)},
                           {"busy_s", seconds(r.busy)},
                           {"compute_s", seconds(r.compute)},
                           {"exposed_comm_s", seconds(r.exposed)},
                           {"idle_s", seconds(metrics.step - r.busy)},
                           {"first_s", seconds(r.first)},
                           {"last_s", seconds(r.last)},
                           {"span_s", seconds(r.span())},
                           {"peak_memory_bytes", peak ? Json(bytes(total(peak->split))) : Json()},
                           {"memory", peak ? Json(memory_fields(run, *peak)) : Json()}});
  }
  return ranks;
}

Array communicator_list(const Metrics& metrics) {
  Array communicators;
  for (const CommunicatorTime& c : metrics.communicators) {
    communicators.push_back(Object{{"communicator", c.name},
                                   {"count", c.count},
                                   {"time_s", seconds(c.time)},
                                   {"exposed_s", seconds(c.exposed)},
                                   {"overlap_fraction", c.overlapped()}});
  }
  return communicators;
}

// `share` or `change`: of the step.
Array kind_list(const std::vector<KindTime>& kinds, Seconds step, const char* name, double less) {
  Array list;
  for (const KindTime& one : kinds) {
    list.push_back(
        Object{{"kind", one.kind}, {"time_s", seconds(one.time)}, {name, one.time / step - less}});
  }
  return list;
}

Array pass_list(const Metrics& metrics) {
  Array passes;
  for (const PassTime& pass : metrics.passes) {
    passes.push_back(Object{
        {"pass", pass.pass}, {"start_s", seconds(pass.start)}, {"end_s", seconds(pass.end)}});
  }
  return passes;
}

Json peak_memory(const Metrics& metrics) {
  if (metrics.memory.empty()) return nullptr;
  return bytes(total(highest(metrics.memory).split));
}

Json optional_number(const std::optional<double>& number) {
  if (!number) return nullptr;
  return *number;
}

}  // namespace

Json collective_summary(const Run& run, const Metrics& metrics) {
  Array all;
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const CollectiveInstance& c = run.plan.collectives[i];
    Object one = instance(c, metrics.collective_time[i]);
    one.emplace_back("textbook_s", seconds(c.textbook));
    one.emplace_back("textbook_formula", c.textbook_formula);
    all.push_back(std::move(one));
  }
  // The first collective's figures stand at the top, as scripts expect for a single one.
  Object result = std::get<Object>(all.front().data);
  result.insert(result.begin(), {"schema", kSchema});
  result.emplace_back("topology", run.plan.cluster.text);
  result.emplace_back("cluster_devices", run.plan.cluster.devices());
  result.emplace_back("levels", level_list(run.plan.cluster));
  result.emplace_back("step_time_s", seconds(metrics.step));
  result.emplace_back("engine", run.engine);
  result.emplace_back("grain", std::string(to_text(run.grain)));
  result.emplace_back("classes", run.plan.fold.classes());
  result.emplace_back("operations", static_cast<std::int64_t>(run.graph.size()));
  result.emplace_back("collectives", std::move(all));
  result.emplace_back("links", link_list(metrics));
  result.emplace_back("assumptions", run.plan.assumptions);
  return result;
}

Json run_summary(const Run& run, const Metrics& metrics) {
  Array collectives;
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const CollectiveInstance& c = run.plan.collectives[i];
    Object one = instance(c, metrics.collective_time[i]);
    one.emplace_back("tensor", c.tensor);
    one.emplace_back("pass", std::string(to_text(c.pass)));
    one.emplace_back("case", c.case_text);
    one.emplace_back("layer", c.times.empty() ? 0 : c.times.front().layer);
    one.emplace_back("alternatives", c.alternatives);
    collectives.push_back(std::move(one));
  }
  return Object{
      {"schema", kSchema},
      {"name", run.name},
      {"step_time_s", seconds(metrics.step)},
      {"compute_s", seconds(metrics.compute)},
      {"comm_s", seconds(metrics.comm)},
      {"exposed_comm_s", seconds(metrics.exposed)},
      {"bubble_s", seconds(metrics.bubble)},
      {"rest_s", seconds(metrics.rest)},
      {"overlap_fraction", metrics.overlapped()},
      {"bubble_fraction", metrics.makespan_bubble},
      {"span_bubble_fraction", metrics.span_bubble},
      {"mfu", optional_number(metrics.mfu)},
      {"mfu_all_scores", optional_number(metrics.mfu_all_scores)},
      {"mfu_without_head", optional_number(metrics.mfu_without_head)},
      {"hfu", optional_number(metrics.hfu)},
      {"hfu_all_scores", optional_number(metrics.hfu_all_scores)},
      {"tokens_per_s", optional_number(metrics.tokens_per_s)},
      {"training_s", metrics.training ? Json(seconds(*metrics.training)) : Json(nullptr)},
      {"chip_hours", metrics.training
                         ? Json(*metrics.training / Seconds{3600} * run.plan.cluster.devices())
                         : Json(nullptr)},
      {"peak_memory_bytes", peak_memory(metrics)},
      {"fits_memory", metrics.memory_left ? Json(*metrics.memory_left >= Bytes{}) : Json(nullptr)},
      {"memory_left_bytes",
       metrics.memory_left ? Json(bytes(*metrics.memory_left)) : Json(nullptr)},
      {"engine", run.engine},
      {"grain", std::string(to_text(run.grain))},
      {"classes", run.plan.fold.classes()},
      {"layers", run.workload ? Json(run.workload->layers) : Json(nullptr)},
      {"model_layers", run.workload ? Json(run.workload->model_layers) : Json(nullptr)},
      {"devices", run.plan.cluster.devices()},
      {"topology", run.plan.cluster.text},
      {"levels", level_list(run.plan.cluster)},
      {"operations", static_cast<std::int64_t>(run.graph.size())},
      {"collectives", std::move(collectives)},
      {"passes", pass_list(metrics)},
      {"communicators", communicator_list(metrics)},
      {"critical_path", kind_list(metrics.critical_path, metrics.step, "share", 0)},
      {"what_if", kind_list(metrics.what_if, metrics.step, "change", 1)},
      {"stages", rank_list(run, metrics)},
      {"links", link_list(metrics)},
      {"assumptions", run.plan.assumptions}};
}

}  // namespace shardsim
