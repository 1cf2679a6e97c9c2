// Searched schedules beside those that the authors' code found (tests/theory/data/pipeline).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "../support/schedule_vectors.h"
#include "replay/replay.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

// What a kind may be behind in the worst row, and in how many rows, of `rows`.
struct Allowed {
  std::string kind;
  int rows, behind;
  double worst;  // relative
};

int most(const std::vector<PeakActivations>& peaks, int PeakActivations::*count) {
  int value = 0;
  for (const PeakActivations& peak : peaks) value = std::max(value, peak.*count);
  return value;
}

double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

TEST_CASE("searched schedules: legal, and no longer nor larger than the authors' own") {
  const std::vector<Allowed> kinds = {{"zb_auto_1p", 43, 0, 0}, {"zb_auto_2p", 41, 0, 0},
                                      {"zbv_auto", 38, 0, 0},   {"v_half", 220, 0, 0},
                                      {"v_min", 240, 0, 0},     {"v_1f1b", 320, 0, 0}};
  std::map<std::string, VectorRow> orders, memory;
  for (const VectorRow& row : vector_rows("orders.csv")) orders[row.at("id")] = row;
  for (const VectorRow& row : vector_rows("memory.csv")) memory[row.at("id")] = row;
  const std::vector<VectorRow> timings = vector_rows("timings.csv");
  const char* only = std::getenv("SHARDSIM_SEARCH_ROWS");
  for (const Allowed& allowed : kinds) {
    CAPTURE(allowed.kind);
    int rows = 0, behind = 0, larger = 0;
    double worst = 0;
    for (const VectorRow& row : timings) {
      const std::string& id = row.at("id");
      if (orders[id].at("schedule") != allowed.kind) continue;
      if (only != nullptr && id.find(only) == std::string::npos) continue;
      ++rows;
      ScheduleAsk ask = ask_of(orders[id]);
      ask.costs = costs_of(row);
      ask.mode = row.at("comm") == "serial" ? P2pMode::serial : P2pMode::async;
      const Schedule schedule = row_named(allowed.kind)->generate(ask);
      for (const ScheduleFault& fault : check(schedule)) FAIL(fault.message);
      const OpGraph graph = lower_schedule(schedule, ask.costs, ask.mode);
      const double gap = replay_ideal(graph).makespan().v / number(row, "makespan") - 1;
      if (gap > 1e-9) {
        ++behind;
        if (only != nullptr)
          MESSAGE(id << " c" << row.at("tC") << " F" << row.at("tF") << " W" << row.at("tW") << " "
                     << row.at("comm") << " " << gap * 100 << "%");
      }
      worst = std::max(worst, gap);
      const std::vector<PeakActivations> peaks = peak_activations(schedule);
      const bool weighted = schedule.placement == Placement::linear;
      const int peak = weighted ? most(peaks, &PeakActivations::weighted)
                                : most(peaks, &PeakActivations::until_weight);
      const double allowed_peak = most(numbers(
          memory[id].at(weighted ? "per_rank_peak_MB2_MW1" : "per_rank_peak_free_at_B_or_W")));
      larger += peak > allowed_peak ? 1 : 0;
    }
    MESSAGE(allowed.kind << ": " << behind << " of " << rows << " rows behind, by " << worst * 100
                         << " % at most; " << larger << " with a larger peak");
  }
}

}  // namespace shardsim
