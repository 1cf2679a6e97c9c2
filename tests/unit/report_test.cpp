#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "../support/networks.h"
#include "base/file.h"
#include "plan/lower.h"
#include "plan/placement.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/reports.h"
#include "report/schema.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

// Two computes of 2 s and 3 s on one device; a collective of 4 s that starts with the second: 3 s
// of it are hidden, 1 s is exposed; then a second of nothing.
Run handmade() {
  Run run;
  run.name = "handmade";
  run.plan.cluster = shardsim::testing::cluster("ring:4");
  run.plan.fold = Fold::orbits(run.plan.cluster);
  run.plan.mesh = hardware_mesh(run.plan.cluster);
  run.graph.links = {{"x+", BytesPerSec{10}}};
  run.graph.route_links = {0};
  run.graph.route_offset = {0, 1};
  run.graph.origins = {{.name = "a", .stream = "compute"},
                       {.name = "all-gather", .stream = "X", .collective = 0}};
  const auto add = [&](OpKind kind, std::uint32_t origin, double from, double to) {
    Op op;
    op.kind = kind;
    op.origin = origin;
    if (kind == OpKind::transfer) {
      op.bytes = Bytes{20};
      op.route = RouteId{0};
    } else {
      op.seconds = Seconds{to - from};
    }
    run.graph.ops.push_back(op);
    run.graph.dep_offset.push_back(0);
    run.timeline.start.push_back(Seconds{from});
    run.timeline.end.push_back(Seconds{to});
  };
  add(OpKind::compute, 0, 0, 2);
  add(OpKind::join, 1, 2, 2);
  add(OpKind::compute, 0, 2, 5);
  add(OpKind::transfer, 1, 2, 6);
  add(OpKind::join, 1, 6, 6);
  add(OpKind::delay, 0, 6, 7);
  CollectiveInstance c;
  c.times = {{0, 0, 0, {OpId{1}}, {OpId{4}}}};
  run.plan.collectives = {c};
  run.workload = Workload{};
  run.workload->tokens = 700;
  run.workload->model = Flops{2800};
  run.workload->peak = FlopsPerSec{1000};
  return run;
}

bool exact(const Plan& plan) {
  return std::all_of(plan.collectives.begin(), plan.collectives.end(),
                     [](const CollectiveInstance& c) { return c.exact; });
}

Run configured(const std::string& name, LowerOptions options = {},
               Timeline (*engine)(const OpGraph&) = replay_simgrid) {
  const RunSpec spec = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
  Lowered lowered = lower(spec, prepare(spec), options);
  Run run;
  run.name = spec.name.value;
  run.engine = "simgrid";
  run.grain = options.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  CHECK(check(run.graph).empty());
  run.timeline = engine(run.graph);
  // The ideal engine lets sends over unlike links pass one another.
  if (engine == replay_simgrid || exact(run.plan)) CHECK(check(run.timeline, run.graph).empty());
  return run;
}

Prepared prepared(const std::string& name) {
  return prepare(load_run(data_dir() + "/configs/runs/" + name + ".yaml"));
}

// Passes of layers, of all micro-batches. Runs of more are checked but not replayed here
// (bench/speed.py and tests/theory/ replay them); runs of more on all devices are replayed folded
// only.
constexpr double kMostPasses = 2500;
double passes(const Prepared& run) {
  return static_cast<double>(run.layers) * run.batch.microbatches;
}
bool replayed(const Prepared& run) {
  return passes(run) <= kMostPasses;
}
bool replayed_in_full(const Prepared& run) {
  return passes(run) * run.cluster.devices() <= kMostPasses;
}

double relative(Seconds a, Seconds b) {
  return std::abs(a.v / b.v - 1);
}

}  // namespace

TEST_CASE("measure: hidden, exposed and idle time") {
  const Metrics m = measure(handmade());
  CHECK(m.step.v == 7);
  CHECK(m.compute.v == 5);
  CHECK(m.comm.v == 4);
  CHECK(m.exposed.v == 1);
  CHECK(m.rest.v == 1);
  REQUIRE(m.collective_time.size() == 1);
  CHECK(m.collective_time[0].v == 4);
  REQUIRE(m.links.size() == 1);
  CHECK(m.links[0].utilisation == doctest::Approx(20.0 / 70));
  CHECK(*m.mfu == doctest::Approx(2800.0 / 7 / 4000));
  CHECK(*m.tokens_per_s == doctest::Approx(100));
}

TEST_CASE("every run file simulates; its parts add up; folded, full, fluid and ideal agree") {
  CHECK(run_names().size() >= 4);
  for (const std::string& name : run_names()) {
    CAPTURE(name);
    const Prepared planned = prepared(name);
    if (!replayed(planned)) continue;
    const Run run = configured(name);
    const Metrics m = measure(run);
    CHECK(m.step.v > 0);
    CHECK(std::abs(m.step.v - (m.compute + m.exposed + m.bubble + m.rest).v) <= 1e-9 * m.step.v);
    Seconds exposed, path;
    for (const CommunicatorTime& c : m.communicators) exposed += c.exposed;
    for (const KindTime& kind : m.critical_path) path += kind.time;
    CHECK(std::abs((exposed - m.exposed).v) <= 1e-9 * m.step.v);
    CHECK(relative(path, m.step) < 1e-9);
    if (!replayed_in_full(planned)) continue;
    CHECK(relative(measure(configured(name, {Grain::flow, true})).step, m.step) < 1e-9);
    if (planned.overlap.any() || planned.step.ranks() > 1) continue;
    CHECK(std::abs(m.rest.v) <= 1e-9 * m.step.v);  // nothing overlaps and nothing waits
    const Seconds fluid = measure(configured(name, {Grain::fluid, false})).step;
    const Seconds ideal = measure(configured(name, {}, replay_ideal)).step;
    CHECK(ideal.v <= m.step.v * (1 + 1e-9));
    if (!exact(run.plan)) {  // over unlike links: an estimate, stated as one
      CHECK(relative(fluid, m.step) < 0.05);
      continue;
    }
    CHECK(relative(fluid, m.step) < 1e-9);
    CHECK(relative(ideal, m.step) < 1e-9);
    for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
      CAPTURE(run.plan.collectives[i].tensor);
      const auto count = static_cast<double>(run.plan.collectives[i].times.size());
      CHECK(relative(m.collective_time[i], run.plan.collectives[i].analytic * count) < 1e-6);
    }
  }
}

TEST_CASE("tables keep to 100 columns") {
  for (const std::string& name : run_names()) {
    if (!replayed(prepared(name))) continue;
    const Run run = configured(name);
    std::istringstream lines(run_table(run, measure(run)));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
  }
}

TEST_CASE("same input, same bytes out") {
  for (const ReportRow& row : reports()) {
    CAPTURE(row.name);
    const auto written = [&] {
      const Run run = configured("llama3-70b-v5p-64");
      return row.write({run, measure(run), "shardsim run", {{"trace.json", "a trace"}}});
    };
    CHECK(written() == written());
  }
}

TEST_CASE("wrapped text") {
  CHECK(wrapped("one two three", 8, 2) == "one\n  two\n  three");
  CHECK(wrapped("one two three", 100, 2) == "one two three");
  CHECK(wrapped("", 10, 2) == "");
}

TEST_CASE("JSON: hostile strings, numbers that JSON lacks") {
  CHECK(to_json(Object{{"a\"b", "x\n\x01</script>"}}, -1) ==
        "{\"a\\\"b\":\"x\\n\\u0001</script>\"}\n");
  CHECK(to_json(Array{NAN, INFINITY, 0.1, nullptr, true, 3}, -1) ==
        "[null,null,0.1,null,true,3]\n");
  CHECK(to_json("\xff", -1) == "\"\xef\xbf\xbd\"\n");
}

TEST_CASE("configs/schema.json is the table that drives the loader") {
  const std::string path = data_dir() + "/configs/schema.json";
  CHECK_MESSAGE(read_file(path, 1 << 20) == to_json(json_schema(field_rows(), "run")),
                "write it anew: shardsim list schema > configs/schema.json");
}
