#include "ir/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "../support/schedule_vectors.h"
#include "plan/schedule_file.h"
#include "replay/replay.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

std::string first_problem(const std::vector<std::string>& lines) {
  std::vector<Problem> problems;
  const Schedule schedule = parse_lines(lines, problems);
  if (!problems.empty()) return problems.front().message;
  const auto found = deadlock(lower_schedule(schedule, {}, P2pMode::async));
  return found ? found->path : "";
}

// All sizes that a kind allows, up to 9 ranks and 24 micro-batches; fewer where it takes a search.
template <class Visit>
void for_each_ask(const ScheduleRow& row, Visit visit) {
  const std::vector<int> few = {1, 2, 5}, many = {1, 2, 3, 4, 6, 7, 8, 12, 16, 18, 24};
  for (const int ranks : {1, 2, 3, 4, 5, 6, 8, 9}) {
    if (row.searched && ranks > 3) continue;
    for (const int microbatches : row.searched ? few : many) {
      for (int chunks = row.fewest_chunks; chunks <= std::min(row.most_chunks, 3); ++chunks) {
        ScheduleAsk ask{.ranks = ranks, .microbatches = microbatches, .chunks = chunks};
        ask.costs = {{3}, {4}, {2}, {6}, {9}, {1}};
        if (row.why_not(ask).empty()) visit(ask);
      }
    }
  }
}

}  // namespace

TEST_CASE("schedules: every kind is complete, in place, free of deadlocks and prints itself") {
  for (const ScheduleRow& row : schedules()) {
    int sizes = 0;
    for_each_ask(row, [&](const ScheduleAsk& ask) {
      CAPTURE(row.name);
      CAPTURE(ask.ranks);
      CAPTURE(ask.microbatches);
      CAPTURE(ask.chunks);
      ++sizes;
      const Schedule schedule = row.generate(ask);
      for (const ScheduleFault& fault : check(schedule)) FAIL(fault.message);
      const auto found = deadlock(lower_schedule(schedule, ask.costs, P2pMode::serial));
      if (found) FAIL(found->path);
      std::vector<std::string> lines;
      for (const RankProgram& program : schedule.programs) lines.push_back(program_text(program));
      std::vector<Problem> problems;
      const Schedule read = parse_lines(lines, problems);
      for (const Problem& problem : problems) FAIL(problem.message);
      for (std::size_t rank = 0; rank < lines.size(); ++rank)
        CHECK(program_text(read.programs[rank]) == lines[rank]);
    });
    CHECK(sizes >= 5);
  }
}

TEST_CASE("schedules: groups of transfers run through, and free ones cost nothing") {
  for (const ScheduleRow& row : schedules()) {
    if (!row.posts) continue;
    for_each_ask(row, [&](ScheduleAsk ask) {
      CAPTURE(row.name);
      CAPTURE(ask.ranks);
      CAPTURE(ask.microbatches);
      CAPTURE(ask.chunks);
      ask.mode = P2pMode::blocking;
      ask.costs.p2p = {};
      const Schedule schedule = row.generate(ask);
      for (const ScheduleFault& fault : check(schedule)) FAIL(fault.message);
      const OpGraph blocking = lower_schedule(schedule, ask.costs, P2pMode::blocking);
      if (const auto found = deadlock(blocking)) FAIL(found->path);
      // As many transfers in the groups as there are edges between ranks.
      const OpGraph async = lower_schedule(schedule, ask.costs, P2pMode::async);
      const auto transfers = [](const OpGraph& graph) {
        return std::count_if(graph.ops.begin(), graph.ops.end(),
                             [](const Op& op) { return op.kind == OpKind::delay; });
      };
      CHECK(transfers(blocking) == transfers(async));
      CHECK(replay_ideal(blocking).makespan() >= replay_ideal(async).makespan());
    });
  }
}

TEST_CASE("schedules: closed forms are what is replayed wherever their condition holds") {
  std::mt19937 random(7);
  const auto cost = [&] { return Seconds{static_cast<double>(random() % 12 + 1)}; };
  for (const ScheduleRow& row : schedules()) {
    if (row.closed_forms == no_forms) continue;
    std::map<std::string, int> held;  // by formula
    for_each_ask(row, [&](ScheduleAsk ask) {
      for (int trial = 0; trial < 24; ++trial) {
        const Seconds f = cost(), i = cost(), w = cost();
        ask.costs = {f, i, w, i + w, std::max(f, i + w) + cost() - Seconds{1}, {}};
        if (trial % 3 == 1) ask.costs.p2p = cost() / 10;
        if (trial % 4 == 2)
          ask.costs = {f, f, f, 2 * f, 3 * f, trial % 8 == 2 ? f / 20 : Seconds{}};
        if (trial % 6 == 5) ask.costs = {i + w, i, w, i + w, 2 * (i + w), {}};
        for (const P2pMode mode : p2p_modes()) {
          if (mode == P2pMode::blocking && !row.posts) continue;
          ask.mode = mode;
          const Schedule schedule = row.generate(ask);
          const OpGraph graph = lower_schedule(schedule, ask.costs, mode);
          const ScheduleMetrics got = measure_schedule(schedule, graph, replay_ideal(graph));
          for (const ScheduleForm& form : row.closed_forms(ask)) {
            if (!form.holds) continue;
            ++held[std::string(form.formula)];
            const std::size_t turn =
                schedule.placement == Placement::v ? got.ranks.size() - 1 : got.ranks.size() / 2;
            const Seconds replayed = form.what == "makespan" ? got.makespan
                                     : form.what == "max span"
                                         ? got.max_span
                                         : got.makespan - got.ranks[turn].busy;
            if (std::abs((replayed - form.value) / Seconds{1}) <=
                1e-9 * (got.makespan / Seconds{1}))
              continue;
            CAPTURE(row.name);
            CAPTURE(form.formula);
            CAPTURE(to_text(mode));
            CAPTURE(ask.ranks);
            CAPTURE(ask.microbatches);
            CAPTURE(ask.chunks);
            CAPTURE(f.v);
            CAPTURE(i.v);
            CAPTURE(w.v);
            CAPTURE(ask.costs.overlapped.v);
            CAPTURE(ask.costs.p2p.v);
            CHECK(replayed.v == form.value.v);
          }
        }
      }
    });
    CHECK(!held.empty());
    for (const auto& [formula, times] : held) {
      CAPTURE(formula);
      CHECK(times >= 10);
    }
  }
}

TEST_CASE("schedules: more p2p time never ends an async schedule sooner") {
  for (const ScheduleRow& row : schedules()) {
    ScheduleAsk ask{.ranks = 4, .microbatches = 16, .chunks = std::max(row.fewest_chunks, 1)};
    const CellCosts costs{{3}, {4}, {2}, {6}, {9}, {}};
    ask.costs = costs;
    const Schedule schedule = row.generate(ask);
    Seconds before;
    for (int c = 0; c <= 20; ++c) {
      CellCosts with = costs;
      with.p2p = Seconds{static_cast<double>(c)};
      const Seconds now = replay_ideal(lower_schedule(schedule, with, P2pMode::async)).makespan();
      CAPTURE(row.name);
      CHECK(now >= before);
      const Seconds serial =
          replay_ideal(lower_schedule(schedule, with, P2pMode::serial)).makespan();
      CHECK(serial >= now);
      before = now;
    }
  }
}

TEST_CASE("schedules: what is wrong with a list of cells") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"F0.0 B0.0", "F0.1 B0.1"}, ""},
      {{"F0.0 I0.0 W0.0", "F0.1 B0.1"}, ""},
      {{"F0.0", "F0.1 B0.1"}, "expected B0.0, or I0.0 and W0.0, on rank 0, found none"},
      {{"F0.0 I0.0", "F0.1 B0.1"}, "expected W0.0 beside I0.0 on rank 0, found none"},
      {{"B0.0", "F0.1 B0.1"}, "expected F0.0 on rank 0, found none"},
      {{"F0.0 B0.0 I0.0 W0.0", "F0.1 B0.1"},
       "expected B0.0 or its halves I0.0 and W0.0, found both"},
      {{"F0.0 F0.0 B0.0", "F0.1 B0.1"}, "expected F0.0 once, found it twice"},
      {{"B0.0 F0.0", "F0.1 B0.1"}, "expected F0.0 before B0.0, found it after"},
      {{"F0.0 W0.0 I0.0", "F0.1 B0.1"}, "expected I0.0 before W0.0, found it after"},
      {{"F0.0 B0.0 F0.1", "B0.1"},
       "expected F0.1 on rank 1 (placement linear), found it on rank 0"},
      {{"F0.0 X0.0", "F0.1 B0.1"},
       "expected a cell such as F3.1, B3.1, I3.1, W3.1 or F5.1&B3.1, found \"X0.0\""},
      {{"F0.0 F1.0&I0.0", "F0.1"},
       "expected a cell such as F3.1, B3.1, I3.1, W3.1 or F5.1&B3.1, found \"F1.0&I0.0\""},
      {{"F0.0 [>1] B0.0", "F0.1 B0.1"},
       "expected a group of transfers such as [>1f,<1b], found \"[>1]\""},
      {{"F0.0 [>1f] B0.0", "F0.1 B0.1"},
       "expected as many receives as sends from rank 0 to rank 1 on channel f, found 0 and 1"},
      {{"F0.0 [>7f] B0.0", "F0.1 B0.1"},
       "expected transfers with another of the ranks 0 to 1, found >7f"},
      {{"F0.0 B0.0 F2.0 B2.0", "F0.1 B0.1 F2.1 B2.1"},
       "expected micro-batches numbered from 0 without gaps, found 2 but no 1"},
      {{"F0.0 B0.0", "F0.1 B0.1 F0.2 B0.2"}, "expected a multiple of 2 stages on 2 ranks, found 3"},
      {{"F0.0 F999999.0 B0.0", "F0.1 B0.1"},
       "expected micro-batches numbered from 0 without gaps, found 999999 but no 1"},
      {{"F0.0 B0.0 F1.0 B1.0", "F1.1 F0.1 B1.1 B0.1"},
       "B0.0 on rank 0 waits for B0.1 on rank 1 waits for F1.1 on rank 1 waits for F1.0 on rank 0 "
       "waits for B0.0 on rank 0"},
  };
  for (const auto& [lines, expected] : rows) {
    CAPTURE(lines.front());
    CHECK(first_problem(lines) == expected);
  }
}

TEST_CASE("schedules: doubled, misplaced and missing works are reported together") {
  std::vector<Problem> problems;
  parse_lines({"F0.0 F0.0 B0.0 B1.1", "F0.1 B0.1 F1.1"}, problems);
  std::vector<std::string> messages;
  for (const Problem& problem : problems) messages.push_back(problem.message);
  CHECK(messages ==
        std::vector<std::string>{"expected F0.0 once, found it twice",
                                 "expected B1.1 on rank 1 (placement linear), found it on rank 0",
                                 "expected F1.0 on rank 0, found none",
                                 "expected B1.0, or I1.0 and W1.0, on rank 0, found none"});
}

TEST_CASE("schedules: groups that wait for each other are a deadlock") {
  std::vector<Problem> problems;
  const Schedule schedule =
      parse_lines({"F0.0 [<1b] [>1f] B0.0", "[<0f] F0.1 B0.1 [>0b]"}, problems);
  REQUIRE(problems.empty());
  CHECK_FALSE(deadlock(lower_schedule(schedule, {}, P2pMode::async)));
  const auto found = deadlock(lower_schedule(schedule, {}, P2pMode::blocking));
  REQUIRE(found);
  CHECK(found->path.find("waits for") != std::string::npos);
}

TEST_CASE("schedules: the placement is found from where the cells stand") {
  const std::vector<std::pair<std::string, Placement>> rows = {
      {"1f1b", Placement::linear},
      {"dualpipe", Placement::dual},
      {"zbv", Placement::v},
      {"interleaved-1f1b", Placement::wrap},
      {"chimera", Placement::dual}};
  for (const auto& [name, placement] : rows) {
    const ScheduleRow* row = find_schedule(name);
    ScheduleAsk ask{.ranks = 4, .microbatches = 8, .chunks = std::min(2, row->most_chunks)};
    std::vector<std::string> lines;
    for (const RankProgram& program : row->generate(ask).programs)
      lines.push_back(order_text(program));
    std::vector<Problem> problems;
    const Schedule read = parse_lines(lines, problems);
    CAPTURE(name);
    CHECK(problems.empty());
    CHECK(read.placement == placement);
  }
}

TEST_CASE("schedule file: a # begins a comment wherever it stands") {
  const auto path = std::filesystem::temp_directory_path() / "shardsim_schedule_comments.txt";
  std::ofstream(path) << "  # two ranks\n"
                         "placement: linear  # stage s on rank s\n"
                         "F0.0 B0.0# the first\n"
                         "#F0.1\n"
                         "F0.1 B0.1 # the second: F0.0\n";
  std::vector<Problem> problems;
  const Schedule schedule = read_schedule_file(path.string(), problems);
  std::filesystem::remove(path);
  for (const Problem& problem : problems) FAIL(problem.message);
  CHECK(schedule.placement == Placement::linear);
  REQUIRE(schedule.ranks() == 2);
  CHECK(program_text(schedule.programs[0]) == "F0.0 B0.0");
  CHECK(program_text(schedule.programs[1]) == "F0.1 B0.1");
}

}  // namespace shardsim
