// Closed forms over levels whose devices share NICs and uplinks, also of collectives made of
// others: those that are exact are what the replay takes, and auto takes what the replay finds
// fastest.
#include "plan/composite.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "../support/networks.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster_of;
using shardsim::testing::levels_of;
using shardsim::testing::random_levels;
using shardsim::testing::simulated;

namespace {

constexpr Bytes kV{67108864};

// A collective of all devices, or of the groups along some axes at once.
struct Groups {
  Cluster cluster;
  std::vector<int> axes;

  explicit Groups(std::mt19937& random) {
    const Seconds latency{random() % 2 == 0 ? 0.0 : 1e-6};
    const TopologySpec spec = random_levels(random, latency);
    cluster = cluster_of(spec, spec.levels.front().bandwidth.value, latency);
    axes = all_axes(cluster);
    if (random() % 3 == 0) axes.erase(axes.begin() + static_cast<long>(random() % axes.size()));
  }
};

// Returns how many forms were exact.
int compare(const Groups& groups, const CollectiveAsk& ask) {
  const GroupNet net = group_net(groups.cluster, groups.axes);
  const Choice choice = choose_algorithm(ask, net);
  Seconds taken, least;
  int exact = 0;
  for (const AlgorithmRow* row : considered(ask, net)) {
    CAPTURE(row->name);
    const Seconds time = simulated(groups.cluster, ask, *row, groups.axes);
    const ClosedForm form = row->closed_form(ask, net);
    CAPTURE(form.formula);
    if (form.exact) CHECK(std::abs(form.time.v - time.v) <= 1e-9 * time.v);
    exact += form.exact ? 1 : 0;
    if (row == choice.best) taken = time;
    least = least == Seconds{} ? time : std::min(least, time);
  }
  CAPTURE(choice.best->name);
  CHECK(taken <= least * 1.03);
  return exact;
}

}  // namespace

TEST_CASE("random levels: exact forms are what the replay takes, auto is within 3 % of the best") {
  int exact = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Groups groups(random);
    const auto ranks = static_cast<std::uint32_t>(group_net(groups.cluster, groups.axes).ranks());
    for (const Collective kind : collective_kinds()) {
      CollectiveAsk ask{kind, kind == Collective::barrier ? Bytes{} : kV};
      if (rooted(kind)) ask.root = static_cast<int>(random() % ranks);
      CAPTURE(seed);
      CAPTURE(groups.cluster.text);
      CAPTURE(to_text(kind));
      CAPTURE(ask.root);
      exact += compare(groups, ask);
    }
  }
  CHECK(exact > 700);
}

TEST_CASE("levels: parts share NICs with those of the other places in the node, worked out") {
  // Nodes of 4 with two NICs of 25 GB/s, two to a leaf, two leaves.
  TopologySpec spec = levels_of("switch:4 | switch:2 | switch:2 /2", {}, BytesPerSec{300e9});
  spec.levels[1].bandwidth.value = BytesPerSec{25e9};
  spec.levels[1].devices_per_nic = {2, {}, true};
  const Cluster made = cluster_of(spec, BytesPerSec{300e9});
  const GroupNet net = group_net(made, all_axes(made));
  const AlgorithmRow& row = *find_algorithm("hierarchical");
  struct Row {
    Collective kind;
    double ms;
  };
  // V = 500 MB: 3/4 V at 300 GB/s inside are 1.25 ms. Across, half a NIC is 12.5 GB/s for 3 shards
  // of V/16, or a chain of V/4 in 64 pieces over 3 hops; or, of an all-reduce, V/8 each way under a
  // leaf, and between them V/8 at 6.25 GB/s there and back by halves.
  for (const Row& by_hand : std::vector<Row>{{Collective::gather, 1.25 + 3 * 31.25 / 12.5},
                                             {Collective::broadcast, 2 * 1.25 + 66.0 / 64 * 10},
                                             {Collective::all_reduce, 2 * 1.25 + 2 * 5 + 2 * 5}}) {
    CAPTURE(to_text(by_hand.kind));
    const CollectiveAsk ask{by_hand.kind, Bytes{500e6}};
    CHECK(row.closed_form(ask, net).time.v * 1e3 == doctest::Approx(by_hand.ms).epsilon(1e-9));
    CHECK(simulated(made, ask, row).v * 1e3 == doctest::Approx(by_hand.ms).epsilon(1e-9));
  }
}
