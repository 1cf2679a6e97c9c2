// The proof of the presets: every set of them on meshes of one to three axes, with dims that do not
// divide, moved by every algorithm that suits.
#include <algorithm>
#include <set>

#include "proof.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Case;
using testing::in_turn;
using testing::kLlama;
using testing::messages;
using testing::model;
using testing::Network;
using testing::network;
using testing::PlannedMoves;
using testing::products;
using testing::prove;
using testing::Reference;
using testing::reference;
using testing::shard_case;
using testing::Sharded;

// Sequences and heads divide, as the presets demand; D, F and T do not.
Case llama_case(const Network& n) {
  const int devices = n.cluster.devices();
  return {model(kLlama, {{"D", 7}, {"F", 11}, {"N", 2 * devices}, {"K", devices}, {"H", 2}}),
          batch(devices, 5),
          n.mesh,
          {},
          {},
          {}};
}

const std::vector<Network>& networks() {
  static const std::vector<Network> kNetworks = {
      network("ring:2", {{"X", {"x"}}}),
      network("ring:5", {{"X", {"x"}}}),
      network("ring:6", {{"X", {"x"}}}),
      network("ring-oneway:3", {{"X", {"x"}}}),
      network("switch:4", {{"X", {"4"}}}),
      network("switch:6", {{"X", {"2"}}, {"Y", {"3"}}}),
      network("torus:2x2", {{"X", {"x"}}, {"Y", {"y"}}}),
      network("torus:3x3", {{"X", {"x"}}, {"Y", {"y"}}}),
      network("torus:4x2", {{"X", {"x"}}, {"Y", {"y"}}}),
      network("torus:3x2", {{"X", {"x", "y"}}}),
      network("torus:4x3", {{"X", {"y", "x"}}}),
      network("torus:2x2x2", {{"X", {"x"}}, {"Y", {"y"}}, {"Z", {"z"}}}),
      network("torus:3x2x2", {{"X", {"z", "x"}}, {"Y", {"y"}}}),
      network("switch:8", {{"X", {"2"}}, {"Y", {"2"}}, {"Z", {"2"}}}),
      network("line:4", {{"X", {"x"}}}),
      network("mesh:3x3", {{"X", {"x", "y"}}}),
      network("ring:8", {{"X", {"2"}}, {"Y", {"4"}}}),
      network("full-mesh:4", {{"X", {"x"}}}),
      network("switch:2 | rails:2", {{"X", {"l1x", "l0n"}}}),
      network("switch:2 | switch:2 | switch:2 /2", {{"X", {"l2n", "l1n"}}, {"Y", {"l0n"}}})};
  return kNetworks;
}

TEST_CASE("proof: every set of presets on every network, moved by every algorithm") {
  std::set<std::pair<std::string, std::string>> offered, used;  // algorithm, kind
  for (const Network& n : networks()) {
    CAPTURE(n.text);
    const Reference expected = reference(llama_case(n), "Out");
    std::size_t most = 1;  // rows that suit some collective of the network
    for (std::size_t row = 0; row < most; ++row) {
      CAPTURE(row);
      std::mt19937 random(static_cast<std::uint32_t>(row));
      const auto pick = [&](const std::vector<const AlgorithmRow*>& rows,
                            const ShardedCollective& c) {
        most = std::max(most, rows.size());
        for (const AlgorithmRow* r : rows) offered.emplace(r->name, to_text(c.kind));
        const AlgorithmRow* taken = rows[row % rows.size()];
        used.emplace(taken->name, to_text(c.kind));
        return taken;
      };
      PlannedMoves moves(n, pick, row == 0 ? nullptr : &random);
      for (const testing::Product& product :
           products(n.mesh, static_cast<std::uint32_t>(row) + 1)) {
        Case c = llama_case(n);
        c.presets = product;
        CAPTURE(testing::lines(product));
        const Sharded cut = shard_case(c);
        REQUIRE(messages(cut.problems) == std::vector<std::string>{});
        CHECK(prove(cut, n.mesh, expected, std::ref(moves)) == "");
      }
    }
  }
  CHECK(used == offered);
  for (const AlgorithmRow& row : algorithms()) {
    // No preset needs a collective-permute or, over levels, an all-to-all; random layers do.
    if (row.name == "shift" || row.name == "permutation" || row.name == "rail-aligned") continue;
    CAPTURE(row.name);
    CHECK(
        std::any_of(used.begin(), used.end(), [&](const auto& u) { return u.first == row.name; }));
  }
}

}  // namespace
}  // namespace shardsim
