// The model of what is shown over time: on runs made by hand, whose causes and bubbles are worked
// out beside them, and on every schedule and configured run for what must hold of all.
#include "report/slices.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../support/handmade_run.h"
#include "plan/lower_schedule.h"
#include "plan/schedules.h"
#include "replay/replay.h"
#include "report/slice_detail.h"

using namespace shardsim;
using shardsim::testing::Handmade;
using shardsim::testing::Ranks;

namespace {

Origin work(WorkKind kind, int microbatch, int stage) {
  return {.name = "product",
          .stream = "compute",
          .microbatch = microbatch,
          .pass = kind == WorkKind::forward ? Pass::forward : Pass::backward,
          .stage = stage,
          .work = kind};
}

Origin sent(WorkKind kind, int microbatch, int stage, int to) {
  Origin origin = work(kind, microbatch, stage);
  origin.name = "sent";
  origin.stream = "pipeline";
  origin.to_rank = to;
  return origin;
}

//   rank 0   F0 0-2, F1 2-4,                          B0 11-14
//   rank 1          F0 3-6,  F1 6-9 & B0 (over it) 7-10
//   pipeline     2-3, 4-5 (rank 0); 10-11 (rank 1)
Handmade pipeline() {
  Handmade made(Ranks{{0}, {1}});
  const auto add = [&](OpKind kind, std::uint32_t device, Origin origin, double from, double to,
                       std::vector<OpId> waits) {
    return made.add(kind, device, std::move(origin), from, to, std::move(waits));
  };
  using enum WorkKind;
  const OpId f0 = add(OpKind::compute, 0, work(forward, 0, 0), 0, 2, {});
  const OpId s0 = add(OpKind::transfer, 0, sent(forward, 0, 0, 1), 2, 3, {f0});
  const OpId f1 = add(OpKind::compute, 0, work(forward, 1, 0), 2, 4, {f0});
  const OpId s1 = add(OpKind::transfer, 0, sent(forward, 1, 0, 1), 4, 5, {f1});
  const OpId g0 = add(OpKind::compute, 1, work(forward, 0, 1), 3, 6, {s0});
  const OpId g1 = add(OpKind::compute, 1, work(forward, 1, 1), 6, 7, {g0, s1});
  const OpId b0 = add(OpKind::compute, 1, work(backward, 0, 1), 7, 8, {g1});
  const OpId g2 = add(OpKind::compute, 1, work(forward, 1, 1), 8, 9, {b0});
  const OpId b1 = add(OpKind::compute, 1, work(backward, 0, 1), 9, 10, {g2});
  const OpId s2 = add(OpKind::transfer, 1, sent(backward, 0, 1, 0), 10, 11, {b1});
  const OpId join = made.add(OpKind::join, 0, {.name = "join"}, 11, 11, {f1, s2});
  add(OpKind::compute, 0, work(backward, 0, 0), 11, 14, {join});
  return made;
}

// What is wrong with slices of any run; empty: nothing.
std::string faults(const Slices& made) {
  for (std::size_t i = 0; i < made.slices.size(); ++i) {
    const Slice& slice = made.slices[i];
    const std::string here = "slice " + std::to_string(i);
    if (slice.end < slice.begin) return here + " ends before it begins";
    if (slice.cause != kNoSlice && made.slices[slice.cause].end > slice.begin + made.end * 1e-9)
      return here + " begins before its cause has ended";
    if (i == 0) continue;
    const Slice& before = made.slices[i - 1];
    if (before.track > slice.track) return here + " is out of order";
    if (before.track == slice.track && slice.begin < before.end - made.end * 1e-9)
      return here + " overlaps the one before it";
  }
  for (const SliceArrow& arrow : made.arrows)
    if (arrow.from >= made.slices.size() || arrow.to >= made.slices.size())
      return "an arrow to nothing";
  return "";
}

// Time of the rank's shown computes and bubbles together.
Seconds covered(const Slices& made, int rank) {
  Seconds sum;
  for (const Bubble& bubble : made.bubbles)
    if (bubble.rank == rank) sum += bubble.end - bubble.begin;
  for (const Slice& slice : made.slices) {
    const SliceTrack& track = made.tracks[slice.track];
    const bool shown = track.device == made.ranks[static_cast<std::size_t>(rank)].shown;
    const SliceKind& kind = made.kinds[made.origins[slice.origin].kind];
    if (track.rank == rank && shown && kind.group == SliceGroup::compute)
      sum += slice.end - slice.begin;
  }
  return sum;
}

ScheduleRun schedule_run(const char* kind, int ranks, int microbatches, double p2p) {
  ScheduleAsk ask;
  ask.ranks = ranks;
  ask.microbatches = microbatches;
  const ScheduleRow* row = find_schedule(kind);
  ask.chunks = row->fewest_chunks;
  ask.costs = {Seconds{1}, Seconds{1}, Seconds{1}, Seconds{2}, Seconds{3}, Seconds{p2p}};
  ScheduleRun run;
  run.kind = kind;
  run.schedule = row->generate(ask);
  run.costs = ask.costs;
  run.graph = lower_schedule(run.schedule, run.costs, P2pMode::async);
  run.timeline = replay_ideal(run.graph);
  run.metrics = measure_schedule(run.schedule, run.graph, run.timeline);
  return run;
}

}  // namespace

TEST_CASE("slices of a pipeline: causes through transfers and joins, bubbles, cells") {
  const Slices made = slices_of(pipeline().run);
  CHECK(faults(made) == "");
  REQUIRE(made.tracks.size() == 4);
  CHECK(made.tracks[0].stream == "compute");
  CHECK(made.tracks[1].stream == "pipeline");
  REQUIRE(made.slices.size() == 11);
  // Rank 0: F0, F1, B0, then what it sends.
  CHECK(made.slices[0].cause == kNoSlice);
  CHECK(made.slices[1].cause == 0);
  const Slice& b0 = made.slices[2];
  CHECK(b0.begin.v == 11);
  REQUIRE(b0.cause != kNoSlice);
  CHECK(made.slices[b0.cause].begin.v == 10);  // the transfer, through the join
  CHECK(made.kinds[made.origins[made.slices[b0.cause].origin].kind].name == "pipeline transfer");
  // All but what is sent of micro-batch 1 is on the path: F0, 2-3, 3-6, 6-10, 10-11, 11-14.
  std::vector<double> critical;
  for (const Slice& slice : made.slices)
    if (slice.critical) critical.push_back(slice.begin.v);
  CHECK(critical == std::vector<double>{0, 11, 2, 3, 6, 7, 8, 9, 10});
  struct Row {
    int rank;
    double begin, end;
    const char* text;
  };
  const Row rows[] = {{0, 4, 10, "waits for B0 of stage 1"},
                      {0, 10, 11, "waits for B0 of stage 1, on its way"},
                      {1, 0, 2, "warm-up: waits for F0 of stage 0"},
                      {1, 2, 3, "warm-up: waits for F0 of stage 0, on its way"},
                      {1, 10, 14, "no work left"}};
  REQUIRE(made.bubbles.size() == std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    CHECK(made.bubbles[i].rank == rows[i].rank);
    CHECK(made.bubbles[i].begin.v == rows[i].begin);
    CHECK(made.bubbles[i].end.v == rows[i].end);
    CHECK(made.bubbles[i].text == rows[i].text);
  }
  // F1 and B0 of rank 1 lie over each other: one cell.
  REQUIRE(made.cells.size() == 5);
  const PipelineCell& both = made.cells[4];
  CHECK(both.begin.v == 6);
  CHECK(both.end.v == 10);
  REQUIRE(both.second.has_value());
  CHECK(to_text(both.work) == "F1");
  CHECK(to_text(*both.second) == "B0");
}

TEST_CASE("slices: a collective is waited for as a whole, and what is inside it is no cause") {
  Handmade made(Ranks{{0}});
  const OpId first = made.compute(0, 0, 2);
  const OpId gathered = made.collective("X", {0}, 2, 5, {}, {first});
  made.compute(0, 5, 6, {gathered});
  made.collective("X", {0}, 6, 8, {}, {gathered});
  const Slices slices = slices_of(made.run);
  CHECK(faults(slices) == "");
  REQUIRE(slices.slices.size() == 4);
  CHECK(slices.slices[1].cause == 2);  // the second compute: the gather
  CHECK(slices.slices[2].cause == 0);
  CHECK(slices.slices[3].cause == 2);
  CHECK(slices.origins[slices.slices[2].origin].links == "x+, 10 B/s");
  REQUIRE(slices.bubbles.size() == 2);
  CHECK(slices.bubbles[0].text == "waits for X");
  CHECK(slices.bubbles[0].begin.v == 2);
  CHECK(slices.bubbles[1].text == "waits for X");
  CHECK(slices.bubbles[1].end.v == 8);
  CHECK(slices.cells.empty());
}

TEST_CASE("slices: transfers that are under way at once take lanes") {
  Handmade made(Ranks{{0}, {1}});
  const OpId first = made.compute(0, 0, 1);
  for (const double until : {4.0, 3.0, 5.0}) made.send(0, 1, 1, until, {first});
  const Slices slices = slices_of(made.run);
  CHECK(faults(slices) == "");
  REQUIRE(slices.tracks.size() == 4);
  for (int lane = 0; lane < 3; ++lane)
    CHECK(slices.tracks[1 + static_cast<std::size_t>(lane)].lane == lane);
}

TEST_CASE("slices of nothing and of one op") {
  Handmade none(Ranks{{0}});
  CHECK(slices_of(none.run).slices.empty());
  CHECK(slices_of(none.run).bubbles.empty());
  Handmade one(Ranks{{0}});
  one.compute(0, 0, 3);
  CHECK(slices_of(one.run).slices.size() == 1);
  CHECK(slices_of(one.run).bubbles.empty());
}

TEST_CASE(
    "slices of every schedule: in order, their causes before them, computes and bubbles fill the "
    "time") {
  for (const ScheduleRow& row : schedules()) {
    for (const double p2p : {0.0, 0.5}) {
      CAPTURE(row.name);
      CAPTURE(p2p);
      const ScheduleRun run = schedule_run(std::string(row.name).c_str(), 4, 8, p2p);
      const Slices made = slices_of(run);
      CHECK(faults(made) == "");
      std::size_t cells = 0;
      for (const RankProgram& program : run.schedule.programs) cells += program.cells.size();
      CHECK(made.cells.size() == cells);
      for (int rank = 0; rank < 4; ++rank)
        CHECK(covered(made, rank).v == doctest::Approx(made.end.v).epsilon(1e-9));
      bool arrows_between_ranks = false;
      for (const SliceArrow& arrow : made.arrows) {
        arrows_between_ranks |= made.tracks[made.slices[arrow.from].track].rank !=
                                made.tracks[made.slices[arrow.to].track].rank;
      }
      CHECK(arrows_between_ranks);
    }
  }
}

TEST_CASE("slices: fewer where there are too many, no less time, indices that stay in range") {
  const ScheduleRun run = schedule_run("1f1b", 4, 64, 0.5);
  const Slices all = slices_of(run);
  const Detail same = with_detail(all, all.slices.size());
  CHECK(same.slices_left_out == 0);
  CHECK(same.shown.slices.size() == all.slices.size());
  const std::size_t most = 200;
  const Detail fewer = with_detail(all, most);
  CHECK(fewer.shown.slices.size() <= most);
  CHECK(fewer.shown.slices.size() > most / 8);
  CHECK(fewer.shown.cells.size() <= most / 2);
  CHECK(fewer.shown.origins.size() <= most);
  CHECK(fewer.slices_left_out == all.slices.size() - fewer.shown.slices.size());
  for (const Slice& slice : fewer.shown.slices)
    if (slice.cause != kNoSlice) CHECK(slice.cause < fewer.shown.slices.size());
  for (const SliceArrow& arrow : fewer.shown.arrows) {
    CHECK(arrow.from < fewer.shown.slices.size());
    CHECK(arrow.to < fewer.shown.slices.size());
    CHECK(arrow.from != arrow.to);
  }
  Seconds latest;
  for (const Slice& slice : fewer.shown.slices) latest = std::max(latest, slice.end);
  CHECK(latest.v == doctest::Approx(all.end.v).epsilon(1e-12));
}
