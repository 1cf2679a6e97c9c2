// Gathers on several axes in phases: the pieces are whole, in order, and as fast as is possible;
// replayed, they take what their closed form says.
#include "plan/axis_phases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "../support/networks.h"
#include "plan/algorithms.h"
#include "plan/linear_programme.h"
#include "plan/lower_collective.h"
#include "plan/play.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;

namespace {

constexpr Bytes kV{67108864};

// Sum over phases of the busiest axis, of the whole array, in units of V/(N*W1) over the bound.
double over_bound(const std::vector<int>& sizes, const std::vector<double>& rates,
                  const PhasedPieces& pieces) {
  double ranks = 1, all_rates = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    ranks *= sizes[a];
    all_rates += rates[a];
  }
  double sum = 0;
  for (int phase = 0; phase < 16; ++phase) {
    std::vector<double> busy(sizes.size());
    for (const PhasedPiece& piece : pieces) {
      double before = 1;
      for (std::size_t s = 0; s < piece.order.size(); ++s) {
        const auto a = static_cast<std::size_t>(piece.order[s]);
        if (piece.phases[s] == phase) busy[a] += piece.share * (sizes[a] - 1) * before / rates[a];
        before *= sizes[a];
      }
    }
    sum += *std::max_element(busy.begin(), busy.end());
  }
  return sum / ((ranks - 1) / all_rates);
}

double off(double a, double b) {
  return std::abs(a / b - 1);
}

}  // namespace

TEST_CASE("a linear programme ends at its best corner, also where many corners are one") {
  // 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18 (Hillier and Lieberman, ch. 3): (2, 6).
  const std::vector<double> best = maximise({{1, 0}, {0, 2}, {3, 2}}, {4, 12, 18}, {3, 5});
  CHECK(off(best[0], 2) < 1e-12);
  CHECK(off(best[1], 6) < 1e-12);
  // Beale 1955: the largest gain and the first row alone go round in a circle.
  const std::vector<double> beale =
      maximise({{0.25, -60, -0.04, 9}, {0.5, -90, -0.02, 3}, {0, 0, 1, 0}}, {0, 0, 1},
               {0.75, -150, 0.02, -6});
  CHECK(off(0.75 * beale[0] - 150 * beale[1] + 0.02 * beale[2] - 6 * beale[3], 0.05) < 1e-9);
  CHECK(maximise({{1}}, {1}, {-1}) == std::vector<double>{0});
}

TEST_CASE("pieces in phases: shares add up, and in enough phases all axes are busy all the time") {
  struct Row {
    std::vector<int> sizes;
    std::vector<double> rates;
    std::size_t phases;
    double first, last;  // times of the bound
  };
  // 8 x 4 in two phases: 14/13 of the bound, by hand: what is first on y is as long as its last.
  const Row rows[] = {
      {{8, 4}, {1, 1}, 3, 14.0 / 13, 1},       {{16, 4}, {1, 1}, 4, 10.0 / 9, 1},
      {{5, 4, 3}, {1, 1, 1}, 4, 54.0 / 49, 1}, {{2, 2, 4}, {1, 1, 1}, 7, 1.275, 1},
      {{16, 8}, {2, 1}, 3, 1.0305796, 1},      {{8, 2}, {1, 1}, 6, 14.0 / 11, 1.05269649}};
  for (const Row& row : rows) {
    CAPTURE(row.sizes.size());
    CAPTURE(row.sizes[0]);
    const std::vector<PhasedPieces>& ways = phased_gathers(row.sizes, row.rates);
    CHECK(off(over_bound(row.sizes, row.rates, ways.front()), row.first) < 1e-6);
    CHECK(off(over_bound(row.sizes, row.rates, ways.back()), row.last) < 1e-6);
    for (const PhasedPieces& pieces : ways) {
      double sum = 0;
      for (const PhasedPiece& piece : pieces) {
        CHECK(piece.share > 0);
        CHECK(std::is_sorted(piece.phases.begin(), piece.phases.end(), std::less_equal<>()));
        CHECK(static_cast<std::size_t>(piece.phases.back()) < row.phases);
        sum += piece.share;
      }
      CHECK(off(sum, 1) < 1e-12);
      CHECK(over_bound(row.sizes, row.rates, pieces) > 1 - 1e-9);
    }
  }
}

TEST_CASE(
    "all axes of an unlike mesh at once reach the bound; a replay takes as long as its form") {
  struct Row {
    const char* network;
    double us;  // (N-1)/(kN) * V/W1: the corner has one link of each axis
  };
  const AlgorithmRow* all = find_algorithm("all-axes");
  for (const Row& row : {Row{"mesh:8x4", 31.0 / 64 * 671.08864},
                         {"mesh:16x4", 63.0 / 128 * 671.08864},
                         {"mesh:5x4x3", 59.0 / 180 * 671.08864},
                         {"mesh:4x2x2", 15.0 / 48 * 671.08864}}) {
    for (const double latency : {0.0, 1e-6}) {
      for (const Collective kind :
           {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
        CAPTURE(row.network);
        CAPTURE(to_text(kind));
        const Cluster c = cluster(row.network, Seconds{latency});
        const GroupNet net = group_net(c, all_axes(c));
        const CollectiveAsk ask{kind, kV, 1};
        const CollectivePlan plan = all->plan(ask, net, net.sizes());
        CHECK(play(plan, targets_of(ask, plan.sizes)) == "");
        CollectiveRequest request{.cluster = c, .calls = {{ask, all, all_axes(c)}}};
        request.full = true;
        const Lowered full = lower_collectives(request);
        const Seconds time = replay_simgrid(full.graph).makespan();
        CHECK(full.plan.collectives.front().exact);
        CHECK(off(time.v, full.plan.collectives.front().analytic.v) < 1e-9);
        const double once = time.v * 1e6 / (kind == Collective::all_reduce ? 2 : 1);
        if (latency == 0) CHECK(off(once, row.us) < 1e-9);
        if (latency > 0) CHECK(once > row.us);
      }
    }
  }
}

TEST_CASE("what is small takes few steps: fewer phases where latency counts") {
  const Cluster c = cluster("mesh:16x4", Seconds{1e-6});
  const GroupNet net = group_net(c, all_axes(c));
  const AlgorithmRow* all = find_algorithm("all-axes");
  const auto pieces = [&](double bytes) {
    return all->plan({Collective::all_gather, Bytes{bytes}, 1}, net, net.sizes())
        .piece_share.size();
  };
  CHECK(pieces(64) == 2);
  CHECK(pieces(1e9) == 5);
}
