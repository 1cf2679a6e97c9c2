#include "ir/op_graph.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

namespace shardsim {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// op 0 compute -> op 1 transfer over links 0, 0 and 1 -> op 2 join
OpGraph three_ops() {
  OpGraph graph;
  graph.links = {{.name = "x+", .bandwidth = {1e9}}, {.name = "x-", .bandwidth = {1e9}}};
  graph.route_links = {0, 0, 1};
  graph.route_offset = {0, 3};
  graph.phases = 1;
  graph.origins = {
      {.name = "all-gather Wq over X", .stream = "X", .layer = 3, .pass = Pass::backward}};
  graph.ops = {{.kind = OpKind::compute, .seconds = {2e-6}},
               {.kind = OpKind::transfer,
                .route = RouteId{0},
                .seconds = {1e-6},
                .bytes = {8.0 * 1024 * 1024}},
               {.kind = OpKind::join}};
  graph.deps = {OpId{0}, OpId{1}};
  graph.dep_offset = {0, 0, 1, 2};
  return graph;
}

}  // namespace

TEST_CASE("op_graph: what an op waits for and which links a route takes") {
  const OpGraph graph = three_ops();
  CHECK(graph.waits_for(OpId{0}).empty());
  CHECK(graph.waits_for(OpId{2}).size() == 1);
  CHECK(graph.waits_for(OpId{2})[0] == OpId{1});
  CHECK(graph.route(RouteId{0}).size() == 3);
  CHECK(graph.route(RouteId{0})[2] == 1);
}

TEST_CASE("op_graph: descriptions") {
  OpGraph graph = three_ops();
  CHECK(describe(graph, OpId{0}) == "op 0: compute 2 us, all-gather Wq over X, backward, layer 3");
  CHECK(describe(graph, OpId{1}) ==
        "op 1: transfer 8 MiB, all-gather Wq over X, backward, layer 3");
  CHECK(describe(graph, OpId{2}) == "op 2: join, all-gather Wq over X, backward, layer 3");
  CHECK(describe(graph, OpId{9}) == "op 9 (no such op)");
  graph.origins.clear();
  CHECK(describe(graph, OpId{2}) == "op 2: join");
}

TEST_CASE("op_graph: a sound graph has nothing wrong with it") {
  CHECK(check(three_ops()).empty());
  CHECK(check(OpGraph{}).empty());
}

TEST_CASE("op_graph: each thing that can be wrong is told") {
  struct Row {
    const char* text;  // found in the first line
    std::function<void(OpGraph&)> spoil;
  };
  const Row rows[] = {
      {"op 1: transfer 8 MiB, all-gather Wq over X, backward, layer 3: waits for op 7 of 3",
       [](OpGraph& g) { g.deps[0] = OpId{7}; }},
      {"waits for itself", [](OpGraph& g) { g.deps[0] = OpId{1}; }},
      {"a cycle: op 1", [](OpGraph& g) { g.deps[0] = OpId{2}; }},
      {"a transfer without a route", [](OpGraph& g) { g.ops[1].route = kNoRoute; }},
      {"route 5 of 1", [](OpGraph& g) { g.ops[1].route = RouteId{5}; }},
      {"nan bytes", [](OpGraph& g) { g.ops[1].bytes = {kNan}; }},
      {"inf bytes", [](OpGraph& g) { g.ops[1].bytes = {kInf}; }},
      {"-1 bytes", [](OpGraph& g) { g.ops[1].bytes = {-1}; }},
      {"nan seconds", [](OpGraph& g) { g.ops[1].seconds = {kNan}; }},
      {"inf seconds", [](OpGraph& g) { g.ops[0].seconds = {kInf}; }},
      {"-1 seconds", [](OpGraph& g) { g.ops[0].seconds = {-1}; }},
      {"0 flows", [](OpGraph& g) { g.ops[1].flows = 0; }},
      {"nan flows", [](OpGraph& g) { g.ops[1].flows = kNan; }},
      {"phase 1 of 1", [](OpGraph& g) { g.ops[1].phase = 1; }},
      {"device class 4 of 1", [](OpGraph& g) { g.ops[2].device = 4; }},
      {"origin 1 of 1", [](OpGraph& g) { g.ops[2].origin = 1; }},
      {"link 1 \"x-\": its bandwidth must be above 0 and finite, found 0",
       [](OpGraph& g) { g.links[1].bandwidth = {0}; }},
      {"found nan", [](OpGraph& g) { g.links[1].bandwidth = {kNan}; }},
      {"found inf", [](OpGraph& g) { g.links[1].bandwidth = {kInf}; }},
      {"route 0 is not sorted",
       [](OpGraph& g) {
         g.route_links = {0, 1, 0};
       }},
      {"route 0 has no links",
       [](OpGraph& g) {
         g.route_links.clear();
         g.route_offset = {0, 0};
       }},
      {"route 0 uses link 2 of 2", [](OpGraph& g) { g.route_links[2] = 2; }},
      {"dep_offset does not cut", [](OpGraph& g) { g.dep_offset.pop_back(); }},
      {"dep_offset does not cut",
       [](OpGraph& g) {
         g.dep_offset = {0, 2, 1, 2};
       }},
      {"route_offset does not cut",
       [](OpGraph& g) {
         g.route_offset = {0, 2};
       }},
      {"route_offset does not cut", [](OpGraph& g) { g.route_offset.clear(); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    OpGraph graph = three_ops();
    row.spoil(graph);
    const std::vector<std::string> lines = check(graph);
    REQUIRE(!lines.empty());
    CAPTURE(lines[0]);
    CHECK(lines[0].find(row.text) != std::string::npos);
  }
}

TEST_CASE("op_graph: a cycle is printed as a path, a long one is cut") {
  OpGraph graph;
  constexpr std::uint32_t kOps = 100;
  for (std::uint32_t op = 0; op < kOps; ++op) {
    graph.ops.push_back({});
    graph.deps.push_back(OpId{(op + 1) % kOps});
    graph.dep_offset.push_back(op + 1);
  }
  const std::vector<std::string> lines = check(graph);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "a cycle: op 0: join -> op 1: join -> op 2: join -> op 3: join -> op 4: join -> op 5: join "
        "-> op 6: join -> op 7: join -> (92 more) -> op 0: join");
}

TEST_CASE("op_graph: no more lines than asked for") {
  OpGraph graph = three_ops();
  for (int i = 0; i < 100; ++i) {
    graph.ops.push_back({.kind = OpKind::compute, .seconds = {-1}});
    graph.dep_offset.push_back(2);
  }
  CHECK(check(graph).size() == 20);
  CHECK(check(graph, 3).size() == 3);
}

}  // namespace shardsim
