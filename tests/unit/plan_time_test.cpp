// Plans laid over unlike links: equal to closed forms where links are alike, and a choice that the
// simulation bears out where they are not.
#include "plan/plan_time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;
using shardsim::testing::cluster_of;
using shardsim::testing::graph;
using shardsim::testing::join;
using shardsim::testing::missing;
using shardsim::testing::overridden;
using shardsim::testing::simulated;
using shardsim::testing::slower;

namespace {

constexpr Bytes kV{67108864};

}  // namespace

TEST_CASE("plan time: the closed form where links are alike and steps keep pace") {
  struct Row {
    const char* network;
    const char* algorithm;
  };
  const std::vector<Row> rows = {{"ring:8", "ring"},        {"ring:8", "ring-oneway"},
                                 {"line:6", "line"},        {"torus:4x4", "axis-by-axis"},
                                 {"torus:4x4", "all-axes"}, {"torus:4x4", "snake"},
                                 {"switch:8", "direct"},    {"switch:8", "recursive-doubling"}};
  for (const Row& row : rows) {
    const Cluster made = cluster(row.network, Seconds{1e-6});
    const GroupNet net = group_net(made, all_axes(made));
    for (const Collective kind :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
      const CollectiveAsk ask{kind, kV};
      const AlgorithmRow& algorithm = *find_algorithm(row.algorithm);
      if (!unsuited(algorithm, ask, net).empty()) continue;
      CAPTURE(row.network);
      CAPTURE(row.algorithm);
      CAPTURE(to_text(kind));
      const Seconds time = plan_time(algorithm.plan(ask, net, net.sizes()), made, net, kV);
      CHECK(std::abs(time / algorithm.closed_form(ask, net).time - 1) < 1e-9);
    }
    CHECK(!choose_by_plan_time({Collective::all_gather, kV}, made, net).has_value());
  }
}

TEST_CASE("plan time: on overridden networks auto takes what the simulation finds fastest") {
  const std::vector<Cluster> networks = {
      overridden("torus:4x4", {slower("x+", {{"x", 3, {}}, {"y", 0, {}}}, 10)}),
      overridden("torus:4x4", {missing("x+", {{"x", 3, {}}, {"y", 0, {}}})}),
      overridden("mesh:4x2", {slower("y+", {{"x", 1, {}}, {"y", 0, {}}}, 20)}),
      overridden("ring:8", {slower("x+", {{"x", 2, {}}}, 10)}),
      cluster_of(
          graph(6, {}, {join("0..4", {"1..5"}), join("0", {"3"}, 50), join("2", {"5"}, 25)}))};
  for (const Cluster& made : networks) {
    const GroupNet net = group_net(made, all_axes(made));
    for (const Collective kind :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
      const CollectiveAsk ask{kind, kV};
      std::vector<Problem> problems;
      const AlgorithmChoice choice =
          pick_algorithm("auto", {ask, nullptr, all_axes(made)}, made, {}, problems);
      REQUIRE(choice.row != nullptr);
      CAPTURE(made.text);
      CAPTURE(to_text(kind));
      CAPTURE(choice.reason);
      CHECK(choice.reason.find("laid over these links") != std::string::npos);
      const Seconds taken = simulated(made, ask, *choice.row);
      for (const AlgorithmRow* row : considered(ask, net)) {
        CAPTURE(row->name);
        CHECK(taken < simulated(made, ask, *row) * 1.02);
      }
    }
  }
}

// What leads to the slow link and what follows its last send add to what it carries: the stages
// along y before and after, 503 us of 1,761.
TEST_CASE("plan time: a slow link is busy between the stages before and after") {
  const Cluster made = overridden("torus:4x4", {slower("x+", {{"x", 3, {}}, {"y", 0, {}}}, 10)});
  const GroupNet net = group_net(made, all_axes(made));
  const AlgorithmRow& row = *find_algorithm("axis-by-axis");
  for (const Collective kind :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    CAPTURE(to_text(kind));
    const CollectiveAsk ask{kind, kV};
    const std::optional<Seconds> estimated = plan_time(row, ask, made, net);
    REQUIRE(estimated.has_value());
    CHECK(std::abs(*estimated / simulated(made, ask, row) - 1) < 1e-9);
  }
}

TEST_CASE("plan time: the snake passes a slow cable by") {
  const Cluster made = overridden("torus:4x4", {slower("x+", {{"x", 3, {}}, {"y", 0, {}}}, 10)});
  const CollectiveAsk ask{Collective::all_gather, kV};
  const auto choice = choose_by_plan_time(ask, made, group_net(made, all_axes(made)));
  REQUIRE(choice.has_value());
  CHECK(choice->best->name == "snake");
  // 15 steps of half a shard of V/16 at 100 GB/s.
  CHECK(std::abs(choice->best_time.v / (15.0 / 32 * kV.v / 100e9) - 1) < 1e-9);
}

// Where a later step runs into an earlier one on a slow port or round a missing link, neither the
// longest chain of sends nor what a link carries in all is the time: both were a quarter low.
TEST_CASE("plan time: steps that run into each other on a link") {
  struct Row {
    Cluster network;
    Collective kind;
    const char* algorithm;
  };
  const Cluster port = overridden("switch:8", {slower("up", {{"n", 3, {}}}, 20)});
  const Cluster ring = overridden("ring:8", {missing("x+", {{"x", 2, {}}})});
  const Cluster torus = overridden("torus:4x4", {missing("x+", {{"x", 3, {}}, {"y", 0, {}}})});
  const std::vector<Row> rows = {
      {port, Collective::all_reduce, "ring-oneway"}, {ring, Collective::all_reduce, "ring"},
      {ring, Collective::broadcast, "chain"},        {ring, Collective::all_reduce, "axis-tree"},
      {torus, Collective::broadcast, "axis-tree"},   {torus, Collective::all_reduce, "axis-tree"}};
  for (const Row& row : rows) {
    const Cluster& made = row.network;
    const GroupNet net = group_net(made, all_axes(made));
    const CollectiveAsk ask{row.kind, kV};
    const AlgorithmRow& algorithm = *find_algorithm(row.algorithm);
    CAPTURE(made.text);
    CAPTURE(to_text(row.kind));
    CAPTURE(row.algorithm);
    const std::optional<Seconds> time = plan_time(algorithm, ask, made, net);
    REQUIRE(time.has_value());
    CHECK(std::abs(*time / simulated(made, ask, algorithm) - 1) < 1e-9);
  }
}

// Five devices under two switches, the uplink slower than what enters; six under one.
TEST_CASE("plan time: on a graph where the closed form is not exact, and nowhere else") {
  const std::vector<Cluster> networks = {
      cluster_of(
          graph(5, {"s0", "s1"},
                {join("0..2", {"s0"}, 50, Seconds{1e-6}), join("3..4", {"s1"}, 25, Seconds{2e-6}),
                 join("s0", {"s1"}, 40, Seconds{3e-6})})),
      cluster_of(graph(6, {"s"}, {join("0..5", {"s"}, 50, Seconds{1e-6})}))};
  std::size_t estimates = 0, exact = 0;
  for (const Cluster& made : networks) {
    const GroupNet net = group_net(made, all_axes(made));
    for (const Collective kind : collective_kinds()) {
      const CollectiveAsk ask{kind, kind == Collective::barrier ? Bytes{} : kV};
      for (const AlgorithmRow* row : considered(ask, net)) {
        CAPTURE(made.devices());
        CAPTURE(to_text(kind));
        CAPTURE(row->name);
        const ClosedForm form = row->closed_form(ask, net);
        const std::optional<Seconds> time = plan_time(*row, ask, made, net);
        CHECK(time.has_value() == !form.exact);
        (time ? estimates : exact) += 1;
        const double ratio = time.value_or(form.time) / simulated(made, ask, *row);
        CHECK(std::abs(ratio - 1) < (time ? 0.05 : 1e-9));
      }
    }
  }
  CHECK(estimates > 10);
  CHECK(exact > 3);
}
