// The metrics of a step on graphs and timelines made by hand; every figure is worked out beside it.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../support/handmade_run.h"
#include "../support/networks.h"
#include "command/what_if.h"
#include "plan/placement.h"
#include "replay/replay.h"
#include "report/critical_path.h"
#include "report/device_use.h"
#include "report/reports.h"

using namespace shardsim;
using shardsim::testing::Handmade;
using shardsim::testing::Ranks;
using shardsim::testing::two_ranks;

namespace {

double of(const std::vector<KindTime>& list, const std::string& kind) {
  for (const KindTime& one : list)
    if (one.kind == kind) return one.time.v;
  return 0;
}

}  // namespace

TEST_CASE("a pipeline: times of the rank that ends last, bubbles of all") {
  const Metrics m = measure(two_ranks().run);
  CHECK(m.step.v == 9);
  CHECK(m.compute.v == 5);
  CHECK(m.comm.v == 3);  // 2-4 and 5-6
  CHECK(m.exposed.v == 3);
  CHECK(m.bubble.v == 1);  // 4-5: rank 1 computes
  CHECK(m.rest.v == 0);
  REQUIRE(m.communicators.size() == 2);
  CHECK(m.communicators[0].name == "T");
  CHECK(m.communicators[0].time.v == 2);
  CHECK(m.communicators[0].exposed.v == 1.5);  // half of 2-3, all of 3-4
  CHECK(m.communicators[1].name == "pipeline");
  CHECK(m.communicators[1].count == 2);
  CHECK(m.communicators[1].exposed.v == 1.5);  // half of 2-3, all of 5-6
  REQUIRE(m.ranks.size() == 2);
  CHECK(m.ranks[0].busy.v == 7);  // transfers between ranks keep none of them busy
  CHECK(m.ranks[0].span().v == 9);
  CHECK(m.ranks[1].busy.v == 2);
  CHECK(m.ranks[1].first.v == 3);
  CHECK(m.ranks[1].last.v == 5);
  CHECK(m.ranks[1].exposed.v == 2);
  CHECK(m.makespan_bubble == 0.5);  // (7 + 2) of 2 * 9
  CHECK(m.span_bubble == 0.5);
  CHECK(m.longest_communicator.v == 2);
  REQUIRE(m.passes.size() == 2);
  CHECK(m.passes[0].pass == "forward");
  CHECK(m.passes[0].end.v == 5);
  CHECK(m.passes[1].start.v == 6);
}

TEST_CASE("a device that waits for others of its own rank is no bubble") {
  // Devices 0 and 1 are one rank; 1 takes 3 s where 0 takes 1. Device 0 of the group that ends
  // last goes on to 6, while rank 1 (device 2) computes from 4 to 5.
  Handmade made(Ranks{{0, 1}, {2}});
  made.compute(0, 0, 1);
  made.compute(1, 0, 3);
  made.collective("X", {0}, 3, 4, {0, 0, 0});
  made.compute(2, 4, 5);
  made.compute(0, 5, 6);
  const Metrics m = measure(made.run);
  CHECK(m.compute.v == 2);
  CHECK(m.exposed.v == 1);
  CHECK(m.rest.v == 2);    // 1-3
  CHECK(m.bubble.v == 1);  // 4-5
}

TEST_CASE("collectives of other groups are not a device's own") {
  // One rank, groups {0} and {1}: that of device 1 takes until 3, then device 1 computes until 5.
  Handmade made(Ranks{{0, 1}});
  made.collective("X", {0}, 0, 1, {0, 1});
  made.collective("X", {1}, 0, 3, {0, 0});
  Occurrence& once = made.run.plan.collectives[0].times[0];
  once.begin.push_back(made.run.plan.collectives[1].times[0].begin[0]);
  once.end.push_back(made.run.plan.collectives[1].times[0].end[0]);
  made.run.plan.collectives.pop_back();
  made.compute(1, 3, 5);
  const Metrics m = measure(made.run);
  CHECK(m.comm.v == 3);
  CHECK(m.compute.v == 2);
  made.run.plan.collectives[0].group_of = {1, 0};  // as if device 1 were in the other one
  CHECK(measure(made.run).comm.v == 1);
  CHECK(measure(made.run).rest.v == 2);
}

TEST_CASE("overlap: what is hidden, and what several communicators share") {
  Handmade made(Ranks{{0}});
  made.compute(0, 0, 4);
  made.collective("X", {0}, 1, 6);  // 3 hidden; 4-6 exposed, 5-6 with Y
  made.collective("Y", {0}, 5, 8);
  const Metrics m = measure(made.run);
  CHECK(m.comm.v == 7);
  CHECK(m.exposed.v == 4);
  CHECK(m.overlapped() == doctest::Approx(3.0 / 7));
  CHECK(m.communicators[0].exposed.v == 1.5);
  CHECK(m.communicators[0].overlapped() == doctest::Approx(0.7));
  CHECK(m.communicators[1].exposed.v == 2.5);
  CHECK(m.bubble.v == 0);
  CHECK(m.makespan_bubble == 0);
}

TEST_CASE("the critical path, by kind") {
  const std::vector<KindTime> path = critical_path(two_ranks().run);
  // 0-2 forward, 2-3 to rank 1, 3-5 forward, 5-6 back, 6-9 backward; not the collective beside.
  REQUIRE(path.size() == 3);
  CHECK(path[0].kind == "compute, forward");
  CHECK(path[0].time.v == 4);
  CHECK(of(path, "compute, backward") == 3);
  CHECK(of(path, "pipeline") == 2);
  Handmade made(Ranks{{0}});
  const OpId f = made.compute(0, 1, 2);  // nothing before it: 0-1 is waiting
  const OpId x = made.collective("X", {0}, 2, 5, {}, {f});
  const OpId again = made.compute(0, 5, 6, {x}, Pass::backward, Purpose::again);
  const OpId pause = made.add(OpKind::delay, 0, {.name = "d"}, 6, 6.5, {again});
  made.compute(0, 6.5, 8, {pause}, Pass::backward, Purpose::optimizer);
  const std::vector<KindTime> all = critical_path(made.run);
  CHECK(of(all, "waiting") == 1.5);
  CHECK(of(all, "compute, forward") == 1);
  CHECK(of(all, "collectives over X") == 3);
  CHECK(of(all, "recomputation") == 1);
  CHECK(of(all, "optimizer") == 1.5);
}

TEST_CASE("what if a cost were free") {
  Handmade made(Ranks{{0}, {1}});
  const OpId f = made.compute(0, 0, 2);
  const OpId x = made.collective("X", {0}, 2, 5, {}, {f});
  const OpId sent = made.send(0, 1, 5, 9, {x});
  const OpId again = made.compute(1, 9, 10, {sent}, Pass::backward, Purpose::again);
  made.run.graph.origins[made.run.graph.ops[static_cast<std::size_t>(f)].origin].memory_bound =
      true;
  made.compute(1, 10, 10.5, {again}, Pass::backward, Purpose::optimizer);
  const EngineRow ideal = engines()[1];
  REQUIRE(ideal.name == "ideal");
  CHECK(measure(made.run).step.v == 10.5);
  const std::vector<Op> before = made.run.graph.ops;
  const std::vector<KindTime> free = what_ifs(made.run, ideal);
  CHECK(of(free, "pipeline") == 6.5);
  CHECK(of(free, "collectives over X") == 7.5);
  CHECK(of(free, "memory-bound computes") == 8.5);
  CHECK(of(free, "recomputation") == 9.5);
  CHECK(of(free, "optimizer") == 10);
  REQUIRE(free.size() == 5);
  CHECK(free.front().kind == "pipeline");  // shortest first
  CHECK(step_without_communication(made.run, ideal).v == 3.5);
  for (std::size_t op = 0; op < before.size(); ++op) {
    CHECK(made.run.graph.ops[op].seconds == before[op].seconds);
    CHECK(made.run.graph.ops[op].bytes == before[op].bytes);
  }
}

TEST_CASE("a training of so many tokens") {
  Run run = two_ranks().run;
  run.workload = Workload{};
  run.workload->tokens = 1000;
  run.workload->training_tokens = 4000;
  run.workload->peak = FlopsPerSec{1};
  const Metrics m = measure(run);
  REQUIRE(m.training.has_value());
  CHECK(m.training->v == 36);
  const std::string text = to_json(run_summary(run, m));
  CHECK(text.find("\"chip_hours\": 0.04,") != std::string::npos);  // 4 devices, 36 s
}

TEST_CASE("MFU and HFU by each convention") {
  Run run = two_ranks().run;
  run.workload = Workload{};
  run.workload->peak = FlopsPerSec{10};  // 4 devices, 9 s: 360
  run.workload->model = Flops{90};
  run.workload->model_all_scores = Flops{108};
  run.workload->head = Flops{18};
  run.workload->executed = Flops{180};
  run.workload->executed_all_scores = Flops{216};
  const Metrics m = measure(run);
  CHECK(*m.mfu == 0.25);
  CHECK(*m.mfu_all_scores == 0.3);
  CHECK(*m.mfu_without_head == 0.2);
  CHECK(*m.hfu == 0.5);
  CHECK(*m.hfu_all_scores == 0.6);
  const std::string text = to_json(run_summary(run, m), -1);
  for (const char* figure :
       {R"("mfu_all_scores":0.3,)", R"("mfu_without_head":0.2,)", R"("hfu":0.5,)"}) {
    CAPTURE(figure);
    CHECK(text.find(figure) != std::string::npos);
  }
}

TEST_CASE("the trace: a slice for every compute and collective, a pair for every transfer") {
  const Run run = two_ranks().run;
  const std::string text = trace_json(run, measure(run));
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++n;
    return n;
  };
  CHECK(count(R"("ph":"X")") == 4);
  CHECK(count(R"("ph":"b")") == 2);
  CHECK(count(R"("ph":"e")") == 2);
  CHECK(count(R"({"ph":"X","name":"T","pid":0,"tid":1,"ts":2e+06,"dur":2e+06,)") == 1);
  CHECK(count(R"("name":"rank 1, device class 1")") == 1);
}

TEST_CASE("JSON that is appended is JSON that is converted") {
  const Json all = Object{{"a\"b", "x\n\x01é"},
                          {"list", Array{nullptr, true, 3, 0.1, "\xff"}},
                          {"none", Object{}},
                          {"empty", Array{}},
                          {"nan", std::nan("")}};
  std::string text = "head ";
  append_json(text, all);
  CHECK(text + "\n" == "head " + to_json(all, -1));
}
