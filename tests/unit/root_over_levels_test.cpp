// Estimates over levels whose devices share NICs and uplinks: close to the replay.
#include "plan/root_over_levels.h"

#include <doctest/doctest.h>

#include <cmath>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;
using shardsim::testing::levels_of;
using shardsim::testing::simulated;

namespace {

// Nodes of 4 under rails, a NIC of which serves two of a node.
Cluster shared_nics() {
  TopologySpec spec = levels_of("switch:4 | rails:3", Seconds{1e-6}, BytesPerSec{100e9});
  spec.levels[1].devices_per_nic = {2, {}, true};
  std::vector<Problem> problems;
  Cluster made = make_cluster(spec, {BytesPerSec{100e9}, 1.0, Seconds{1e-6}}, problems);
  REQUIRE(problems.empty());
  return made;
}

}  // namespace

TEST_CASE("over levels: what passes a port when only the root sends, or its node") {
  std::vector<Cluster> networks = {shared_nics()};
  for (const char* name : {"switch:4 | rails:2 | switch:2 /2", "switch:2 | switch:3 | switch:2 /3",
                           "switch:4 | switch:3", "torus:3x2 | switch:2"})
    networks.push_back(cluster(name, Seconds{1e-6}));
  for (const Cluster& made : networks) {
    for (const char* name : {"direct", "node-rings"}) {
      const AlgorithmRow& row = *find_algorithm(name);
      for (const Collective kind : {Collective::gather, Collective::scatter, Collective::all_gather,
                                    Collective::reduce_scatter}) {
        for (const double bytes : {64.0, 67108864.0}) {
          const CollectiveAsk ask{kind, Bytes{bytes}};
          const GroupNet net = group_net(made, all_axes(made));
          if (!unsuited(row, ask, net).empty()) continue;
          CAPTURE(made.text);
          CAPTURE(name);
          CAPTURE(to_text(kind));
          CAPTURE(bytes);
          const double ratio = row.closed_form(ask, net).time / simulated(made, ask, row);
          CHECK(std::abs(ratio - 1) < 0.01);
        }
      }
    }
  }
}

TEST_CASE("over levels: a gather of 16 under two leaves, worked out") {
  // 15 shards through the root's NIC of 50 GB/s, of which 12 come from other leaves: 4 uplinks of
  // 50 GB/s at half of that are 100 GB/s.
  const Cluster made = cluster("switch:4 | switch:4 /2", Seconds{}, BytesPerSec{50e9});
  const GroupNet net = group_net(made, all_axes(made));
  CHECK(form_over_levels(net, Bytes{50e9}, Collective::gather).time.v ==
        doctest::Approx(15.0).epsilon(1e-12));
}

// The root's links inside its node carry the shards of the node and those that others take across.
TEST_CASE("over levels: a scatter over rails hands shards on along the links of its own node") {
  for (const char* name : {"line:2 | rails:4", "line:3 | rails:2", "torus:2x2 | rails:2",
                           "ring:4 | rails:3", "full-mesh:3 | rails:2"}) {
    const Cluster made = cluster(name);
    const GroupNet net = group_net(made, all_axes(made));
    const CollectiveAsk scatter{Collective::scatter, Bytes{67108864.0}};
    const AlgorithmRow& direct = *find_algorithm("direct");
    CAPTURE(made.text);
    CHECK(std::abs(direct.closed_form(scatter, net).time / simulated(made, scatter, direct) - 1) <
          1e-9);
    const CollectiveAsk broadcast{Collective::broadcast, Bytes{67108864.0}};
    const Seconds taken = simulated(made, broadcast, *choose_algorithm(broadcast, net).best);
    for (const AlgorithmRow* row : considered(broadcast, net)) {
      CAPTURE(row->name);
      CHECK(taken < simulated(made, broadcast, *row) * 1.02);
    }
  }
}
