// The proof of the presets: every set of them on meshes of one to three axes, with dims that do not
// divide, in one micro-batch and in two, with every recomputation; and a quarter of them once more with
// each further algorithm that suits.
#include <algorithm>
#include <set>

#include "plan/sub_axes.h"
#include "proof.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Case;
using testing::in_turn;
using testing::kLlama;
using testing::kProofPart;
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
Case llama_case(const Network& n, int length = 5) {
  const int devices = n.cluster.devices();
  return {model(kLlama, {{"D", 7}, {"F", 11}, {"N", 2 * devices}, {"K", devices}, {"H", 2}}),
          batch(devices, length),
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
      network("torus:4x2", {{"X", {"x", "y"}}}),
      network("switch:8", {{"X", {"8"}}}),
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

bool names(const testing::Product& product, std::string_view preset) {
  return std::any_of(product.begin(), product.end(),
                     [&](const PresetSpec& p) { return p.preset == preset; });
}

TEST_CASE("proof: every set of presets on every network, and every algorithm") {
  std::set<std::pair<std::string, std::string>> offered, used;  // algorithm, kind
  int turn = 0;
  for (const Network& n : networks()) {
    CAPTURE(n.text);
    const int even = 2 * n.cluster.devices();  // rows for zigzag pieces
    const Reference expected[2][2] = {
        {reference(llama_case(n), "Out"), reference(llama_case(n), "Out", 2)},
        {reference(llama_case(n, even), "Out"), reference(llama_case(n, even), "Out", 2)}};
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
        const int each = row == 0 ? kProofPart : 4 * kProofPart;
        if (++turn % each != 0) continue;
        const bool zigzag = names(product, "zigzag");
        Case c = zigzag ? llama_case(n, even) : llama_case(n);
        c.presets = product;
        c.recompute = recomputations()[random() % recomputations().size()].name;
        const std::size_t more = random() % 2;
        CAPTURE(testing::lines(product));
        CAPTURE(c.recompute);
        CAPTURE(more);
        const Sharded cut = shard_case(c);
        REQUIRE(messages(cut.problems) == std::vector<std::string>{});
        CHECK(prove(cut, n.mesh, expected[zigzag ? 1 : 0][more], std::ref(moves)) == "");
      }
    }
  }
  CHECK(used == offered);
  if (kProofPart > 1) return;
  for (const AlgorithmRow& row : algorithms()) {
    // No layer needs a barrier or a broadcast, no preset a collective-permute or, over levels, an
    // all-to-all; random layers do.
    if (row.name == "shift" || row.name == "permutation" || row.name == "rail-aligned" ||
        row.name == "dissemination" || row.name == "scatter-gather") {
      continue;
    }
    CAPTURE(row.name);
    CHECK(
        std::any_of(used.begin(), used.end(), [&](const auto& u) { return u.first == row.name; }));
  }
}

// Every number of key/value heads that divides the devices and is less. With every set of presets
// that has tp where an axis comes apart, and some where the heads end between two axes.
TEST_CASE("proof: fewer key/value heads than tensor-parallel devices, axes taken apart") {
  int turn = 0, apart = 0, copied = 0, refused = 0;
  for (const Network& given : networks()) {
    const int devices = given.cluster.devices();
    for (int heads = 1; heads < devices; ++heads) {
      if (devices % heads != 0) continue;
      Case c = llama_case(given);
      c.model = model(kLlama, {{"D", 7}, {"F", 11}, {"N", 2 * devices}, {"K", heads}, {"H", 2}});
      const Reference expected = reference(c, "Out", 2);
      for (const testing::Product& product : products(given.mesh, 40u + heads)) {
        if (!names(product, "tp") || names(product, "zigzag")) continue;
        Network n = given;
        c.presets = product;
        std::vector<Problem> problems;
        const Layer layer = make_layer(c.model, c.batch, devices, problems);
        take_apart(product, layer, n.mesh, n.cluster);
        const int each = n.mesh.apart.empty() ? 6 : 1;
        if (++turn % (each * kProofPart) != 0) continue;
        c.mesh = n.mesh;
        CAPTURE(n.text);
        CAPTURE(heads);
        CAPTURE(testing::lines(product));
        const Sharded cut = shard_case(c);
        if (!cut.problems.empty()) {  // part of a ring, or 3 heads on 2 x 2 devices
          ++refused;
          CHECK(cut.problems[0].message.find("K = ") == 0);
          continue;
        }
        std::mt19937 random(static_cast<std::uint32_t>(turn));
        PlannedMoves moves(n, in_turn(random() % 3), &random);
        CHECK(prove(cut, n.mesh, expected, std::ref(moves)) == "");
        if (!n.mesh.apart.empty()) ++apart;
        const int wk = cut.layer.tensor("Wk"), wq = cut.layer.tensor("Wq");
        const auto axes = [&](int t) {
          return cut.layouts.tensors[static_cast<std::size_t>(t)].held.dims[1].axes.size();
        };
        if (axes(wk) < axes(wq)) ++copied;
      }
    }
  }
  MESSAGE(copied << " with copies, " << apart << " of them with an axis taken apart; " << refused
                 << " refused");
  if (kProofPart > 1) return;
  CHECK(apart > 30);
  CHECK(copied > 100);
}

// X cuts free dims of both operands. Multiplied as they are, the blocks give 1/|X| of the product.
TEST_CASE("proof: the blocks at hand in case 4 give the diagonal of the product and no more") {
  const Network n = network("ring:3", {{"X", {"x"}}});
  Case c{model({"Out[B,F] = In[B,D] * Win[D,F]"}, {{"D", 4}, {"F", 6}}),
         batch(6, 1),
         n.mesh,
         {},
         {"In[B_X,D]", "Win[D,F_X]", "Out[B,F]"},
         {}};
  const Sharded cut = shard_case(c);
  const Reference expected = reference(c, "Out");
  const std::vector<PricedPlan>& plans = cut.result.steps[0].plans;
  const auto diagonal = std::find_if(plans.begin(), plans.end(), [](const PricedPlan& p) {
    return p.text == "multiply the diagonal blocks over X";
  });
  REQUIRE(diagonal != plans.end());
  const testing::Devices devices(n.mesh, cut.layer);
  const auto held = [&](int device, const std::string& name) {
    const auto t = static_cast<std::size_t>(cut.layer.tensor(name));
    return devices.slice(device, expected.given[0].at(name), cut.result.held[t]);
  };
  const testing::Block& all = expected.values.at("Out");
  double multiplications = 0, right = 0;
  for (int device = 0; device < 3; ++device) {
    const testing::Block in = held(device, "In"), win = held(device, "Win");
    testing::Block out = devices.empty(device, whole({"B", "F"}));
    out.start = {in.start[0], win.start[1]};
    out.size = {in.size[0], win.size[1]};
    out.data.assign(testing::product(out.size), 0);
    testing::einsum({{"B", "D"}, &in}, {{"D", "F"}, &win}, {"B", "F"}, out);
    for_each(out, [&](const std::vector<int>& i) {
      right += std::abs(out.data[out.offset(i)] - all.data[all.offset(i)]) < 1e-12 ? 1 : 0;
    });
    multiplications = static_cast<double>(testing::product(out.size) * 4);
    CHECK(out.start[0] / 2 == out.start[1] / 2);  // on the diagonal
  }
  CHECK(diagonal->flops.v == 2 * multiplications);
  CHECK(right == static_cast<double>(all.data.size()) / 3);
}

// The same product asked for its diagonal alone: a batch dim, and nothing moves.
TEST_CASE("proof: a diagonal that the output asks for is a batch dim") {
  const Network n = network("ring:3", {{"X", {"x"}}});
  Case c{model({"Out[B] = In[B,D] * Win[D,B]"}, {{"D", 4}}),
         batch(7, 1),
         n.mesh,
         {},
         {"In[B_X,D]", "Win[D,B_X]", "Out[B_X]"},
         {}};
  const Sharded cut = shard_case(c);
  REQUIRE(messages(cut.problems) == std::vector<std::string>{});
  CHECK(testing::lines(testing::collectives(cut.result, Pass::forward)).empty());
  CHECK(cut.result.steps[0].cases[0].number == 1);
  CHECK(cut.result.steps[0].plans[0].text == "nothing moves");
  CHECK(prove(cut, n.mesh, reference(c, "Out")) == "");
}

}  // namespace
}  // namespace shardsim
