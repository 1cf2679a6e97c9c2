#include "spec/topology.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../support/networks.h"
#include "base/file.h"
#include "plan/clusters.h"
#include "plan/network_text.h"
#include "plan/placement.h"
#include "plan/prepare.h"
#include "plan/slices.h"
#include "spec/load.h"

using namespace shardsim;
using shardsim::testing::cluster;

namespace {

const std::string kLevels =
    "cluster.topology={levels: [{name: nvlink, kind: switch, size: 8, bandwidth: 450 GB/s, "
    "latency: 1 us}, {name: ib, kind: switch, size: 2, bandwidth: 50 GB/s, latency: 5 us, "
    "efficiency: 0.8, oversubscription: 2, nics_per_device: 2}]}";

RunSpec loaded(const std::vector<std::string>& sets) {
  std::vector<Override> changes;
  for (const std::string& text : sets) changes.push_back({text});
  return load_run(data_dir() + "/configs/runs/dp-ring8.yaml", changes);
}

std::string complaint(const std::vector<std::string>& sets) {
  try {
    (void)loaded(sets);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

Cluster made(const RunSpec& run) {
  std::vector<Problem> problems;
  Cluster c = make_cluster(run.topology, link_figures(run, problems), problems);
  if (!problems.empty()) throw ConfigError(problems);
  return c;
}

Cluster named(const std::string& name) {
  RunSpec run;
  std::vector<Problem> problems;
  run.topology = load_topology(name, argument_pos("--topology", name), problems);
  if (!problems.empty()) throw ConfigError(problems);
  return made(run);
}

}  // namespace

TEST_CASE("topology: levels, key by key, to the cluster") {
  const RunSpec run = loaded({kLevels, "mesh={X: [ib, nvlink]}"});
  REQUIRE(run.topology.levels.size() == 2);
  const LevelSpec& ib = run.topology.levels[1];
  CHECK(ib.name == "ib");
  CHECK(ib.axes[0].name == "ib");
  CHECK(ib.bandwidth.value.v == 50e9);
  CHECK(ib.latency.value.v == doctest::Approx(5e-6));
  CHECK(ib.efficiency.value == 0.8);
  CHECK(ib.oversubscription.value == 2);
  CHECK(ib.nics_per_device.value == 2);
  const Cluster c = made(run);
  CHECK(c.devices() == 16);
  REQUIRE(c.ports.size() == 6);
  CHECK(c.ports[0].bandwidth.v == 450e9);
  CHECK(c.ports[2].bandwidth.v == doctest::Approx(50e9 * 0.8 * 2));          // two NICs
  CHECK(c.ports[4].bandwidth.v == doctest::Approx(50e9 * 0.8 * 2 * 8 / 2));  // of 8 devices, 2:1
  CHECK(c.levels[1].efficiency == 0.8);
  CHECK(c.levels[1].bandwidth.v == 50e9);
}

TEST_CASE("topology: the chip's link bandwidth is of the innermost level only") {
  const std::string levels =
      "cluster.topology={levels: [{name: a, kind: switch, size: 4}, {name: b, kind: switch, size: "
      "2, bandwidth: 1 GB/s}]}";
  const RunSpec run = loaded({levels, "mesh={X: [b, a]}", "cluster.variant=measured"});
  const Cluster c = made(run);
  CHECK(c.ports[0].bandwidth.v == doctest::Approx(450e9 * 0.8));
  CHECK(c.ports[2].bandwidth.v == 1e9);
}

TEST_CASE("topology: a mesh axis may span a level of several axes by its name") {
  const RunSpec run = loaded({"cluster.topology=tpu-v5e-16x16-x4", "mesh={X: dcn, Y: ici}"});
  Cluster c = made(run);
  std::vector<Problem> problems;
  const Mesh mesh = place_mesh(run.mesh, c, problems);
  CHECK(problems.empty());
  REQUIRE(mesh.axes.size() == 2);
  CHECK(mesh.axes[1].size == 256);
  CHECK(mesh.axes[1].axes == std::vector{1, 2});
}

TEST_CASE("topology: --set reaches a level by number or name, in a file too") {
  const std::string to = ".bandwidth='7 GB/s'";
  for (const std::string& whole : {kLevels, std::string("cluster.topology=hgx-h100-x2")}) {
    for (const std::string level : {"1", "ib"}) {
      CAPTURE(whole);
      CAPTURE(level);
      const RunSpec run =
          loaded({whole, "cluster.topology.levels." + level + to, "mesh={X: [ib, nvlink]}"});
      CHECK(run.topology.levels[0].bandwidth.value.v == 450e9);
      CHECK(run.topology.levels[1].bandwidth.value.v == 7e9);
    }
  }
  CHECK(
      complaint({kLevels, "cluster.topology.levels.bi.size=3"}) ==
      "--set:1:25: expected nvlink or ib or a number from 0 to 1, found \"bi\"\n"
      "  cluster.topology.levels.bi.size=3\n                          ^~\n  did you mean \"ib\"?");
}

TEST_CASE("topology: wrap and double_link of a single level") {
  const auto wiring = [](const std::string& more) {
    const RunSpec run =
        loaded({"cluster.topology={kind: mesh, axes: {x: 4, y: 2}, link: {bandwidth: "
                "1 GB/s}" +
                    more + "}",
                "mesh={X: [x, y]}"});
    const Cluster c = made(run);
    return std::vector<Wiring>{c.axes[0].wiring, c.axes[1].wiring};
  };
  CHECK(wiring("") == std::vector{Wiring::line, Wiring::pair});
  CHECK(wiring(", wrap: [x]") == std::vector{Wiring::ring, Wiring::pair});
  CHECK(wiring(", wrap: [x, y], double_link: true") == std::vector{Wiring::ring, Wiring::ring});
  CHECK(wiring(", wrap: []") == std::vector{Wiring::line, Wiring::pair});
}

TEST_CASE("topology: slices of TPU pods wrap as their chip does") {
  struct Row {
    std::string chip, slice, wrapped;  // axes that wrap
  };
  for (const Row& row :
       std::vector<Row>{{"tpu-v5e", "4x4", "-"},       {"tpu-v5e", "16x8", "x"},
                        {"tpu-v5e", "16x16", "x y"},   {"tpu-v5e", "2x16", "y"},
                        {"tpu-v5e", "2x2", "-"},       {"tpu-v5e", "1x16", "y"},
                        {"tpu-v6e", "8x16", "y"},      {"tpu-v6e", "16x16", "x y"},
                        {"tpu-v4", "2x2x1", "-"},      {"tpu-v4", "4x4x4", "x y z"},
                        {"tpu-v4", "4x4", "-"},        {"tpu-v4", "2x2x2", "-"},
                        {"tpu-v4", "2x4x4", "-"},      {"tpu-v5p", "4x4x2", "-"},
                        {"tpu-v5p", "4x4x8", "x y z"}, {"tpu-v5p", "16x16x24", "x y z"},
                        {"tpu-v7", "8x8x4", "x y z"},  {"tpu-v7", "4x4x6", "-"},
                        {"tpu-v7", "2x2x1", "-"},      {"tpu-v3", "16x32", "-"},
                        {"tpu-v3", "32x32", "x y"}}) {
    CAPTURE(row.chip);
    CAPTURE(row.slice);
    RunSpec run;
    std::vector<Problem> problems;
    run.chip_spec = load_chip(row.chip);
    run.topology = parse_topology("tpu-slice:" + row.slice, {}, problems);
    run.topology.bandwidth = {BytesPerSec{1e9}, {}, true};
    CHECK(network_facts(made(run)).wrap == row.wrapped);
  }
}

TEST_CASE("topology: of a slice is always said what wraps") {
  struct Row {
    std::string chip, slice, said;
  };
  for (const Row& row : std::vector<Row>{{"tpu-v4", "4x4x4", ", all axes wrap,"},
                                         {"tpu-v4", "4x4x2", ", no axis wraps,"},
                                         {"tpu-v4", "2x2x1", ", no axis wraps,"},
                                         {"tpu-v5e", "2x16", ", y wraps, x does not,"},
                                         {"tpu-v5e", "1x16", ", its axis wraps,"}}) {
    CAPTURE(row.chip);
    CAPTURE(row.slice);
    RunSpec run;
    std::vector<Problem> problems;
    run.chip_spec = load_chip(row.chip);
    run.topology = parse_topology("tpu-slice:" + row.slice, {}, problems);
    run.topology.bandwidth = {BytesPerSec{1e9}, {}, true};
    CHECK(network_text(made(run)).find(row.said) != std::string::npos);
  }
}

TEST_CASE("topology: the TPU files are the slices of their chips") {
  int files = 0;
  for (const std::string& name : topology_names()) {
    if (!name.starts_with("tpu-")) continue;
    CAPTURE(name);
    const RunSpec chip = [&] {
      RunSpec run;
      run.chip_spec = load_chip(name.substr(0, name.find('-', 4)));
      return run;
    }();
    std::vector<Problem> problems;
    RunSpec file = chip, slice = chip;
    file.topology = load_topology(name, {}, problems);
    slice.topology = file.topology;
    LevelSpec& ici = slice.topology.levels.empty() ? slice.topology : slice.topology.levels.front();
    CHECK(ici.bandwidth.value == chip.chip_spec.link_bandwidth.value);
    ici.kind.value = kSlice;
    CHECK(network_facts(made(file)).wrap == network_facts(made(slice)).wrap);
    CHECK(problems.empty());
    ++files;
  }
  CHECK(files >= 6);
}

TEST_CASE("topology: links, ports and bisection of the files") {
  struct Row {
    std::string name;
    int devices;
    double links, ports, bisection_gb;  // one way
  };
  for (const Row& row :
       std::vector<Row>{{"tpu-v5e-16x16", 256, 1024, 4, 1600},  // published: 1.6 TB/s
                        {"tpu-v6e-16x16", 256, 1024, 4, 3200},  // published: 3.2 TB/s
                        {"tpu-v5e-4x4", 16, 48, 4, 4 * 50},
                        {"tpu-v5p-16x16x24", 6144, 36864, 6, 16 * 16 * 2 * 100},
                        {"dgx-h100-superpod", 256, 1024, 2, 128 * 50},
                        {"fat-tree-256-2to1", 256, 512 + 16, 1, 128 * 25 / 2.0},
                        {"gb200-nvl72-x1", 72, 144, 1, 36 * 900},
                        {"tpu-v5e-16x16-x4", 1024, 4096 + 256, 4.125, 512 * 3.125}}) {
    CAPTURE(row.name);
    const Cluster c = named(row.name);
    const NetworkFacts facts = network_facts(c);
    CHECK(c.devices() == row.devices);
    CHECK(facts.links == row.links);
    CHECK(facts.ports == doctest::Approx(row.ports));
    CHECK(facts.bisection.v == doctest::Approx(row.bisection_gb * 1e9));
  }
  // A v4 pod of 16x16x16: 24 TB/s published, 25.6 from 50 GB/s a link.
  const BytesPerSec v4 = network_facts(cluster("torus:16x16x16", {}, BytesPerSec{50e9})).bisection;
  CHECK(v4.v == doctest::Approx(25.6e12));
}

TEST_CASE("topology: bisection by kind, in links of 1 GB/s") {
  struct Row {
    std::string network, cut;
    double links, bisection_gb;
  };
  for (const Row& row : std::vector<Row>{{"ring:8", "x", 16, 2},
                                         {"ring-oneway:8", "x", 8, 1},
                                         {"line:8", "x", 14, 1},
                                         {"torus:8x4", "x", 128, 8},
                                         {"mesh:3x5", "y", 44, 3},
                                         {"torus:4x2", "x", 24, 4},
                                         {"switch:7", "n", 14, 3},
                                         {"full-mesh:5", "x", 20, 6}}) {
    CAPTURE(row.network);
    const NetworkFacts facts = network_facts(cluster(row.network, {}, BytesPerSec{1e9}));
    CHECK(facts.cut == row.cut);
    CHECK(facts.links == row.links);
    CHECK(facts.bisection.v == doctest::Approx(row.bisection_gb * 1e9));
  }
}

TEST_CASE("topology: bisection where links differ is that of the narrowest cut") {
  using shardsim::testing::missing;
  using shardsim::testing::overridden;
  using shardsim::testing::slower;
  const auto one_way = [](OverrideSpec o) {
    o.both_ways = {false, {}, true};
    return o;
  };
  struct Row {
    std::string network;
    std::vector<OverrideSpec> overrides;
    double bisection_gb;
  };
  // Links of 100 GB/s. A torus of 4x4 is cut through 8 each way; through its slow cable at any
  // place.
  for (const Row& row : std::vector<Row>{
           {"torus:4x4", {slower("x+", {{"x", 3, {}}, {"y", 0, {}}}, 10)}, 710},
           {"torus:4x4", {one_way(slower("x+", {{"x", 1, {}}, {"y", 0, {}}}, 10))}, 710},
           {"torus:4x4", {missing("x+", {{"x", 0, {}}})}, 400},
           {"line:5", {slower("x+", {{"x", 0, {}}}, 10)}, 100},  // not in the middle
           {"line:5", {slower("x+", {{"x", 2, {}}}, 10)}, 10},
           {"ring:5", {slower("x+", {{"x", 4, {}}}, 10)}, 110},
           {"full-mesh:4", {slower("x+1", {{"x", 3, {}}}, 10)}, 310},
           {"switch:4", {slower("up", {{"n", 2, {}}}, 10)}, 110},
           {"switch:5", {one_way(slower("down", {{"n", 2, {}}}, 10))}, 110}}) {
    CAPTURE(row.network);
    CAPTURE(row.bisection_gb);
    const NetworkFacts facts = network_facts(overridden(row.network, row.overrides));
    CHECK(facts.bisection.v == doctest::Approx(row.bisection_gb * 1e9).epsilon(1e-12));
  }
}

TEST_CASE("topology: bisection of graphs of up to 16 devices is that of the narrowest half") {
  using shardsim::testing::graph;
  using shardsim::testing::join;
  const auto bisection = [](TopologySpec spec) {
    return network_facts(shardsim::testing::cluster_of(spec)).bisection.v / 1e9;
  };
  // 3 and 3 under a switch each, 250 GB/s between them.
  const std::vector<LinkSpec> two = {join("0..2", {"a"}), join("3..5", {"b"}),
                                     join("a", {"b"}, 250)};
  CHECK(bisection(graph(6, {"a", "b"}, two)) == doctest::Approx(250).epsilon(1e-12));
  // A ring of 5, the cable home slow: two devices are cut off through it and one other.
  CHECK(bisection(graph(5, {}, {join("0..3", {"1..4"}), join("4", {"0"}, 30)})) ==
        doctest::Approx(130).epsilon(1e-12));
  CHECK(bisection(graph(17, {"a"}, {join("0..16", {"a"})})) == 0);
  // Two spines over leaves of two: four devices leave as much as they have.
  CHECK(network_facts(named("fat-tree-8-two-spines")).bisection.v == doctest::Approx(200e9));
}

TEST_CASE("topology: every level has its figures in words") {
  CHECK(network_text(named("hgx-h100-x2")) ==
        "hgx-h100-x2: nvlink (switch of 8), W1 = 450 GB/s egress per device, latency 1 us a route; "
        "ib (rails of 2), W1 = 50 GB/s egress per device, latency 5 us a route");
  CHECK(network_text(named("hgx-h100-x1-measured")) ==
        "hgx-h100-x1-measured, W1 = 360 GB/s egress per device (0.8 of the nominal 450 GB/s), "
        "latency 1 us a route");
  CHECK(network_text(named("fat-tree-256-2to1")) ==
        "fat-tree-256-2to1: leaf (switch of 32), W1 = 25 GB/s egress per device, latency 2 us a "
        "route; spine (switch of 8), uplinks = 400 GB/s for each 32 devices, latency 4 us a route");
  CHECK(network_text(named("tpu-v5e-16x16-x4")) ==
        "tpu-v5e-16x16-x4: ici (torus of 16x16), W1 = 50 GB/s per directed link, all axes wrap, "
        "latency 1 us a hop; "
        "dcn (switch of 4), W1 = 25 GB/s for each 8 devices, latency 10 us a route");
}

TEST_CASE("topology: groups of a mesh in words") {
  const auto said = [](const std::string& network, const std::vector<AxisSpec>& sizes, int over) {
    Cluster c = cluster(network);
    std::vector<Problem> problems;
    const Mesh mesh = place_mesh(row_major(sizes, {}), c, problems);
    return groups_text(c, mesh, mesh.axes[static_cast<std::size_t>(over)].axes);
  };
  const std::vector<AxisSpec> halves = {{"X", 4, {}}, {"Y", 4, {}}};
  CHECK(said("ring:16", halves, 1) ==
        "4 groups of 4 devices, all at once: Y = 4 is 4 neighbours along an axis of 16");
  CHECK(said("ring:16", halves, 0) ==
        "4 groups of 4 devices, all at once: X = 4 is devices 4 apart along an axis of 16");
  CHECK(said("torus:4x4", halves, 1) == "4 groups of 4 devices, all at once: Y = 4 is y");
}
