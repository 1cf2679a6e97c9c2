// Folding is exact under contention: random pairs of concurrent collectives end at the same times
// folded and full.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;

namespace {

std::vector<Seconds> ends(const Lowered& lowered) {
  const Timeline timeline = replay_simgrid(lowered.graph);
  std::vector<Seconds> result;
  for (const CollectiveInstance& c : lowered.plan.collectives) {
    Seconds last;
    for (const OpId op : c.times.front().end) last = std::max(last, timeline.end[static_cast<std::size_t>(op)]);
    result.push_back(last);
  }
  return result;
}

void compare(const CollectiveRequest& request) {
  CollectiveRequest full = request;
  full.full = true;
  const Lowered whole = lower_collectives(full);
  const Lowered quotient = lower_collectives(request);
  const std::vector<Seconds> a = ends(whole);
  const std::vector<Seconds> b = ends(quotient);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    if (a[i].v == 0) {  // a shift by a whole axis sends nothing
      CHECK(b[i].v == 0);
      continue;
    }
    CHECK(std::abs(b[i].v / a[i].v - 1) < 1e-9);
    CHECK(a[i].v >=
          0.999999999 * replay_ideal(whole.graph)
                            .end[static_cast<std::size_t>(whole.plan.collectives[i].times[0].end[0])]
                            .v);
  }
}

}  // namespace

TEST_CASE("an all-to-all beside an all-gather on ring:8 ends alike folded and full") {
  CollectiveRequest request;
  request.cluster = cluster("ring:8");
  for (const Collective kind : {Collective::all_to_all, Collective::all_gather}) {
    const CollectiveAsk ask{kind, Bytes{67108864}, 1};
    request.calls.push_back(
        {ask, choose_algorithm(ask, group_net(request.cluster, all_axes(request.cluster))).best,
         all_axes(request.cluster)});
  }
  compare(request);
  // They really contend: each alone is faster.
  const std::vector<Seconds> together = ends(lower_collectives(request));
  CHECK(together[0].v > 1.2 * 83.88608e-6);
  CHECK(together[1].v > 1.2 * 293.60128e-6);
}

TEST_CASE("random pairs of concurrent collectives end alike folded and full") {
  std::mt19937 random(20240229);
  const char* networks[] = {"ring:8",
                            "ring:7",
                            "ring:2",
                            "ring-oneway:6",
                            "switch:8",
                            "switch:5",
                            "torus:4x4",
                            "torus:4x3",
                            "torus:6x4",
                            "torus:4x2",
                            "torus:3x3x2",
                            "torus:4x4x2",
                            "line:5",
                            "mesh:3x4",
                            "full-mesh:4",
                            "switch:4 | rails:3",
                            "switch:2 | switch:3 | switch:2 /3",
                            "torus:3x2 | switch:2"};
  int pairs = 0;
  for (int round = 0; round < 160; ++round) {
    const std::string name = networks[random() % std::size(networks)];
    CollectiveRequest request;
    request.cluster = cluster(name, Seconds{random() % 2 == 0 ? 0.0 : 1e-6});
    for (int k = 0; k < 2; ++k) {
      std::vector<int> axes;  // a random non-empty set, in random order
      for (const int a : all_axes(request.cluster)) {
        if (random() % 2 == 0)
          axes.insert(axes.begin() + static_cast<long>(random() % (axes.size() + 1)), a);
      }
      if (axes.empty()) axes.push_back(static_cast<int>(random() % request.cluster.axes.size()));
      const GroupNet net = group_net(request.cluster, axes);
      CollectiveAsk ask{collective_kinds()[random() % collective_kinds().size()],
                        Bytes{1e6 * static_cast<double>(1 + random() % 64)},
                        1 + static_cast<int>(random() % 2)};
      if (rooted(ask.kind)) ask.root = static_cast<int>(random() % 64) % net.ranks();
      std::vector<const AlgorithmRow*> suited;
      for (const AlgorithmRow& row : algorithms()) {
        if (row.why_not(ask, net).empty()) suited.push_back(&row);
      }
      request.calls.push_back({ask, suited[random() % suited.size()], axes});
    }
    CAPTURE(name);
    CAPTURE(request.calls[0].algorithm->name);
    CAPTURE(to_text(request.calls[0].ask.kind));
    CAPTURE(request.calls[1].algorithm->name);
    CAPTURE(to_text(request.calls[1].ask.kind));
    compare(request);
    ++pairs;
  }
  CHECK(pairs > 100);
}

TEST_CASE(
    "links and chips that differ shrink the symmetry along the axes they name, and no further") {
  using shardsim::testing::overridden;
  using shardsim::testing::override_at;
  using shardsim::testing::slower;
  CHECK(Fold::orbits(overridden("torus:4x4", {slower("x+", {}, 10)})).step ==
        std::vector<int>{1, 1});
  CHECK(Fold::orbits(overridden("torus:4x4", {slower("x+", {{"x", 3, {}}}, 10)})).step ==
        std::vector<int>{4, 1});
  CHECK(Fold::orbits(overridden("torus:4x4", {slower("x+", {{"x", 3, {}}, {"y", 0, {}}}, 10)}))
            .step == std::vector<int>{4, 4});
  // Every second plane.
  CHECK(Fold::orbits(overridden("torus:4x4", {slower("y+", {{"x", 1, {}}}, 10),
                                              slower("y+", {{"x", 3, {}}}, 10)}))
            .step == std::vector<int>{2, 1});
  OverrideSpec slow = override_at("", {{"y", 2, {}}});
  slow.speed = {0.8, {}, true};
  CHECK(Fold::orbits(overridden("torus:4x4", {slow})).step == std::vector<int>{1, 4});
}

TEST_CASE("pairs of collectives end alike folded and full where links differ or are missing") {
  using shardsim::testing::missing;
  using shardsim::testing::overridden;
  using shardsim::testing::slower;
  struct Row {
    const char* network;
    OverrideSpec change;
  };
  const Row rows[] = {{"torus:4x6", slower("x+", {{"x", 3, {}}}, 10)},
                      {"torus:4x6", missing("x+", {{"x", 1, {}}})},
                      {"torus:4x6", missing("y+", {{"y", 5, {}}})},
                      {"torus:6x3", slower("y-", {{"y", 0, {}}}, 30)},
                      {"mesh:4x4", missing("x+", {{"x", 1, {}}, {"y", 2, {}}})},
                      {"torus:4x2", slower("y+", {{"x", 2, {}}}, 25)},
                      {"switch:6", slower("up", {{"n", 2, {}}}, 40)},
                      {"torus:3x3x4", missing("z+", {{"z", 2, {}}, {"x", 0, {}}})}};
  std::mt19937 random(7);
  for (const Row& row : rows) {
    for (int round = 0; round < 6; ++round) {
      CollectiveRequest request;
      request.cluster = overridden(row.network, {row.change}, Seconds{round % 2 == 0 ? 0.0 : 1e-6});
      const std::vector<int> axes = all_axes(request.cluster);
      const GroupNet net = group_net(request.cluster, axes);
      for (int k = 0; k < 2; ++k) {
        const CollectiveAsk ask{collective_kinds()[random() % collective_kinds().size()],
                                Bytes{1e6 * static_cast<double>(1 + random() % 64)}, 1};
        request.calls.push_back({ask, choose_algorithm(ask, net).best, axes});
      }
      CAPTURE(row.network);
      CAPTURE(request.calls[0].algorithm->name);
      CAPTURE(request.calls[1].algorithm->name);
      compare(request);
    }
  }
}
