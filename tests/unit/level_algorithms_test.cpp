// Gathers over levels in pieces: inside a slice all links of its torus or mesh are at work.
#include "plan/level_algorithms.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "../support/networks.h"
#include "plan/algorithms.h"
#include "plan/lower_collective.h"
#include "plan/play.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;

namespace {

constexpr Bytes kV{67108864};

double off(Seconds a, Seconds b) {
  return std::abs(a.v / b.v - 1);
}

Lowered lowered(const std::string& network, const CollectiveAsk& ask, double latency, bool full) {
  CollectiveRequest request;
  request.cluster = cluster(network, Seconds{latency});
  request.calls = {{ask, find_algorithm("hierarchical-pipelined"), all_axes(request.cluster)}};
  request.full = full;
  return lower_collectives(request);
}

}  // namespace

TEST_CASE(
    "in pieces over levels, into slices of any shape: right, and as long as the closed form") {
  for (const std::string network :
       {"ring:4 | switch:2", "ring-oneway:4 | switch:2", "line:4 | switch:2",
        "torus:4x4 | switch:2", "torus:4x2 | switch:3", "torus:3x2x2 | switch:2",
        "mesh:3x3 | switch:2", "mesh:4x3 | switch:2", "mesh:4x2 | switch:2 | switch:2 /2"}) {
    for (const double latency : {0.0, 1e-6}) {
      for (const int pieces : {1, 3}) {
        for (const Collective kind :
             {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
          CAPTURE(network);
          CAPTURE(to_text(kind));
          CAPTURE(pieces);
          CAPTURE(latency);
          CollectiveAsk ask{kind, kV, 1};
          ask.pieces = pieces;
          const Lowered full = lowered(network, ask, latency, true);
          const Cluster c = cluster(network);
          const GroupNet net = group_net(c, all_axes(c));
          const CollectivePlan plan =
              find_algorithm("hierarchical-pipelined")->plan(ask, net, net.sizes());
          CHECK(play(plan, targets_of(ask, plan.sizes)) == "");
          CHECK(full.plan.collectives.front().exact);
          const Seconds time = replay_simgrid(full.graph).makespan();
          CHECK(off(time, full.plan.collectives.front().analytic) < 1e-9);
          const Lowered folded = lowered(network, ask, latency, false);
          CHECK(off(time, replay_simgrid(folded.graph).makespan()) < 1e-9);
        }
      }
    }
  }
}

TEST_CASE("in pieces over levels: the slower level alone counts, whatever the slice") {
  // The larger of V * (D-1)/(D*W) over levels (Scaling Book ch. 12); inside, N/D ranks fill all
  // ports of a device, or of a corner: (n-1)/n * V over them.
  struct Row {
    const char* network;
    int slices;
    int ports;  // of a device, a corner
  };
  for (const Row& row : {Row{"torus:4x4 | switch:2", 2, 4}, Row{"ring:8 | switch:2", 2, 2},
                         Row{"torus:4x3 | switch:2", 2, 4}, Row{"mesh:4x3 | switch:2", 2, 2}}) {
    CAPTURE(row.network);
    const Cluster c = cluster(row.network);
    const GroupNet net = group_net(c, all_axes(c));
    const double n = net.ranks(), inside = n / row.slices;
    const Seconds across = (row.slices - 1) * (kV / n) / net.axes.front().w1;
    const Seconds within = (inside - 1) / inside * kV / (row.ports * net.axes.back().w1);
    const auto time = [&](const char* name) {
      return find_algorithm(name)->closed_form({Collective::all_gather, kV, 1}, net).time;
    };
    CHECK(time("hierarchical-pipelined") > std::max(across, within) * (1 - 1e-9));
    CHECK(time("hierarchical-pipelined") < std::max(across, within) * 1.01);
    CHECK(time("hierarchical-pipelined") < time("hierarchical"));
  }
}
