// Permutations: who sends to whom, how far the pattern folds, and that its replay is its closed
// form.
#include "plan/permute.h"

#include <set>

#include "../support/networks.h"
#include "device_arrays.h"
#include "plan/collective_run.h"
#include "replay/replay.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::argument_array;
using testing::Block;
using testing::cluster;
using testing::Devices;
using testing::mesh;
using testing::square_layer;

using Lines = std::vector<std::string>;

struct Row {
  std::vector<std::pair<std::string, int>> axes;
  std::string from, to;
  Lines moved;
  std::vector<int> steps;
  int movers;  // devices whose block goes elsewhere
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {{{"X", 4}, {"Y", 4}}, "A[I_{XY},J]", "A[I_{YX},J]", {"X", "Y"}, {4, 4}, 12},
      {{{"X", 2}, {"Y", 4}}, "A[I_{XY},J]", "A[I_{YX},J]", {"X", "Y"}, {2, 4}, 6},
      {{{"X", 3}, {"Y", 3}}, "A[I_X,J_Y]", "A[I_Y,J_X]", {"X", "Y"}, {3, 3}, 6},
      // Z stays major-most, P minor-most
      {{{"Z", 2}, {"X", 2}, {"Y", 2}, {"P", 2}},
       "A[I_{ZXYP},J]",
       "A[I_{ZYXP},J]",
       {"X", "Y"},
       {2, 2},
       2},
      // 4 and 2 x 2 blocks
      {{{"X", 4}, {"Y", 2}, {"Z", 2}},
       "A[I_X,J_{YZ}]",
       "A[I_{YZ},J_X]",
       {"X", "Y", "Z"},
       {4, 2, 2},
       12},
  };
  return all;
}

TEST_CASE("blocks go to the devices that hold them afterwards") {
  for (const Row& row : rows()) {
    CAPTURE(row.to);
    const Mesh m = mesh(row.axes);
    const Layer layer = square_layer(2, 48);
    const Sharding from = argument_array(row.from, m).sharding;
    const Sharding to = argument_array(row.to, m).sharding;
    const Lines axes = permuted_axes(m, from, to);
    CHECK(axes == row.moved);
    const std::vector<int> targets = permutation(m, axes, from, to);
    CHECK(std::set<int>(targets.begin(), targets.end()).size() == targets.size());
    int movers = 0;
    for (std::size_t r = 0; r < targets.size(); ++r) movers += targets[r] != static_cast<int>(r);
    CHECK(movers == row.movers);
    // Every device's block before is the block of its target afterwards.
    const Devices devices(m, layer);
    std::vector<int> sizes;
    for (const std::string& axis : axes) sizes.push_back(m.find(axis)->size);
    for (int d = 0; d < devices.count(); ++d) {
      std::vector<int> at;
      for (const std::string& axis : axes) at.push_back(devices.coordinate(d, axis));
      const std::vector<int> goes =
          rank_coordinates(sizes, targets[static_cast<std::size_t>(rank_at(sizes, at))]);
      int target = -1;
      for (int e = 0; e < devices.count(); ++e) {
        bool same = true;
        for (const MeshAxis& axis : m.axes) {
          const auto moved = std::find(axes.begin(), axes.end(), axis.name);
          const int wanted = moved == axes.end()
                                 ? devices.coordinate(d, axis.name)
                                 : goes[static_cast<std::size_t>(moved - axes.begin())];
          same = same && devices.coordinate(e, axis.name) == wanted;
        }
        if (same) target = e;
      }
      CHECK(devices.empty(d, from).start == devices.empty(target, to).start);
    }
    CHECK(invariant_steps(sizes, targets) == row.steps);
  }
}

TEST_CASE("the smallest steps that leave a pattern alone") {
  // A shift is the same everywhere; swapping neighbours is so in steps of two.
  CHECK(invariant_steps(std::vector{6}, std::vector{1, 2, 3, 4, 5, 0}) == std::vector{1});
  CHECK(invariant_steps(std::vector{6}, std::vector{1, 0, 3, 2, 5, 4}) == std::vector{2});
  CHECK(invariant_steps(std::vector{6}, std::vector{0, 1, 2, 3, 5, 4}) == std::vector{6});
  // rows swapped in pairs, columns shifted: [2 x 3]
  CHECK(invariant_steps(std::vector{2, 3}, std::vector{4, 5, 3, 1, 2, 0}) == std::vector{1, 1});
}

CollectiveRequest request(const Cluster& on, const Row& row, bool full) {
  ShardedCollective c;
  const Mesh m = mesh(row.axes);
  c.kind = Collective::collective_permute;
  c.before = argument_array(row.from, m).sharding;
  c.after = argument_array(row.to, m).sharding;
  c.axes = permuted_axes(m, c.before, c.after);
  c.bytes = Bytes{64e6};
  CollectiveCall call = call_of(c, m);
  call.algorithm = find_algorithm("permutation");
  return {on, {call}, Grain::flow, full};
}

Seconds end_of(const Lowered& lowered) {
  const Timeline timeline = replay_simgrid(lowered.graph);
  Seconds last;
  for (const OpId op : lowered.plan.collectives[0].times[0].end) {
    last = std::max(last, timeline.end[static_cast<std::size_t>(op)]);
  }
  return last;
}

TEST_CASE("a permutation replays in its closed form, folded and full") {
  for (const Row& row : rows()) {
    std::string torus = "torus:";
    for (const auto& [name, size] : row.axes) {
      torus += (torus.back() == ':' ? "" : "x") + std::to_string(size);
    }
    CAPTURE(torus);
    CAPTURE(row.to);
    const Cluster on = cluster(torus);
    const Lowered folded = lower_collectives(request(on, row, false));
    const Lowered full = lower_collectives(request(on, row, true));
    CHECK(check(folded.graph).empty());
    const Seconds analytic = folded.plan.collectives[0].analytic;
    CHECK(end_of(full).v == doctest::Approx(analytic.v).epsilon(1e-9));
    CHECK(end_of(folded).v == doctest::Approx(end_of(full).v).epsilon(1e-9));
    int classes = 1;
    for (std::size_t a = 0, k = 0; a < row.axes.size(); ++a) {
      const bool moves = k < row.moved.size() && row.moved[k] == row.axes[a].first;
      CHECK(folded.plan.fold.step[a] == (moves ? row.steps[k] : 1));
      classes *= moves ? row.steps[k++] : 1;
    }
    CHECK(folded.plan.fold.classes() == classes);
  }
}

TEST_CASE("a mutated permutation takes another time") {
  const Row& row = rows()[0];
  CollectiveRequest changed = request(cluster("torus:4x4"), row, true);
  std::vector<int>& targets = changed.calls[0].ask.targets;
  const Seconds right = end_of(lower_collectives(changed));
  CHECK(right.v * 1e6 == doctest::Approx(64. * 3 / 16 / 200e9 * 1e12).epsilon(1e-9));
  for (std::size_t r = 0; r < 16; ++r) targets[r] = static_cast<int>(15 - r);  // one hop each way
  CHECK(end_of(lower_collectives(changed)).v < right.v * 0.99);
}

}  // namespace
}  // namespace shardsim
