#include "ir/timeline.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

namespace shardsim {

namespace {

// Two transfers of 1000 B share a link of 1000 B/s from 1 s to 3 s, after a latency of 1 s; op 2
// loads it twice with 500 B after both.
struct Case {
  OpGraph graph;
  Timeline timeline;
};

Case shared_link() {
  Case out;
  out.graph.links = {{.name = "x+", .bandwidth = {1000}}};
  out.graph.route_links = {0, 0, 0};
  out.graph.route_offset = {0, 1, 3};
  out.graph.phases = 2;
  out.graph.ops = {{.kind = OpKind::transfer, .route = RouteId{0}, .seconds = {1}, .bytes = {1000}},
                   {.kind = OpKind::transfer, .route = RouteId{0}, .seconds = {1}, .bytes = {1000}},
                   {.kind = OpKind::transfer, .phase = 1, .route = RouteId{1}, .bytes = {500}}};
  out.graph.deps = {OpId{0}, OpId{1}};
  out.graph.dep_offset = {0, 0, 0, 2};
  out.timeline = {.start = {{0}, {0}, {3}}, .end = {{3}, {3}, {4}}};
  return out;
}

}  // namespace

TEST_CASE("timeline: makespan") {
  CHECK(Timeline{}.makespan() == Seconds{0});
  CHECK(shared_link().timeline.makespan() == Seconds{4});
}

TEST_CASE("timeline: a consistent one passes, each fault is told") {
  CHECK(check(shared_link().timeline, shared_link().graph).empty());
  struct Row {
    const char* text;
    std::function<void(Timeline&)> spoil;
  };
  const Row rows[] = {
      {"2 starts and 3 ends for 3 ops", [](Timeline& t) { t.start.pop_back(); }},
      {"op 2: transfer 500 B: starts at 2.9 s, before op 0: transfer 1000 B ends at 3 s",
       [](Timeline& t) { t.start[2] = {2.9}; }},
      {"op 1: transfer 1000 B: runs from 3.5 to 3 s", [](Timeline& t) { t.start[1] = {3.5}; }},
      {"runs from 0 to nan s",
       [](Timeline& t) { t.end[1] = {std::numeric_limits<double>::quiet_NaN()}; }},
      {"runs from 0 to inf s",
       [](Timeline& t) {
         t.end[2] = {std::numeric_limits<double>::infinity()};
         t.start[2] = {0};
       }},
      {"runs from -1 to 3 s", [](Timeline& t) { t.start[0] = {-1}; }},
      // Each of the next two is possible for the op alone.
      {"op 2: transfer 500 B: takes 900 ms, but alone it needs 1 s",
       [](Timeline& t) { t.end[2] = {3.9}; }},
      {"op 0: transfer 1000 B: takes 1.9 s, but alone it needs 2 s",
       [](Timeline& t) { t.end[0] = {1.9}; }},
      {"link 0 \"x+\": carries 2.93 KiB in 2.9 s at 1 kB/s",
       [](Timeline& t) {
         t = {.start = {{0}, {0}, {2.9}}, .end = {{2.9}, {2.9}, {3.9}}};
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Case spoilt = shared_link();
    row.spoil(spoilt.timeline);
    const std::vector<std::string> lines = check(spoilt.timeline, spoilt.graph);
    REQUIRE(!lines.empty());
    CAPTURE(lines[0]);
    CHECK(lines[0].find(row.text) != std::string::npos);
  }
}

TEST_CASE("timeline: the tolerance is 1e-9") {
  for (const double error : {1e-12, 1e-10, 1e-8, 1e-6}) {
    CAPTURE(error);
    Case early = shared_link();
    early.timeline.start[2] = Seconds{3 * (1 - error)};
    CHECK(check(early.timeline, early.graph).empty() == (error < 1e-9));
    Case fast = shared_link();
    fast.timeline.end[2] = Seconds{4 * (1 - error)};
    CHECK(check(fast.timeline, fast.graph).empty() == (error < 1e-9));
  }
}

TEST_CASE("timeline: no more lines than asked for") {
  Case bad = shared_link();
  bad.timeline = {.start = {{0}, {0}, {0}}, .end = {{0}, {0}, {0}}};
  CHECK(check(bad.timeline, bad.graph).size() == 3);
  CHECK(check(bad.timeline, bad.graph, 2).size() == 2);
}

}  // namespace shardsim
