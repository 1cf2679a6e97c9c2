#include "plan/clusters.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "../support/networks.h"
#include "plan/algorithms.h"
#include "plan/placement.h"
#include "plan/routes.h"

using namespace shardsim;
using shardsim::testing::cluster;
using shardsim::testing::small_networks;

namespace {

DeviceId translated(const Cluster& c, DeviceId device, std::size_t axis, int by) {
  std::vector<int> at = c.coordinates(device);
  at[axis] = (at[axis] + by) % c.axes[axis].size;
  return c.device(at);
}

LinkId translated(const Cluster& c, LinkId link, std::size_t axis, int by) {
  const int port = static_cast<int>(static_cast<std::uint32_t>(link) % c.ports.size());
  return c.link(translated(c, c.owner(link), axis, by), port);
}

MeshSpec mesh_of(std::vector<MeshAxisSpec> axes, const char* order = nullptr) {
  MeshSpec spec;
  spec.axes = std::move(axes);
  spec.pos = argument_pos("mesh", "mesh");
  if (order != nullptr) spec.order = {order, argument_pos("order", order), true};
  return spec;
}

MeshAxisSpec spans(const char* name, std::vector<std::string> axes) {
  MeshAxisSpec axis;
  axis.name = name;
  for (const std::string& a : axes) axis.axes.push_back({a, argument_pos("axis", a), true});
  return axis;
}

MeshAxisSpec sized(const char* name, int size) {
  MeshAxisSpec axis;
  axis.name = name;
  axis.size = size;
  axis.pos = argument_pos("axis", name);
  return axis;
}

std::string problems_of(const MeshSpec& spec, const char* network) {
  Cluster c = cluster(network);
  std::vector<Problem> problems;
  place_mesh(spec, c, problems);
  std::string text;
  for (const Problem& p : problems) text += p.message + "; ";
  return text;
}

}  // namespace

TEST_CASE("translations map every route onto the route between the translated devices") {
  for (const std::string& name : small_networks()) {
    CAPTURE(name);
    const Cluster c = cluster(name, Seconds{1e-6});
    for (std::size_t axis = 0; axis < c.axes.size(); ++axis) {
      if (!c.uniform(static_cast<int>(axis))) continue;
      for (int to = 1; to < c.devices(); ++to) {
        const std::vector<Route> before =
            routes(c, DeviceId{0}, DeviceId{static_cast<std::uint32_t>(to)});
        const std::vector<Route> after =
            routes(c, translated(c, DeviceId{0}, axis, 1),
                   translated(c, DeviceId{static_cast<std::uint32_t>(to)}, axis, 1));
        REQUIRE(before.size() == after.size());
        for (std::size_t r = 0; r < before.size(); ++r) {
          CHECK(before[r].share == after[r].share);
          REQUIRE(before[r].links.size() == after[r].links.size());
          for (std::size_t l = 0; l < before[r].links.size(); ++l) {
            CHECK(translated(c, before[r].links[l], axis, 1) == after[r].links[l]);
          }
        }
      }
    }
  }
}

TEST_CASE("routes lead from neighbour to neighbour and end where they should") {
  for (const std::string& name : small_networks()) {
    const Cluster c = cluster(name);
    const bool through_switch = std::any_of(c.axes.begin(), c.axes.end(),
                                            [](const Axis& a) { return a.wiring == Wiring::star; });
    if (through_switch) continue;
    CAPTURE(name);
    for (std::uint32_t to = 1; to < static_cast<std::uint32_t>(c.devices()); ++to) {
      double share = 0;
      for (const Route& route : routes(c, DeviceId{0}, DeviceId{to})) {
        share += route.share;
        std::vector<int> at = c.coordinates(DeviceId{0});
        for (const LinkId link : route.links) {
          CHECK(c.owner(link) == c.device(at));
          const Port& port = c.port(link);
          const auto axis = static_cast<std::size_t>(port.axis);
          at[axis] = (at[axis] + port.direction + c.axes[axis].size) % c.axes[axis].size;
        }
        CHECK(c.device(at) == DeviceId{to});
      }
      CHECK(share == doctest::Approx(1.0));
    }
  }
}

TEST_CASE("folding: classes, representatives and class numbers agree") {
  const Cluster c = cluster("torus:4x6");
  for (const Fold& fold : {Fold::full(c), Fold::orbits(c), Fold{{2, 3}}}) {
    const std::vector<DeviceId> devices = fold.representatives(c);
    CHECK(static_cast<int>(devices.size()) == fold.classes());
    for (std::size_t i = 0; i < devices.size(); ++i) CHECK(fold.class_of(c, devices[i]) == i);
    for (std::uint32_t d = 0; d < 24; ++d) {
      CHECK(devices[fold.class_of(c, DeviceId{d})] == fold.representative(c, DeviceId{d}));
    }
  }
}

TEST_CASE("a mesh spans hardware axes, major first") {
  Cluster c = cluster("torus:4x2x3");
  std::vector<Problem> problems;
  const Mesh mesh = place_mesh(mesh_of({spans("X", {"x", "z"}), spans("Y", {"y"})}), c, problems);
  CHECK(problems.empty());
  CHECK(mesh.find("X")->size == 12);
  CHECK(mesh.find("X")->axes == std::vector<int>{0, 2});
  CHECK(mesh.find("Y")->size == 2);
}

TEST_CASE("sizes alone: row-major and innermost-first; a switch is renumbered") {
  Cluster torus = cluster("torus:4x2x3");
  std::vector<Problem> problems;
  Mesh mesh = place_mesh(mesh_of({sized("X", 8), sized("Y", 3)}, "row-major"), torus, problems);
  CHECK(mesh.find("X")->axes == std::vector<int>{0, 1});
  mesh = place_mesh(mesh_of({sized("X", 6), sized("Y", 4)}, "innermost-first"), torus, problems);
  CHECK(mesh.find("X")->axes == std::vector<int>{1, 2});
  CHECK(mesh.axes[0].name == "X");

  Cluster star = cluster("switch:8");
  mesh = place_mesh(mesh_of({sized("X", 2), sized("Y", 4)}, "row-major"), star, problems);
  CHECK(problems.empty());
  REQUIRE(star.axes.size() == 2);
  CHECK(star.axes[0].name == "n1");
  CHECK(star.axes[1].size == 4);
  CHECK(star.devices() == 8);
}

TEST_CASE(
    "a ring taken apart: neighbours of the major part are strided, the minor part is a line") {
  Cluster c = cluster("ring:12", Seconds{1e-6});
  std::vector<Problem> problems;
  place_mesh(mesh_of({sized("X", 3), sized("Y", 4)}, "row-major"), c, problems);
  REQUIRE(problems.empty());
  const std::vector<int> x = {0}, y = {1}, both = {0, 1};
  const GroupNet strided = group_net(c, x);
  CHECK(strided.axes[0].wiring == Wiring::ring);
  CHECK(strided.axes[0].w1 == BytesPerSec{25e9});  // four interleaved groups pass every link
  CHECK(strided.axes[0].latency == Seconds{4e-6});
  const GroupNet line = group_net(c, y);
  CHECK(line.axes[0].wiring == Wiring::line);
  CHECK(line.axes[0].w1 == BytesPerSec{100e9});
  const GroupNet whole = group_net(c, both);
  REQUIRE(whole.axes.size() == 1);
  CHECK(whole.axes[0].size == 12);
  CHECK(whole.axes[0].wiring == Wiring::ring);
  CHECK(Fold::orbits(c).step == std::vector<int>{1, 4});
}

TEST_CASE("levels: who owns the ports, what an oversubscribed leaf leaves") {
  const Cluster c = cluster("switch:4 | switch:3 | switch:2 /3");  // nodes, leaves, spine
  REQUIRE(c.levels.size() == 3);
  CHECK(c.text == "switch:4 | switch:3 | switch:2 /3");
  const DeviceId from = c.device(std::vector<int>{0, 1, 2}),
                 to = c.device(std::vector<int>{1, 0, 3});
  const std::vector<Route> way = routes(c, from, to);
  REQUIRE(way.size() == 1);
  std::vector<std::string> names;
  for (const LinkId link : way[0].links) names.push_back(c.link_name(link));
  CHECK(names == std::vector<std::string>{"l1 up of device 6 (0,1,2)", "l2 up of device 0 (0,0,0)",
                                          "l2 down of device 12 (1,0,0)",
                                          "l1 down of device 15 (1,0,3)"});
  // 12 devices of 50 GB/s send through a third of that.
  CHECK(c.port(way[0].links[1]).bandwidth == BytesPerSec{200e9});
  const std::vector<int> spine = {0};
  CHECK(group_net(c, spine).axes[0].w1 / BytesPerSec{1e9} == doctest::Approx(50.0 / 3));
}

TEST_CASE("levels: a core carries what the spines below it can send, not what their leaves could") {
  // 4 NICs of 100 GB/s, halved by the leaf's uplinks: 3 spines of 200 GB/s over 1.5 are 400.
  const Cluster core = cluster("switch:4 | switch:3 /2 | switch:2 /1.5");
  REQUIRE(core.levels[2].up.size() == 3);
  const auto up = [](const Cluster& c, std::size_t i) {
    return c.ports[static_cast<std::size_t>(c.levels.back().up[i])].bandwidth.v / 1e9;
  };
  CHECK(up(core, 1) == doctest::Approx(200).epsilon(1e-12));
  CHECK(up(core, 2) == doctest::Approx(400).epsilon(1e-12));
  // A node's two NICs of 50 GB/s go into uplinks of 25; 3 nodes under a spine without
  // oversubscription can send no more than that.
  TopologySpec spec = shardsim::testing::levels_of("switch:2 | switch:3 | switch:2 /1", Seconds{},
                                                   BytesPerSec{100e9});
  spec.levels[1].oversubscription = {4, {}, true};
  const Cluster node = shardsim::testing::cluster_of(spec);
  REQUIRE(node.levels[2].up.size() == 3);
  CHECK(up(node, 1) == doctest::Approx(25).epsilon(1e-12));
  CHECK(up(node, 2) == doctest::Approx(75).epsilon(1e-12));
}

// A NIC reaches every node of its rail through leaf and spine: nobody's GPU passes a message on.
TEST_CASE("levels: rails under spines align the position in the node only") {
  const Cluster c = cluster("switch:4 | rails:3 | switch:2 /1", Seconds{1e-6});
  const DeviceId from = c.device(std::vector<int>{0, 1, 2}),
                 to = c.device(std::vector<int>{1, 0, 3});
  const std::vector<Route> way = routes(c, from, to);
  REQUIRE(way.size() == 1);
  std::vector<std::string> names;
  for (const LinkId link : way[0].links) names.push_back(c.link_name(link));
  CHECK(names ==
        std::vector<std::string>{"l0 up of device 6 (0,1,2)", "l0 down of device 7 (0,1,3)",
                                 "l1 up of device 7 (0,1,3)", "l2 up of device 3 (0,0,3)",
                                 "l2 down of device 15 (1,0,3)", "l1 down of device 15 (1,0,3)"});
  CHECK(way[0].latency.v == doctest::Approx(5e-6));  // of the node's switch and the spine's
}

TEST_CASE("a group spans several levels whatever the order of its axes") {
  Cluster c = cluster("switch:2 | switch:4");
  std::vector<Problem> problems;
  place_mesh(mesh_of({sized("X", 2), sized("Y", 2), sized("Z", 2)}, "row-major"), c, problems);
  REQUIRE(problems.empty());
  const CollectiveAsk gather{Collective::all_gather, Bytes{64e6}, 1};
  const AlgorithmRow* row = find_algorithm("hierarchical");
  const std::vector<int> outside_twice = {0, 2, 1}, outside = {0, 1}, whole = {0, 1, 2};
  CHECK(row->why_not(gather, group_net(c, outside_twice)).empty());
  CHECK(row->why_not(gather, group_net(c, whole)).empty());
  CHECK(row->why_not(gather, group_net(c, outside)) == "the group is inside one level");
}

TEST_CASE("what a mesh gets wrong") {
  CHECK(problems_of(mesh_of({sized("X", 4), sized("Y", 4)}, "row-major"), "ring:8") ==
        "expected mesh sizes that multiply to the 8 devices of ring:8, found 4 x 4 = 16; ");
  CHECK(problems_of(mesh_of({sized("X", 2), sized("Y", 4)}), "switch:8") ==
        "expected `order: row-major` or `order: innermost-first` beside mesh sizes, found none; ");
  CHECK(
      problems_of(mesh_of({sized("X", 2), sized("Y", 4)}, "row-major"), "ring-oneway:8") ==
      "expected one mesh axis for all 8 devices along x of ring-oneway:8, found X of size 2: part "
      "of a ring with links in one direction is no ring; ");
  CHECK(problems_of(mesh_of({sized("X", 3), sized("Y", 4)}, "row-major"), "torus:2x6") ==
        "expected X of size 3 to come out of the axes of torus:2x6 in order, found that it does "
        "not; ");
  CHECK(problems_of(mesh_of({spans("X", {"x"})}), "torus:4x4") ==
        "expected the mesh to span all 16 devices of torus:4x4, found 4: axis y is left out; ");
  CHECK(problems_of(mesh_of({spans("X", {"x"}), spans("Y", {"x"})}), "ring:8") ==
        "hardware axis x is spanned twice, by X and by Y; ");
  CHECK(problems_of(mesh_of({spans("X", {"x"}), sized("Y", 2)}), "ring:8") ==
        "expected either hardware axes or sizes for all mesh axes, found both; ");
}
