#include "command/compare_overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/progress.h"
#include "command/what_if.h"
#include "report/reports.h"
#include "report/table_parts.h"

namespace shardsim {

namespace {

ComparedRun row_of(std::string name, const Metrics& metrics) {
  ComparedRun row{std::move(name), metrics.step,         metrics.exposed,
                  metrics.mfu,     metrics.overlapped(), {}};
  if (!metrics.memory.empty()) row.peak_memory = total(highest(metrics.memory).split);
  return row;
}

std::string bound_text(const Comparison& c) {
  const bool compute = c.compute_bound >= c.communicator_bound;
  return fmt::format(
      "perfectly overlapped is a bound: the larger of the step with all communication free ({}{}) "
      "and of the longest time of one communicator on a rank when nothing overlaps ({}{})",
      to_text(c.compute_bound), compute ? ", this one" : "", to_text(c.communicator_bound),
      compute ? "" : ", this one");
}

}  // namespace

Comparison compare_overlap(const RunSpec& spec, const Simulation& how, bool draw) {
  Comparison result;
  result.name = spec.name.value;
  Progress progress("runs replayed", 3);
  RunSpec bare = spec;
  bare.overlap = {};
  const Run bare_run = simulate(bare, prepare(bare), how);
  const Metrics nothing = measure(bare_run);
  result.runs.push_back(row_of("nothing overlapped", nothing));
  progress.at(1);
  Run run = simulate(spec, prepare(spec), how);
  const Metrics configured = measure(run);
  result.runs.push_back(row_of("as configured", configured));
  progress.at(2);
  if (draw) {
    const NamedRun both[] = {{result.runs[0].name, bare_run, nothing},
                             {result.runs[1].name, run, configured}};
    result.picture = picture_of(result.name, both);
  }
  result.compute_bound = step_without_communication(run, *how.engine);
  result.communicator_bound = nothing.longest_communicator;
  ComparedRun bound{"perfectly overlapped",
                    std::max(result.compute_bound, result.communicator_bound),
                    {},
                    {},
                    {},
                    {}};
  if (configured.mfu) bound.mfu = *configured.mfu * (configured.step / bound.step);
  result.runs.push_back(std::move(bound));
  result.assumptions = run.plan.assumptions;
  result.assumptions.emplace_back(
      "nothing overlapped is without overlap:; what the schedule itself lets run at once stays "
      "(transfers that are async, cells of a forward and a backward)");
  result.assumptions.push_back(bound_text(result));
  return result;
}

std::string comparison_text(const Comparison& comparison) {
  constexpr const char* kRow = "{:<22} {:>12} {:>10} {:>14} {:>8} {:>8} {:>12}";
  const Seconds configured = comparison.runs[1].step;
  std::string text = cut(printable(comparison.name), kTableWidth) + "\n\n";
  text += fmt::format(kRow, "overlap", "step time", "", "exposed comm", "hidden", "MFU",
                      "peak memory") +
          "\n";
  for (const ComparedRun& run : comparison.runs) {
    const double change = run.step / configured - 1;
    const std::string step = change == 0 ? "" : fmt::format("{:+.1f} %", 100 * change);
    text += without_end(fmt::format(
                kRow, run.name, to_text(run.step), step, run.exposed ? to_text(*run.exposed) : "",
                run.overlapped ? percent(*run.overlapped) : "", run.mfu ? percent(*run.mfu) : "",
                run.peak_memory ? to_text(*run.peak_memory) : "")) +
            "\n";
  }
  return text + assumption_lines(comparison.assumptions);
}

Json comparison_json(const Comparison& comparison) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Array runs;
  for (const ComparedRun& run : comparison.runs) {
    runs.push_back(
        Object{{"overlap", run.name},
               {"step_time_s", run.step / Seconds{1}},
               {"exposed_comm_s", run.exposed ? Json(*run.exposed / Seconds{1}) : Json(nullptr)},
               {"overlap_fraction", number(run.overlapped)},
               {"mfu", number(run.mfu)},
               {"peak_memory_bytes",
                run.peak_memory ? Json(*run.peak_memory / Bytes{1}) : Json(nullptr)}});
  }
  return Object{{"schema", kSchema},
                {"name", comparison.name},
                {"runs", std::move(runs)},
                {"free_communication_s", comparison.compute_bound / Seconds{1}},
                {"longest_communicator_s", comparison.communicator_bound / Seconds{1}},
                {"assumptions", comparison.assumptions}};
}

}  // namespace shardsim
