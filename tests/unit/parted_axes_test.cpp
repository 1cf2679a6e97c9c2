// Groups over parts of one hardware axis: apart from each other on a ring, where their messages
// meet on its links; of a full mesh, where any devices are a full mesh; several groups on the same
// links.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "plan/plan_time.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::cluster;

namespace {

constexpr Bytes kV{12.0 * 12 * 12 * 12 * 1024};

// The one axis of a network as three parts, major first; the last has what is left.
Cluster in_three(const std::string& network, int major, int middle, Seconds latency) {
  Cluster made = cluster(network, latency);
  split_axis(made, 0, major);
  split_axis(made, 1, middle);
  return made;
}

Seconds replayed(const Cluster& made, const CollectiveCall& call, bool full, Grain grain) {
  CollectiveRequest request;
  request.cluster = made;
  request.full = full;
  request.grain = grain;
  request.calls = {call};
  return replay_simgrid(lower_collectives(request).graph).makespan();
}

AlgorithmChoice taken(const Cluster& made, const CollectiveCall& call) {
  std::vector<Problem> problems;
  AlgorithmChoice choice = pick_algorithm("auto", call, made, {}, problems);
  REQUIRE(choice.row != nullptr);
  return choice;
}

}  // namespace

// The major part passes the links of all that lie between, the minor part some of the same: three
// quarters of V leave a device, half of them over stretches that four groups share.
TEST_CASE("parts of a ring with another between them meet on its links") {
  struct Row {
    std::string network;
    int major, middle;
  };
  for (const Row& row : {Row{"ring:8", 2, 2}, Row{"ring:12", 2, 3}, Row{"ring:24", 2, 3},
                         Row{"ring:27", 3, 3}, Row{"line:12", 2, 3}}) {
    for (const Seconds latency : {Seconds{}, Seconds{1e-6}}) {
      const Cluster made = in_three(row.network, row.major, row.middle, latency);
      for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter,
                                    Collective::all_reduce, Collective::all_to_all}) {
        CollectiveCall call{{kind, kV}, nullptr, {0, 2}};
        const GroupNet net = group_net(made, call.axes);
        CHECK(net.meets);
        call.algorithm = taken(made, call).row;
        CAPTURE(row.network);
        CAPTURE(latency.v);
        CAPTURE(to_text(kind));
        CAPTURE(call.algorithm->name);
        CHECK(!describe_call(call, made, {}).exact);
        const Seconds full = replayed(made, call, true, Grain::flow);
        const Seconds estimate = describe_on_links(call, made, {}).analytic;
        CHECK(std::abs(estimate / full - 1) < 0.003);
        CHECK(std::abs(replayed(made, call, false, Grain::flow) / full - 1) < 1e-9);
        CHECK(std::abs(replayed(made, call, false, Grain::fluid) / estimate - 1) < 1e-9);
        for (const AlgorithmRow* other : considered(call.ask, net)) {
          CAPTURE(other->name);
          CHECK(full < replayed(made, {call.ask, other, call.axes}, true, Grain::flow) * 1.001);
        }
      }
    }
  }
  // Neighbours along x lie 4 links apart on 8: 2 steps of V/4 over links that 4 groups share, of
  // which one beside a step along z.
  const Cluster eight = in_three("ring:8", 2, 2, {});
  const CollectiveCall call{{Collective::all_gather, Bytes{64 * 1048576.0}}, nullptr, {0, 2}};
  CHECK(std::abs(replayed(eight, {call.ask, taken(eight, call).row, call.axes}, true, Grain::flow) /
                     Seconds{671.08864e-6} -
                 1) < 1e-9);
}

TEST_CASE("adjacent parts of a ring do not meet, and neither do axes of a torus") {
  const Cluster ring = in_three("ring:24", 2, 3, {});
  for (const std::vector<int>& axes : {std::vector<int>{0, 1}, {1, 2}, {0}, {0, 1, 2}})
    CHECK(!group_net(ring, axes).meets);
  const Cluster torus = cluster("torus:4x4");
  const std::vector<int> both = {0, 1};
  CHECK(!group_net(torus, both).meets);
  const Cluster star = in_three("switch:8", 2, 2, {});
  const std::vector<int> apart = {0, 2};
  CHECK(!group_net(star, apart).meets);
}

// V/(N*W1) for a gather of N shards, V/(N^2*W1) for an all-to-all: every pair has its own cable.
TEST_CASE("parts of a full mesh are a full mesh") {
  const Seconds latency{2e-6};
  const Cluster made = in_three("full-mesh:12", 2, 3, latency);
  const BytesPerSec w1{100e9};
  for (const std::vector<int>& axes :
       {std::vector<int>{0, 2}, {1, 2}, {0, 1}, {0, 1, 2}, {0}, {1}, {2}}) {
    double n = 1;
    for (const int a : axes) n *= made.axes[static_cast<std::size_t>(a)].size;
    for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter,
                                  Collective::all_to_all, Collective::gather}) {
      CollectiveCall call{{kind, kV}, nullptr, axes};
      REQUIRE(group_net(made, axes).axes.size() == 1);
      call.algorithm = taken(made, call).row;
      CAPTURE(n);
      CAPTURE(axes.front());
      CAPTURE(to_text(kind));
      CAPTURE(call.algorithm->name);
      const double pieces = kind == Collective::all_to_all ? n * n : n;
      const Seconds expected = latency + kV / pieces / w1;
      CHECK(std::abs(replayed(made, call, true, Grain::flow) / expected - 1) < 1e-9);
      CHECK(std::abs(replayed(made, call, false, Grain::flow) / expected - 1) < 1e-9);
      CHECK(std::abs(replayed(made, call, false, Grain::fluid) / expected - 1) < 1e-9);
      CHECK(std::abs(describe_call(call, made, {}).analytic / expected - 1) < 1e-9);
    }
  }
}

// Rings through parts of a full mesh: the last rank's neighbour is the first of its own group.
TEST_CASE("parts of a full mesh: a ring goes round within the group") {
  const Cluster made = in_three("full-mesh:12", 2, 3, Seconds{2e-6});
  for (const std::vector<int>& axes : {std::vector<int>{0, 2}, {1, 2}, {0, 1}}) {
    const CollectiveCall call{{Collective::all_gather, kV}, find_algorithm("ring-oneway"), axes};
    const GroupNet net = group_net(made, axes);
    REQUIRE(unsuited(*call.algorithm, call.ask, net).empty());
    const Seconds form = call.algorithm->closed_form(call.ask, net).time;
    CHECK(std::abs(replayed(made, call, true, Grain::flow) / form - 1) < 1e-9);
    CHECK(std::abs(replayed(made, call, false, Grain::flow) / form - 1) < 1e-9);
  }
}

TEST_CASE("fluid grain: groups that share links take as long as message by message") {
  const Cluster made = in_three("ring:16", 4, 2, Seconds{1e-6});
  for (const std::vector<int>& axes : {std::vector<int>{0}, {0, 1}, {1}}) {
    for (const Collective kind : {Collective::all_gather, Collective::all_to_all,
                                  Collective::broadcast, Collective::reduce, Collective::scatter}) {
      CollectiveCall call{{kind, kV}, nullptr, axes};
      call.algorithm = taken(made, call).row;
      CAPTURE(axes.size());
      CAPTURE(to_text(kind));
      CAPTURE(call.algorithm->name);
      const Seconds flow = replayed(made, call, false, Grain::flow);
      CHECK(std::abs(replayed(made, call, false, Grain::fluid) / flow - 1) < 1e-9);
    }
  }
}
