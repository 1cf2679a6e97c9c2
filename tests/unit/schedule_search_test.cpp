// Searched schedules beside those that the authors' code found (tests/theory/data/pipeline).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "../support/schedule_vectors.h"
#include "plan/building_blocks.h"
#include "replay/replay.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

int most(const std::vector<PeakActivations>& peaks, int PeakActivations::*count) {
  int value = 0;
  for (const PeakActivations& peak : peaks) value = std::max(value, peak.*count);
  return value;
}

// Of memory.csv.
constexpr std::pair<const char*, int PeakActivations::*> kColumns[] = {
    {"per_rank_peak_free_at_B_or_I", &PeakActivations::until_input},
    {"per_rank_peak_free_at_B_or_W", &PeakActivations::until_weight},
    {"per_rank_peak_MB2_MW1", &PeakActivations::weighted},
};

double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

// Some rows of each kind, more of the linear ones, which are quick, in every column of memory.csv.
// All take minutes: SHARDSIM_SEARCH_ROWS=10000.
TEST_CASE("searched schedules: legal, no longer and no larger than the authors' own") {
  const char* wanted = std::getenv("SHARDSIM_SEARCH_ROWS");
  const std::size_t sample = wanted == nullptr ? 3 : std::stoul(wanted);
  std::map<std::string, VectorRow> orders, memory;
  for (const VectorRow& row : vector_rows("orders.csv")) orders[row.at("id")] = row;
  for (const VectorRow& row : vector_rows("memory.csv")) memory[row.at("id")] = row;
  std::map<std::string, std::vector<VectorRow>> timings;
  for (VectorRow& row : vector_rows("timings.csv"))
    timings[orders[row.at("id")].at("schedule")].push_back(std::move(row));
  for (const char* kind : {"zb_auto_1p", "zb_auto_2p", "zbv_auto", "v_half", "v_min", "v_1f1b"}) {
    CAPTURE(kind);
    int tried = 0;
    const std::vector<VectorRow>& rows = timings[kind];
    const std::size_t part = row_named(kind)->fewest_chunks == 1 ? 4 * sample : sample;
    for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(1, rows.size() / part)) {
      const VectorRow& row = rows[i];
      const std::string& id = row.at("id");
      ++tried;
      CAPTURE(id);
      CAPTURE(row.at("tF"));
      CAPTURE(row.at("tC"));
      ScheduleAsk ask = ask_of(orders[id]);
      ask.costs = costs_of(row);
      ask.mode = row.at("comm") == "serial" ? P2pMode::serial : P2pMode::async;
      const Schedule schedule = row_named(kind)->generate(ask);
      for (const ScheduleFault& fault : check(schedule)) FAIL(fault.message);
      const OpGraph graph = lower_schedule(schedule, ask.costs, ask.mode);
      CHECK(replay_ideal(graph).makespan().v <= number(row, "makespan") * (1 + 1e-9));
      const std::vector<PeakActivations> peaks = peak_activations(schedule);
      for (const auto& [column, count] : kColumns) {
        CAPTURE(column);
        CHECK(most(peaks, count) <= most(numbers(memory[id].at(column))));
      }
    }
    CHECK(tried >= 3);
  }
}

// V-min's room, 2 ceil((2p+4)/3) weighted: a block needs it to keep the period of two chunks.
TEST_CASE(
    "searched schedules: V-min has the least room in which building blocks run at full rate") {
  constexpr int kTwoChunks = 6;  // slots: F, I and W of each
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8}) {
    CAPTURE(ranks);
    ActivationRoom room{.until_weight = 2 * ((ranks + 4) / 3),
                        .weighted = 2 * ((2 * ranks + 6) / 3)};
    CHECK(building_blocks(ranks, 0, room).front().period == kTwoChunks);
    room.weighted -= 2;  // one activation until I
    CHECK(building_blocks(ranks, 0, room).front().period > kTwoChunks);
    ScheduleAsk ask{.ranks = ranks, .microbatches = 2 * ranks};
    ask.costs = {{1}, {1}, {1}, {2}, {3}, {0}};
    const Schedule schedule = find_schedule("v-min")->generate(ask);
    CHECK(most(peak_activations(schedule), &PeakActivations::weighted) == room.weighted + 2);
  }
}

TEST_CASE(
    "searched schedules: ZB-2p keeps 3p-1 until W, a stated limit only what the paper counts") {
  ScheduleAsk ask{.ranks = 8, .microbatches = 32};
  // 1.5B in table 9 of arXiv 2401.10241, us.
  ask.costs = {{18513}, {18086}, {9331}, {27417}, {45930}, {626}};
  const auto bubble = [&] {
    const Schedule schedule = find_schedule("zb-auto-2p")->generate(ask);
    const OpGraph graph = lower_schedule(schedule, ask.costs, P2pMode::async);
    const ScheduleMetrics metrics = measure_schedule(schedule, graph, replay_ideal(graph));
    return std::pair(metrics.span_bubble,
                     most(peak_activations(schedule), &PeakActivations::until_weight));
  };
  const auto [kept_bubble, kept] = bubble();
  CHECK(kept == 3 * 8 - 1);
  ask.memory_limit = 16;
  const auto [stated_bubble, stated] = bubble();
  CHECK(stated >= 29);  // 23 leave the first rank waiting for 6 W's of the last
  CHECK(stated_bubble < 0.0039 + 0.5e-4);
  CHECK(kept_bubble > stated_bubble);
}

TEST_CASE("searched schedules: a limit on memory is kept, and more of it is never longer") {
  for (const ScheduleRow& row : schedules()) {
    if (!row.searched) continue;
    CAPTURE(row.name);
    Seconds before{1e300};
    for (const double limit : {1.0, 4.0}) {
      ScheduleAsk ask{.ranks = 4, .microbatches = 8, .chunks = row.fewest_chunks};
      ask.costs = {{3}, {4}, {2}, {6}, {9}, {1}};
      ask.memory_limit = limit;
      CAPTURE(limit);
      const Schedule schedule = row.generate(ask);
      for (const ScheduleFault& fault : check(schedule)) FAIL(fault.message);
      const bool weighted = schedule.placement == Placement::linear;
      for (const PeakActivations& peak : peak_activations(schedule)) {
        CHECK((weighted ? peak.weighted / 2.0 : peak.until_weight * 1.0) <=
              limit * schedule.chunks);
      }
      const Seconds now =
          replay_ideal(lower_schedule(schedule, ask.costs, P2pMode::async)).makespan();
      CHECK(now <= before * 1.02);  // a search may be a little unlucky
      before = now;
    }
    CHECK(before < Seconds{9.0 * 8 * 4});
  }
}

}  // namespace shardsim
