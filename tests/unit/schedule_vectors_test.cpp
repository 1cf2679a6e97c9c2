// Schedules against public code's orders and an independent evaluator's times. tests/theory/
// pipeline.py holds the orders themselves to the letter.
#include "../support/schedule_vectors.h"

#include <doctest/doctest.h>

#include <cmath>

#include "replay/replay.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

constexpr double kSame = 1e-9;  // relative

bool same(Seconds a, double b) {
  return std::abs(a / Seconds{1} - b) <= kSame * std::abs(b);
}

P2pMode mode_named(const std::string& name) {
  for (const P2pMode mode : p2p_modes())
    if (to_text(mode) == name) return mode;
  return P2pMode::blocking;
}

struct Replayed {
  OpGraph graph;
  Timeline timeline;
  ScheduleMetrics metrics;
};

Replayed replayed(const Schedule& schedule, const CellCosts& costs, P2pMode mode) {
  Replayed run;
  run.graph = lower_schedule(schedule, costs, mode);
  run.timeline = replay_ideal(run.graph);
  run.metrics = measure_schedule(schedule, run.graph, run.timeline);
  return run;
}

}  // namespace

TEST_CASE("schedule vectors: makespan, spans and busy times of every row") {
  const std::map<std::string, Schedule> all = vector_schedules();
  CHECK(all.size() == 315);
  int rows = 0, wrong = 0;
  for (const VectorRow& row : vector_rows("timings.csv")) {
    ++rows;
    const ScheduleMetrics got =
        replayed(all.at(row.at("id")), costs_of(row), mode_named(row.at("comm"))).metrics;
    bool good =
        same(got.makespan, number(row, "makespan")) && same(got.max_span, number(row, "max_span"));
    const std::vector<double> first = numbers(row.at("first")), last = numbers(row.at("last")),
                              busy = numbers(row.at("busy"));
    for (std::size_t rank = 0; rank < got.ranks.size(); ++rank) {
      good = good && same(got.ranks[rank].first, first.at(rank)) &&
             same(got.ranks[rank].last, last.at(rank)) && same(got.ranks[rank].busy, busy.at(rank));
    }
    if (good || ++wrong > 10) continue;
    CAPTURE(row.at("id"));
    CAPTURE(row.at("comm"));
    CAPTURE(row.at("tC"));
    CHECK(got.makespan / Seconds{1} == number(row, "makespan"));
    CHECK(good);
  }
  CHECK(rows == 5926);
  CHECK(wrong == 0);
}

TEST_CASE("schedule vectors: blocking transfers of the authors' groups") {
  std::map<std::string, Schedule> all;
  for (const VectorRow& row : vector_rows("programs.csv")) {
    ScheduleAsk ask = ask_of(row);
    ask.mode = P2pMode::blocking;
    all[row.at("id")] = row_named(row.at("schedule"))->generate(ask);
  }
  CHECK(all.size() == 24);
  int rows = 0;
  for (const VectorRow& row : vector_rows("blocking_timings.csv")) {
    ++rows;
    CAPTURE(row.at("id"));
    CAPTURE(row.at("tC"));
    const ScheduleMetrics got =
        replayed(all.at(row.at("id")), costs_of(row), P2pMode::blocking).metrics;
    CHECK(got.makespan / Seconds{1} == doctest::Approx(number(row, "makespan")).epsilon(kSame));
    const std::vector<double> last = numbers(row.at("last")),
                              busy = numbers(row.at("compute_busy")),
                              blocked = numbers(row.at("comm_blocked"));
    for (std::size_t rank = 0; rank < got.ranks.size(); ++rank) {
      const RankUse& use = got.ranks[rank];
      CHECK(same(use.last, last.at(rank)));
      CHECK(same(use.busy, busy.at(rank)));
      // A rank does nothing but compute and wait for its transfers.
      CHECK(same(use.last - use.busy, blocked.at(rank)));
    }
  }
  CHECK(rows == 165);
}

TEST_CASE("schedule vectors: peak activations in three ways of counting") {
  const std::map<std::string, Schedule> all = vector_schedules();
  int rows = 0;
  for (const VectorRow& row : vector_rows("memory.csv")) {
    ++rows;
    CAPTURE(row.at("id"));
    const std::vector<PeakActivations> got = peak_activations(all.at(row.at("id")));
    const auto input = numbers(row.at("per_rank_peak_free_at_B_or_I")),
               weight = numbers(row.at("per_rank_peak_free_at_B_or_W")),
               weighted = numbers(row.at("per_rank_peak_MB2_MW1"));
    REQUIRE(got.size() == input.size());
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
      CAPTURE(rank);
      CHECK(got[rank].until_input == input[rank]);
      CHECK(got[rank].until_weight == weight[rank]);
      CHECK(got[rank].weighted == weighted[rank]);
    }
  }
  CHECK(rows == 315);
}

TEST_CASE("schedule vectors: start and end of every cell of small cases") {
  std::map<std::string, std::pair<Schedule, Replayed>> runs;
  std::map<std::string, std::size_t> next;  // cells come in the order of their rank
  int rows = 0, wrong = 0;
  for (const VectorRow& row : vector_rows("timelines.csv")) {
    ++rows;
    std::string key = row.at("id");
    for (const char* name : {"tF", "tI", "tW", "tFB", "tC", "comm"}) key += "," + row.at(name);
    auto at = runs.find(key);
    if (at == runs.end()) {
      const Schedule schedule = generated(row.at("id"));
      const Replayed run = replayed(schedule, costs_of(row), mode_named(row.at("comm")));
      at = runs.emplace(key, std::pair(schedule, run)).first;
    }
    const auto& [schedule, run] = at->second;
    const auto rank = static_cast<std::size_t>(number(row, "rank"));
    const std::size_t i = next[key + "," + row.at("rank")]++;
    const std::size_t op = index_cells(schedule).first[rank] + i;
    const bool good = to_text(schedule.programs[rank].cells.at(i)) == row.at("op") &&
                      same(run.timeline.start[op], number(row, "start")) &&
                      same(run.timeline.end[op], number(row, "end"));
    wrong += good ? 0 : 1;
  }
  CHECK(rows == 1398);
  CHECK(wrong == 0);
}

}  // namespace shardsim
