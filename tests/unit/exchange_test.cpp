// Exchanges of permutations, and that their parts cost together what the closed form says of the
// whole.
#include "plan/exchange.h"

#include <random>

#include "../support/networks.h"
#include "plan/algorithms.h"
#include "plan/lower_collective.h"
#include "plan/permute.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::argument_array;
using testing::mesh;
using testing::torus_pricing;

TEST_CASE("what is exchanged, and which exchanges are independent") {
  struct Row {
    std::string before, after;
    std::vector<std::string> parts;  // keys, axes as indices
  };
  const Mesh m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}, {"P", 2}});
  for (const Row& row : {Row{"A[I_{XYZ},J_P]", "A[I_{YXZ},J_P]", {"01 10 "}},
                         Row{"A[I_{XYZ},J_P]", "A[I_{XZY},J_P]", {"12 21 "}},
                         Row{"A[I_{XY},J_{ZP}]", "A[I_{YX},J_{PZ}]", {"01 10 ", "23 32 "}},
                         Row{"A[I_X,J_Y,K_Z,L_P]", "A[I_Y,J_X,K_P,L_Z]", {"0 1 1 0 ", "2 3 3 2 "}},
                         Row{"A[I_X,J_Y,K_Z,L_P]", "A[I_Y,J_Z,K_X,L_P]", {"0 1 1 2 2 0 "}},
                         Row{"A[I_X,J_Z,K_Y,L_P]", "A[I_Z,J_X,K_P,L_Y]", {"0 2 2 0 1 3 3 1 "}},
                         Row{"A[I_{XY},J]", "A[I_{XY},J]", {}}}) {
    CAPTURE(row.before);
    CAPTURE(row.after);
    std::vector<std::string> parts;
    for (const auto& part : independent(m, exchanges(m, argument_array(row.before, m).sharding,
                                                     argument_array(row.after, m).sharding))) {
      parts.push_back(key_of(part));
    }
    CHECK(parts == row.parts);
  }
}

// Both layouts cut over all axes; equally many blocks of every dim.
std::pair<Sharding, Sharding> random_pair(const Mesh& m, std::mt19937& random) {
  const auto layout = [&] {
    Sharding s = whole({"I", "J", "K"});
    std::vector<std::string> axes = m.names();
    for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random() % i]);
    for (const std::string& axis : axes) s.dims[random() % 3].axes.push_back(axis);
    return s;
  };
  for (;;) {
    const auto pair = std::pair{layout(), layout()};
    bool equal = pair.first != pair.second;
    for (std::size_t d = 0; d < 3; ++d) {
      equal = equal && m.size_of(pair.first.dims[d].axes) == m.size_of(pair.second.dims[d].axes);
    }
    if (equal) return pair;
  }
}

TEST_CASE("a permutation costs what its closed form says, priced part by part") {
  struct Row {
    Mesh m;
    Wiring wiring;
    Seconds latency;
  };
  const Mesh cube = mesh({{"X", 4}, {"Y", 3}, {"Z", 4}, {"P", 3}});
  const Mesh apart = mesh({{"X", 4}, {"Y", 4}, {"Z", 3}, {"P", 3}});
  const Mesh small = mesh({{"X", 2}, {"Y", 2}, {"Z", 4}, {"P", 4}});
  std::mt19937 random(1);
  int several = 0;
  for (const Row& row :
       {Row{cube, Wiring::ring, {}}, Row{apart, Wiring::ring, Seconds{1e-6}},
        Row{small, Wiring::ring, Seconds{3e-6}}, Row{small, Wiring::ring_oneway, Seconds{1e-6}}}) {
    PriceBook pricing = torus_pricing(row.m, row.wiring, row.latency);
    for (int round = 0; round < 60; ++round) {
      const auto [before, after] = random_pair(row.m, random);
      CAPTURE(to_text(before));
      CAPTURE(to_text(after));
      ShardedCollective c;
      c.kind = Collective::collective_permute;
      c.before = before;
      c.after = after;
      c.axes = permuted_axes(row.m, before, after);
      c.bytes = Bytes{64e6};
      const CollectiveCall call = call_of(c, pricing.mesh());
      GroupNet net;
      for (const int axis : call.axes) {
        const int size = row.m.axes[static_cast<std::size_t>(axis)].size;
        const Wiring wiring = size == 2 ? Wiring::pair : row.wiring;
        net.axes.push_back({size,
                            wiring,
                            BytesPerSec{100e9},
                            row.latency,
                            wiring == Wiring::ring ? 2 : 1,
                            {axis}});
      }
      const Seconds expected =
          choose_algorithm(call.ask, net).best->closed_form(call.ask, net).time;
      CHECK(pricing.collective(c).v == doctest::Approx(expected.v).epsilon(1e-9));
      if (independent(row.m, exchanges(row.m, before, after)).size() > 1) ++several;
    }
  }
  CHECK(several > 5);
}

TEST_CASE("on a switch every message takes the same way: latency counts once") {
  const Mesh m = {{{"X", 2, {0}}, {"Y", 2, {1}}, {"Z", 2, {2}}, {"P", 2, {3}}}, {}};
  const Cluster star = testing::cluster("switch:2x2x2x2", Seconds{1e-6});
  PriceBook pricing(star, m, ChipRates{FlopsPerSec{1e15}, BytesPerSec{3e12}, Seconds{}});
  const auto swaps = exchanges(m, argument_array("A[I_{XY},J_{ZP}]", m).sharding,
                               argument_array("A[I_{YX},J_{PZ}]", m).sharding);
  CHECK(independent(m, swaps).size() == 2);
  CHECK(pricing.permute(swaps, Bytes{1e6}).v == doctest::Approx(1e-6 + 1e6 / 100e9).epsilon(1e-12));
}

}  // namespace
}  // namespace shardsim
