#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "report/reports.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

constexpr int kWidth = 100;
constexpr std::size_t kMostRanks = 16;  // in the table of ranks

// Closed forms are compared to the last digit: six of them, in the unit of to_text.
std::string precise(Seconds time) {
  const std::string text = to_text(time);
  const std::string unit = text.substr(text.find(' ') + 1);
  const double value = time / parse_seconds("1 " + unit).value;
  return (value < 1e6 ? fmt::format("{:.6g} ", value) : fmt::format("{:.0f} ", value)) + unit;
}

// Rounding of sums makes 1 - busy/span of a rank without a bubble -1e-16.
std::string percent(double fraction) {
  if (std::isnan(fraction)) return "n/a";
  return fmt::format("{:.2f} %", 100 * std::max(fraction, 0.0));
}

std::string difference(Seconds got, Seconds expected) {
  if (expected == Seconds{}) return precise(got);
  const double relative = got / expected - 1;
  return std::abs(relative) <= 1e-9
             ? "equal to the replay"
             : fmt::format("replayed {}, {:+.2g} %", precise(got), 100 * relative);
}

// The replayed figure that a form speaks of.
Seconds replayed(const ScheduleForm& form, const ScheduleRun& run) {
  if (form.what == "makespan") return run.metrics.makespan;
  if (form.what == "max span") return run.metrics.max_span;
  // Idle time where the pipeline turns: the middle ranks, or of a V the last.
  const std::size_t ranks = run.metrics.ranks.size();
  const std::size_t middle = run.schedule.placement == Placement::v ? ranks - 1 : ranks / 2;
  return run.metrics.makespan - run.metrics.ranks[middle].busy;
}

std::string form_lines(const ScheduleForm& form, const ScheduleRun& run) {
  const Seconds got = replayed(form, run);
  std::string text =
      fmt::format("closed form of the {}: {} = {}", form.what, form.formula, precise(form.value));
  if (form.holds) {
    text += ", " + difference(got, form.value);
  } else {
    text += fmt::format(" is exact for {} only, which is not so here; replayed {}", form.condition,
                        precise(got));
  }
  text = "  " + wrapped(text + fmt::format(" ({})", form.source), kWidth - 2, 4) + "\n";
  if (!form.note.empty()) text += "    " + wrapped(form.note, kWidth - 4, 4) + "\n";
  return text;
}

Rows rank_rows(const ScheduleRun& run) {
  Rows rows = {{"  rank", "starts", "ends", "busy", "idle", "activations at most (of a chunk)"}};
  for (std::size_t rank = 0; rank < run.metrics.ranks.size(); ++rank) {
    const RankUse& use = run.metrics.ranks[rank];
    rows.push_back(
        {fmt::format("  {}", rank), precise(use.first), precise(use.last), precise(use.busy),
         precise(run.metrics.makespan - use.busy),
         fmt::format("{} until I, {} until W", use.peak.until_input, use.peak.until_weight)});
  }
  return rows;
}

std::string head(const ScheduleRun& run) {
  const Schedule& schedule = run.schedule;
  const ScheduleMetrics& metrics = run.metrics;
  std::string text =
      fmt::format("{}: {}, {}, {} ({})\n", run.kind, counted(schedule.ranks(), "rank", "ranks"),
                  counted(schedule.microbatches, "micro-batch", "micro-batches"),
                  counted(schedule.stages(), "stage", "stages"),
                  schedule.placement == Placement::dual
                      ? "both directions, two copies of the parameters"
                      : fmt::format("placement {}", to_text(schedule.placement)));
  text += fmt::format("  makespan        {:<14} bubble {}\n", precise(metrics.makespan),
                      percent(metrics.makespan_bubble));
  text += fmt::format("  longest rank    {:<14} bubble {}, from its first cell to its last\n",
                      precise(metrics.max_span), percent(metrics.span_bubble));
  return text;
}

std::string run_text(const ScheduleRun& run, const TextLook& look) {
  std::string text = head(run);
  for (const ScheduleForm& form : run.forms) text += form_lines(form, run);
  if (run.metrics.ranks.size() <= kMostRanks) text += rows_text(rank_rows(run));
  return text + schedule_picture(run, look) + "\n";
}

// Smallest and largest over the ranks, in stages.
std::string peak_text(const ScheduleRun& run) {
  const auto [least, most] = std::minmax_element(
      run.metrics.ranks.begin(), run.metrics.ranks.end(),
      [](const RankUse& a, const RankUse& b) { return a.peak.until_weight < b.peak.until_weight; });
  const double chunks = run.schedule.chunks;
  const double low = least->peak.until_weight / chunks, high = most->peak.until_weight / chunks;
  return low == high ? fmt::format("{:g}", low) : fmt::format("{:g} to {:g}", low, high);
}

std::string busy_text(const ScheduleRun& run) {
  const auto [least, most] =
      std::minmax_element(run.metrics.ranks.begin(), run.metrics.ranks.end(),
                          [](const RankUse& a, const RankUse& b) { return a.busy < b.busy; });
  // Sums of the same costs in another order are the same time.
  const bool alike = (most->busy - least->busy) / most->busy < 1e-9;
  return alike ? precise(most->busy)
               : fmt::format("{} to {}", precise(least->busy), precise(most->busy));
}

Rows comparison_rows(const ScheduleComparison& comparison) {
  Rows rows = {{"schedule", "makespan", "bubble", "longest rank", "bubble", "busy", "activations",
                "copies", "p2p"}};
  for (const ScheduleRun& run : comparison.runs) {
    rows.push_back({run.kind, precise(run.metrics.makespan), percent(run.metrics.makespan_bubble),
                    precise(run.metrics.max_span), percent(run.metrics.span_bubble), busy_text(run),
                    peak_text(run), fmt::format("{}", run.metrics.parameter_copies),
                    fmt::format("{:g}", static_cast<double>(run.metrics.transfers) /
                                            run.schedule.microbatches)});
  }
  return rows;
}

constexpr std::string_view kLegend =
    "Pictures: F forward, B backward, I backward for the input, W for the weights, with the "
    "micro-batch; lower case on later chunks or in the second direction; dots are idle. A bubble "
    "is "
    "1 - busy/time, busy the mean over ranks.";
constexpr std::string_view kColumns =
    "activations: of one stage and micro-batch, held until W, on the rank with fewest and most; "
    "copies: of the parameters; p2p: transfers of a micro-batch between ranks.";

}  // namespace

std::string schedule_text(const ScheduleComparison& comparison, const TextLook& look) {
  std::string text;
  for (const ScheduleRun& run : comparison.runs) text += run_text(run, look);
  if (comparison.runs.size() > 1) {
    text += rows_text(comparison_rows(comparison));
    text += wrapped(kColumns, kWidth, 0) + "\n";
  }
  text += wrapped(kLegend, kWidth, 0) + "\n";
  return text + assumption_lines(comparison.assumptions);
}

}  // namespace shardsim
