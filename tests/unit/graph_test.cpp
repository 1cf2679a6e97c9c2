// Explicit graphs, and links and chips that differ: routes, times against grids and hand-computed
// values, and everything that can be written wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "plan/graph_cluster.h"
#include "plan/routes.h"
#include "plan/twins.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;
using shardsim::testing::cluster_of;
using shardsim::testing::graph;
using shardsim::testing::join;
using shardsim::testing::missing;
using shardsim::testing::overridden;
using shardsim::testing::override_at;
using shardsim::testing::slower;
using shardsim::testing::word;

namespace {

constexpr Bytes kV{67108864};

struct Ended {
  Seconds time;
  CollectiveInstance what;
};

Ended run(const Cluster& made, Collective kind, const char* algorithm = nullptr) {
  CollectiveRequest request;
  request.cluster = made;
  request.full = true;
  const std::vector<int> axes = all_axes(request.cluster);
  const CollectiveAsk ask{kind, kV, 1};
  const Choice choice = choose_algorithm(ask, group_net(request.cluster, axes));
  REQUIRE(choice.best != nullptr);
  request.calls = {{ask, algorithm == nullptr ? choice.best : find_algorithm(algorithm), axes}};
  const Lowered lowered = lower_collectives(request);
  return {replay_simgrid(lowered.graph).makespan(), lowered.plan.collectives.front()};
}

double off(Seconds a, Seconds b) {
  return std::abs(a.v / b.v - 1);
}

TopologySpec ring_by_hand(int devices, Seconds latency = {}) {
  std::vector<LinkSpec> links;
  for (int d = 0; d < devices; ++d) {
    links.push_back(join(std::to_string(d), {std::to_string((d + 1) % devices)}, 100, latency));
  }
  return graph(devices, {}, std::move(links));
}

TopologySpec torus_by_hand(int a, int b) {
  std::vector<LinkSpec> links;
  for (int x = 0; x < a; ++x) {
    for (int y = 0; y < b; ++y) {
      const std::string here = std::to_string(x * b + y);
      links.push_back(join(here, {std::to_string((x + 1) % a * b + y)}));
      links.push_back(join(here, {std::to_string(x * b + (y + 1) % b)}));
    }
  }
  return graph(a * b, {}, std::move(links));
}

// Two hosts at each of four leaves, every leaf at both spines.
TopologySpec two_spines() {
  return graph(
      8, {"leaf0..leaf3", "spine0", "spine1"},
      {join("0..1", {"leaf0"}, 50, Seconds{1e-6}), join("2..3", {"leaf1"}, 50, Seconds{1e-6}),
       join("4..5", {"leaf2"}, 50, Seconds{1e-6}), join("6..7", {"leaf3"}, 50, Seconds{1e-6}),
       join("leaf0..leaf3", {"spine0", "spine1"}, 50, Seconds{1e-6})});
}

std::string problems_of(const TopologySpec& spec) {
  std::vector<Problem> problems;
  make_cluster(spec, {BytesPerSec{100e9}, 1.0, {}}, problems);
  std::string text;
  for (const Problem& p : problems) {
    text += p.message + (p.hint.empty() ? "" : " [" + p.hint + "]") + "; ";
  }
  return text;
}

std::string problems_of(const char* network, const OverrideSpec& change) {
  std::vector<Problem> problems;
  TopologySpec spec = parse_topology(network, argument_pos("test", network), problems);
  spec.overrides = {change};
  return problems_of(spec);
}

std::vector<std::string> names(const Cluster& made, const Route& route) {
  std::vector<std::string> result;
  for (const LinkId link : route.links) result.push_back(made.link_name(link));
  return result;
}

}  // namespace

TEST_CASE("a ring written out by hand is that ring") {
  for (const int n : {3, 4, 7, 8}) {
    CAPTURE(n);
    const Cluster by_hand = cluster_of(ring_by_hand(n));
    const Cluster grid = cluster("ring:" + std::to_string(n));
    for (const Collective kind :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
          Collective::all_to_all, Collective::collective_permute}) {
      CAPTURE(to_text(kind));
      const Ended a = run(by_hand, kind), b = run(grid, kind);
      CHECK(off(a.time, b.time) < 1e-9);
      CHECK(a.what.exact);
      CHECK(off(a.time, a.what.analytic) < 1e-9);
    }
    CHECK(off(run(by_hand, Collective::all_gather, "ring-whole").time,
              run(grid, Collective::all_gather, "ring-whole").time) < 1e-9);
  }
  const Seconds us{1e-6};
  const Ended late = run(cluster_of(ring_by_hand(8, us)), Collective::all_gather);
  CHECK(off(late.time, run(cluster("ring:8", us), Collective::all_gather).time) < 1e-9);
  CHECK(late.what.exact);
}

TEST_CASE("a torus written out by hand takes its all-to-all as long as the torus") {
  for (const auto& [a, b] : {std::pair{3, 3}, std::pair{4, 4}, std::pair{3, 5}}) {
    CAPTURE(a);
    const Ended by_hand = run(cluster_of(torus_by_hand(a, b)), Collective::all_to_all);
    const Ended grid = run(cluster("torus:" + std::to_string(a) + "x" + std::to_string(b)),
                           Collective::all_to_all);
    CHECK(off(by_hand.time, grid.time) < 1e-9);
    CHECK(off(by_hand.time, by_hand.what.analytic) < 1e-9);
    CHECK(by_hand.what.exact);
  }
}

TEST_CASE("equal paths share a message: two spines") {
  const Cluster made = cluster_of(two_spines());
  CHECK(made.link_count() == 32);
  const std::vector<Route> near = routes(made, DeviceId{0}, DeviceId{1});
  REQUIRE(near.size() == 1);
  CHECK(names(made, near[0]) == std::vector<std::string>{"0 to leaf0", "leaf0 to 1"});
  const std::vector<Route> far = routes(made, DeviceId{0}, DeviceId{7});
  REQUIRE(far.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string spine = "spine" + std::to_string(i);
    CHECK(far[i].share == 0.5);
    CHECK(far[i].latency == Seconds{4e-6});
    CHECK(names(made, far[i]) == std::vector<std::string>{"0 to leaf0", "leaf0 to " + spine,
                                                          spine + " to leaf3", "leaf3 to 7"});
  }
  // 7 of 64 chunks leave every host; 12 leave a leaf, over two links. The first round has messages
  // to other leaves, 4 links away.
  const Ended free = run(made, Collective::all_to_all);
  CHECK(off(free.what.analytic, Seconds{7.0 / 64 * kV.v / 50e9 + 4e-6}) < 1e-9);
  // With one spine, 12 chunks pass one link.
  TopologySpec narrow = two_spines();
  narrow.switches.pop_back();
  narrow.links.back().to.pop_back();
  for (LinkSpec& link : narrow.links) link.latency.value = {};
  const Ended one = run(cluster_of(narrow), Collective::all_to_all);
  CHECK(off(one.time, Seconds{12.0 / 64 * kV.v / 50e9}) < 1e-9);
  CHECK(off(one.what.analytic, one.time) < 1e-9);
}

TEST_CASE("every kind has an algorithm on a graph, over all of it or parts") {
  Cluster made = cluster_of(two_spines());
  split_axis(made, 0, 4);
  for (const std::vector<int>& axes : {std::vector<int>{0, 1}, {0}, {1}, {1, 0}}) {
    const GroupNet net = group_net(made, axes);
    for (const Collective kind : collective_kinds()) {
      CAPTURE(to_text(kind));
      const CollectiveAsk ask{kind, kV, 1};
      const Choice choice = choose_algorithm(ask, net);
      REQUIRE(choice.best != nullptr);
      CollectiveRequest request;
      request.cluster = made;
      request.calls = {{ask, choice.best, axes}};
      const Lowered lowered = lower_collectives(request);
      const Seconds end = replay_simgrid(lowered.graph).makespan();
      const CollectiveInstance& what = lowered.plan.collectives.front();
      CHECK(end.v > 0);
      if (what.exact) CHECK(off(end, what.analytic) < 1e-9);
    }
  }
}

TEST_CASE("under a graph's switches no closed form that auto compares is far below the replay") {
  const Cluster made = cluster_of(two_spines());
  const auto ratio = [](const Ended& ended) { return ended.what.analytic.v / ended.time.v; };
  for (const Collective kind : collective_kinds()) {
    if (kind == Collective::collective_permute) continue;
    const Ended ended = run(made, kind);
    CAPTURE(to_text(kind));
    CAPTURE(ended.what.algorithm);
    CHECK(ratio(ended) > 0.9);
  }
  // Both of its ways pass a device's one link.
  CHECK(ratio(run(made, Collective::all_reduce, "chain")) > 0.9);
}

TEST_CASE("a degraded link: hand-computed times") {
  // ring-oneway: every step waits for the slow link, 7 shards of V/8 at 10 GB/s.
  const Cluster slow = overridden("ring-oneway:8", {slower("x+", {{"x", 3, {}}}, 10)});
  const Ended gathered = run(slow, Collective::all_gather);
  CHECK(off(gathered.time, Seconds{7.0 / 8 * kV.v / 10e9}) < 1e-9);
  CHECK(off(gathered.what.analytic, gathered.time) < 1e-9);
  CHECK(!gathered.what.exact);
  // A ring's cable is slow both ways; with both_ways false only one.
  CHECK(overridden("ring:8", {slower("x+", {{"x", 3, {}}}, 10)}).changed.size() == 2);
  OverrideSpec one_way = slower("x+", {{"x", 3, {}}}, 10);
  one_way.both_ways = {false, {}, true};
  const Cluster half = overridden("ring:8", {one_way});
  REQUIRE(half.changed.size() == 1);
  CHECK(half.link_name(half.changed.begin()->first) == "x+ of device 3 (3)");
  // A switch: the seven chunks of 64 that leave its device through 25 GB/s.
  const Ended out =
      run(overridden("switch:8", {slower("up", {{"n", 5, {}}}, 25)}), Collective::all_to_all);
  CHECK(off(out.time, Seconds{7.0 / 64 * kV.v / 25e9}) < 1e-9);
}

TEST_CASE("a ring without one cable is a line") {
  const Cluster open = overridden("ring:8", {missing("x+", {{"x", 2, {}}})});
  const std::vector<Route> way = routes(open, DeviceId{2}, DeviceId{3});
  REQUIRE(way.size() == 1);
  CHECK(way[0].links.size() == 7);
  CHECK(open.link_name(way[0].links.front()) == "x- of device 2 (2)");
  for (const Collective kind : {Collective::all_gather, Collective::all_to_all}) {
    const Ended cut = run(open, kind);
    CHECK(off(cut.time, run(cluster("line:8"), kind).time) < 1e-9);
    CHECK(!cut.what.exact);
  }
}

namespace {

Cluster overridden_levels(const char* text, const OverrideSpec& change) {
  TopologySpec spec = shardsim::testing::levels_of(text, Seconds{1e-6}, BytesPerSec{100e9});
  spec.overrides = {change};
  return cluster_of(spec, BytesPerSec{100e9}, Seconds{1e-6});
}

Seconds inside(const Cluster& made, Collective kind, int axis) {
  CollectiveRequest request;
  request.cluster = made;
  request.calls = {{{kind, kV, 1}, find_algorithm("direct"), {axis}}};
  return replay_simgrid(lower_collectives(request).graph).makespan();
}

}  // namespace

TEST_CASE("a link missing in a grid inside other levels: round about within the grid") {
  const char* text = "ring:4 | switch:2";
  const Cluster whole = cluster(text, Seconds{1e-6});
  const std::string x = whole.axes[1].name;
  const Cluster every = overridden_levels(text, missing(x + "+", {{x, 1, {}}}));
  const Cluster one =
      overridden_levels(text, missing(x + "+", {{x, 1, {}}, {whole.axes[0].name, 1, {}}}));
  CHECK(every.changed.size() == 4);
  CHECK(one.changed.size() == 2);
  const Cluster alone = overridden("ring:4", {missing("x+", {{"x", 1, {}}})}, Seconds{1e-6});
  CHECK(routes(one, DeviceId{1}, DeviceId{2}).front().links.size() == 1);
  const std::vector<Route> round = routes(one, DeviceId{5}, DeviceId{6});
  REQUIRE(round.size() == 1);
  CHECK(round[0].links.size() == 3);
  CHECK(round[0].latency.v == doctest::Approx(3e-6).epsilon(1e-12));
  const Seconds time = inside(alone, Collective::all_to_all, 0);
  CHECK(off(inside(every, Collective::all_to_all, 1), time) < 1e-9);
  CHECK(off(inside(one, Collective::all_to_all, 1), time) < 1e-9);
  CHECK(inside(whole, Collective::all_to_all, 1) < 0.9 * time);
  for (const Collective kind : collective_kinds()) {
    CAPTURE(to_text(kind));
    if (kind == Collective::collective_permute) continue;
    CHECK(run(one, kind).time >= run(whole, kind).time * (1 - 1e-9));
  }
}

TEST_CASE("a way that goes to the right position inside first goes round a missing cable there") {
  const Cluster rails = cluster("full-mesh:3 | rails:2");
  const std::string n = rails.axes[1].name, port = rails.ports.front().name;
  const Cluster made = overridden_levels("full-mesh:3 | rails:2", missing(port, {{n, 0, {}}}));
  const std::vector<Route> before = routes(rails, DeviceId{0}, DeviceId{4});
  REQUIRE(before.size() == 1);
  CHECK(before[0].links.size() == 3);  // the cable, up, down
  const std::vector<Route> after = routes(made, DeviceId{0}, DeviceId{4});
  REQUIRE(after.size() == 1);
  REQUIRE(after[0].links.size() == 4);
  CHECK(made.owner(after[0].links[1]) == DeviceId{2});  // by the third of the node
  CHECK(std::vector<LinkId>(after[0].links.end() - 2, after[0].links.end()) ==
        std::vector<LinkId>(before[0].links.end() - 2, before[0].links.end()));
}

TEST_CASE("ops are estimated with the paths that messages are split over") {
  const Cluster made = cluster_of(two_spines());
  for (const Collective kind : {Collective::all_to_all, Collective::all_gather}) {
    CAPTURE(to_text(kind));
    CollectiveRequest request;
    request.cluster = made;
    request.full = true;
    const CollectiveAsk ask{kind, kV, 1};
    const Choice choice = choose_algorithm(ask, group_net(made, all_axes(made)));
    request.calls = {{ask, choice.best, all_axes(made)}};
    const OpGraph ops = lower_collectives(request).graph;
    const auto transfers = std::count_if(ops.ops.begin(), ops.ops.end(),
                                         [](const Op& op) { return op.kind == OpKind::transfer; });
    CHECK(estimated_ops(request.calls[0], made, Fold::full(made), Grain::flow) ==
          doctest::Approx(1.1 * static_cast<double>(transfers)).epsilon(1e-12));
  }
  // Every pair of 1,024 devices over 16 spines: 1.1 * 1024 * 1023 * 16.
  const Cluster large = cluster_of(graph(1024, {"spine0..spine15"}, {join("0..1023", [] {
                                           std::vector<std::string> spines;
                                           for (int i = 0; i < 16; ++i)
                                             spines.push_back("spine" + std::to_string(i));
                                           return spines;
                                         }())}));
  const CollectiveAsk ask{Collective::all_to_all, kV, 1};
  const CollectiveCall call{ask, find_algorithm("direct"), {0}};
  const double ops = estimated_ops(call, large, Fold::full(large), Grain::flow);
  CHECK(ops == doctest::Approx(1.1 * 1024 * 1023 * 16).epsilon(1e-12));
  // Fluid: up to 1,023 rounds, each of which loads all 2 * 1024 * 16 links.
  CHECK(estimated_ops(call, large, Fold::full(large), Grain::fluid) == 1023.0 * 32768);
  CHECK_THROWS_AS(refuse_too_many_ops(ops, {}, argument_pos("test", "x")), ConfigError);
}

TEST_CASE("switches with the same links are replayed as one, at the same times as each alone") {
  // 12 hosts on 3 leaves under spines of 10 GB/s.
  const auto fat_tree = [](double last_spine) {
    return graph(
        12, {"leaf0..leaf2", "spine0..spine3"},
        {join("0..3", {"leaf0"}, 25, Seconds{1e-6}), join("4..7", {"leaf1"}, 25, Seconds{1e-6}),
         join("8..11", {"leaf2"}, 25, Seconds{1e-6}),
         join("leaf0..leaf2", {"spine0", "spine1", "spine2"}, 10, Seconds{2e-6}),
         join("leaf0..leaf2", {"spine3"}, last_spine, Seconds{2e-6})});
  };
  const Cluster made = cluster_of(fat_tree(10));
  const TwinsAsOne one = twins_as_one(made);
  CHECK(one.said == std::vector<std::string>{"4 like spine0"});
  REQUIRE(one.cluster.cables.size() == 30);
  CHECK(one.cluster.cables.back().bandwidth == BytesPerSec{40e9});
  for (const Collective kind : {Collective::all_to_all, Collective::all_gather,
                                Collective::all_reduce, Collective::broadcast}) {
    CAPTURE(to_text(kind));
    CollectiveRequest request;
    request.cluster = made;
    const std::vector<int> axes = all_axes(made);
    const CollectiveAsk ask{kind, kV, 1};
    request.calls = {{ask, choose_algorithm(ask, group_net(made, axes)).best, axes}};
    const OpGraph folded = lower_collectives(request).graph;
    request.full = true;
    const OpGraph full = lower_collectives(request).graph;
    CHECK(folded.size() < full.size());
    CHECK(off(replay_simgrid(folded).makespan(), replay_simgrid(full).makespan()) < 1e-9);
  }
  // Three alike beside a fourth would be one of two ways instead of three of four.
  CHECK(twins_as_one(cluster_of(fat_tree(5))).said.empty());
  CHECK(twins_as_one(cluster("torus:4x4")).said.empty());
  // 9 * 9 paths: a message takes 64 of them, not evenly.
  const Cluster many =
      cluster_of(graph(2, {"a0..a8", "b0..b8"},
                       {join("0", {"a0..a8"}), join("1", {"b0..b8"}),
                        join("a0..a8", {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"})}));
  CHECK(twins_as_one(many).said.empty());
}

TEST_CASE("what graphs get wrong") {
  CHECK(problems_of(graph(4, {}, {join("0", {"1"}), join("2", {"3"})})) ==
        "expected every device to reach every other, found no way from 0 to 2; ");
  LinkSpec there = join("1", {"0"});
  there.both_ways = {false, {}, true};
  CHECK(problems_of(graph(2, {}, {there})) ==
        "expected every device to reach every other, found no way from 0 to 1; ");
  CHECK(problems_of(graph(3, {}, {join("0", {"1"}), join("1", {"1"})})) ==
        "expected a link between two nodes, found one from 1 to itself; "
        "expected links at every device and switch, found none at 2; ");
  CHECK(problems_of(graph(2, {}, {join("0", {"1"}, 0)})) ==
        "expected a bandwidth above 0, found 0 [for example bandwidth: 50 GB/s]; ");
  CHECK(problems_of(graph(2, {"spine"}, {join("0..1", {"spin"})})) ==
        "expected a device 0 to 1 or a switch, found \"spin\" [did you mean \"spine\"?]; ");
  CHECK(problems_of(graph(2, {}, {join("0", {"2"})})) == "expected a device 0 to 1, found \"2\"; ");
  CHECK(problems_of(graph(2, {}, {join("0", {"1"}), join("1", {"0"})})) ==
        "the link from 1 to 0 is there twice [a link with more bandwidth stands for several]; ");
  CHECK(problems_of(graph(8, {}, {})) ==
        "expected links between the 8 devices, found none [for example links: [{from: 0..7, to: "
        "s0}]]; ");
  CHECK(problems_of(graph(4, {"s"}, {join("0..1", {"s"})})) ==
        "expected links at every device and switch, found none at 2, 3; ");
  CHECK(problems_of(graph(1, {}, {join("0", {"0"})})) ==
        "expected 2 to 4096 devices in a graph, found 1 [for example devices: 8]; "
        "expected a link between two nodes, found one from 0 to itself; ");
  CHECK(problems_of(graph(2, {"s", "s"}, {join("0..1", {"s"})})) == "switch s is there twice; ");
  CHECK(problems_of(graph(2, {"7"}, {join("0..1", {"7"})})) ==
        "expected a name of a switch, found \"7\" [numbers are devices]; ");
  CHECK(problems_of(graph(2, {"s"}, {join("1..0", {"s"})})) ==
        "expected a range that goes up, found \"1..0\" [did you mean 0..1?]; ");
}

TEST_CASE("what overrides get wrong") {
  CHECK(problems_of("torus:4x4", slower("x", {}, 10)) ==
        "expected a link of torus:4x4, found \"x\" [expected one of x+, x-, y+, y-]; ");
  CHECK(problems_of("torus:4x4", slower("x+", {{"X", 1, {}}}, 10)) ==
        "expected an axis of torus:4x4, found \"X\" [did you mean \"x\"?]; ");
  CHECK(problems_of("torus:4x4", slower("x+", {{"x", 4, {}}}, 10)) ==
        "expected x from 0 to 3, found 4; ");
  CHECK(problems_of("line:4", slower("x+", {{"x", 3, {}}}, 10)) ==
        "expected a link, found that x+ leads nowhere there [the ends of a line are not joined]; ");
  CHECK(problems_of("torus:4x4", slower("x+", {}, 100)) ==
        "expected a change, found the figures that the link has; ");
  CHECK(problems_of("torus:4x4", slower("x+", {}, 0)) ==
        "expected a bandwidth above 0, found 0 [missing: true takes a link out]; ");
  CHECK(problems_of("torus:4x4", override_at("x+", {})) ==
        "expected bandwidth, latency or missing of the link, found none; ");
  OverrideSpec chip = override_at("", {{"x", 1, {}}});
  CHECK(problems_of("torus:4x4", chip) ==
        "expected link, from and to, or speed in an override, found none "
        "[for example {link: x+, at: {x: 3}, bandwidth: 10 GB/s}]; ");
  chip.speed = {1, {}, true};
  CHECK(problems_of("torus:4x4", chip) ==
        "expected a change, found the speed 1 that the chips have; ");
  OverrideSpec between = slower("", {}, 10);
  between.from = {{word("0")}, {}, true};
  CHECK(problems_of("torus:4x4", between) == "expected from and to, found from alone; ");
  between.to = {{word("5")}, {}, true};
  CHECK(problems_of("torus:4x4", between) ==
        "expected a link, found none from 0 (0,0) to 5 (1,1) [0 (0,0) is joined to 4 (1,0), "
        "12 (3,0), 1 (0,1), 3 (0,3)]; ");
  between.to = {{word("0"), word("9")}, {}, true};
  CHECK(problems_of("torus:4x4", between) == "expected y from 0 to 3, found \"9\"; ");
  CHECK(problems_of("line:4", missing("x+", {{"x", 1, {}}})) ==
        "expected every device to reach every other, found no way from 0 to 2; ");
  CHECK(
      problems_of("switch:4", missing("up", {{"n", 1, {}}})) ==
      "expected missing for a link between two nodes, found it for a port of a switch "
      "[its device would be cut off; of several cables that make one port, give the bandwidth that "
      "is left]; ");
}
