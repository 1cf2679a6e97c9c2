// Sharded layers executed on arrays: every device multiplies its blocks, collectives move them, and
// the outputs and all gradients must equal those of one device.
#include <random>

#include "proof.h"

namespace shardsim {
namespace {

using testing::Arrays;
using testing::batch;
using testing::Case;
using testing::Copy;
using testing::execute;
using testing::Execution;
using testing::in_turn;
using testing::kLlama;
using testing::kParallel;
using testing::mesh;
using testing::messages;
using testing::model;
using testing::Network;
using testing::network;
using testing::outside;
using testing::PlannedMoves;
using testing::preset;
using testing::prove;
using testing::reference;
using testing::Reference;
using testing::shard_case;
using testing::Sharded;

Case small_case(const Mesh& m, std::vector<PresetSpec> presets, std::vector<std::string> tensors) {
  return {model(kLlama, {{"D", 8}, {"F", 8}, {"N", 4}, {"K", 2}, {"H", 2}}),
          batch(8, 4),
          m,
          std::move(presets),
          std::move(tensors),
          {}};
}

constexpr int kRandomTables = 200;

const Network& cube() {
  static const Network kCube = network("torus:2x2x2", {{"X", {"x"}}, {"Y", {"y"}}, {"P", {"z"}}});
  return kCube;
}

std::string prove_small(const Sharded& cut) {
  static const Reference kExpected = reference(small_case(cube().mesh, {}, {}), "Out");
  static PlannedMoves moves(cube(), in_turn(0));
  return prove(cut, cube().mesh, kExpected, std::ref(moves));
}

TEST_CASE("proof: gradients on one device are derivatives") {
  const Mesh one = mesh({{"X", 1}});
  const Sharded s = shard_case(small_case(one, {}, {}));
  const auto given = outside(s.layer, "Out");
  const auto loss = [&](const Arrays& inputs) {
    Execution run = execute(s, one, {inputs}, "Out");
    const Copy out =
        run.read("Out", s.result.held[static_cast<std::size_t>(s.layer.tensor("Out"))]);
    double sum = 0;
    for (std::size_t i = 0; i < out.blocks[0].data.size(); ++i) {
      sum += out.blocks[0].data[i] * inputs.at("dOut").data[i];
    }
    return sum;
  };
  Execution run = execute(s, one, {given}, "Out");
  for (const LayerTensor& tensor : s.layer.tensors) {
    if (tensor.role == TensorRole::activation) continue;
    CAPTURE(tensor.name);
    const Copy gradient = run.read("d" + tensor.name, whole(tensor.dims));
    for (const std::size_t element : {std::size_t{0}, std::size_t{5}}) {
      auto moved = given;
      const double h = 1e-5;
      moved.at(tensor.name).data[element] += h;
      const double up = loss(moved);
      moved.at(tensor.name).data[element] -= 2 * h;
      const double down = loss(moved);
      const double expected = (up - down) / (2 * h);
      CHECK(std::abs(gradient.blocks[0].data[element] - expected) <
            1e-5 * (1 + std::abs(expected)));
    }
  }
}

TEST_CASE("proof: sharded layers compute what one device computes") {
  struct Row {
    std::string name;
    std::vector<PresetSpec> presets;
    std::vector<std::string> tensors;
    std::string recompute = "none";
  };
  const PresetSpec sp = preset("sp", {}), regather = preset("regather", {}),
                   no_sync = preset("no_sync", {});
  const std::vector<Row> rows = {
      {"nothing", {}, {}},
      {"zero1", {preset("zero1", {"X"})}, {}},
      {"zero2 over two axes", {preset("zero2", {"X", "P"})}, {}},
      {"zero1 outside fsdp", {preset("zero1", {"P"}), preset("fsdp", {"X"})}, {}},
      {"zero1 inside fsdp and tp",
       {preset("fsdp", {"X"}), preset("zero1", {"P"}), preset("tp", {"Y"}), sp},
       {}},
      {"shard_grad_op", {preset("shard_grad_op", {"X"})}, {}},
      {"weights kept over one axis",
       {preset("shard_grad_op", {"P"}), preset("fsdp", {"X"}), preset("tp", {"Y"}), sp},
       {}},
      {"weights kept over the inner axis",
       {preset("fsdp", {"P"}), preset("shard_grad_op", {"X"})},
       {}},
      {"hsdp and tp", {preset("hsdp", {"P", "X"}), preset("tp", {"Y"})}, {}},
      {"fsdp without sync", {preset("fsdp", {"X", "P"}), no_sync}, {}},
      {"gathered again", {preset("tp", {"Y"}), sp, regather}, {}},
      {"copies of key/value heads", {preset("tp", {"X", "Y"})}, {}},
      {"copies of key/value heads and sp", {preset("tp", {"Y", "X"}), sp, regather}, {}},
      {"copies of key/value heads and fsdp", {preset("fsdp", {"P"}), preset("tp", {"X", "Y"})}, {}},
      {"full recomputation",
       {preset("fsdp", {"X"}), preset("tp", {"Y"}), sp, regather},
       {},
       "full"},
      {"full recomputation with moves", {}, {"G[B_X,T,F]", "U[B,T,F_X]", "H[B,T_X,F]"}, "full"},
      {"selective recomputation", {preset("fsdp", {"X"}), preset("tp", {"Y"})}, {}, "selective"},
      {"dp", {preset("dp", {"X"})}, {}},
      {"dp over two axes", {preset("dp", {"P", "X"})}, {}},
      {"fsdp", {preset("fsdp", {"X"})}, {}},
      {"fsdp over two axes", {preset("fsdp", {"Y", "X"})}, {}},
      {"dp and fsdp", {preset("dp", {"P"}), preset("fsdp", {"X"})}, {}},
      {"tp", {preset("tp", {"Y"})}, {}},
      {"tp and sp", {preset("tp", {"Y"}), preset("sp", {})}, {}},
      {"dp and tp", {preset("dp", {"X"}), preset("tp", {"Y"})}, {}},
      {"fsdp and tp and sp", {preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})}, {}},
      {"all",
       {preset("dp", {"P"}), preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})},
       {}},
      {"a weight that differs", {preset("fsdp", {"X"}), preset("tp", {"Y"})}, {"Wk[D,K_Y,H_X]"}},
      {"a weight cut elsewhere", {preset("fsdp", {"X"})}, {"Wo[N_X,H,D]", "Wgate[D,F_X]"}},
      {"cut model width", {}, {"In[B_X,T,D_Y]"}},
      {"cut model width, columns", {}, {"In[B_X,T,D_Y]", "Wq[D_X,N_Y,H]", "Wout[F_{YP},D]"}},
      {"cut positions of queries", {}, {"In[B,T_X,D]", "Wq[D,N_Y,H]", "Wk[D,K_Y,H]"}},
      {"columns and rows without a preset", {}, {"Wgate[D,F_Y]", "Win[D,F_Y]", "Wout[F_Y,D]"}},
      {"an output cut on positions", {}, {"In[B,T,D]", "Wgate[D,F_Y]", "Mlp[B,T_Y,D]"}},
      {"sliced activations", {}, {"Y2[B_X,T,D]", "H[B,T_P,F]", "X[B,T,D]"}},
      {"moved by all-to-all", {}, {"G[B_X,T,F]", "U[B,T,F_X]", "H[B,T_X,F]"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Case c = small_case(cube().mesh, row.presets, row.tensors);
    c.recompute = row.recompute;
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    CHECK(prove_small(cut) == "");
  }
}

TEST_CASE("proof: partial sums that pass through linear statements") {
  const Network n = network("torus:2x2", {{"X", {"x"}}, {"Y", {"y"}}});
  PlannedMoves moves(n, in_turn(0));
  Case c{model({"P[B,T,F] = In[B,T,D] * Wa[D,F]", "R[B,T,F] = In * Wb[D,F]", "S = P + R",
                "G = silu(E[B,T,F]) * S", "Out[B,T,D] = G * Wc[F,D]"},
               {{"D", 8}, {"F", 4}}),
         batch(4, 4),
         n.mesh,
         {},
         {},
         {}};
  const Reference expected = reference(c, "Out");
  for (const std::string out :
       {"Out[B,T,D]", "Out[B,T_Y,D]", "Out[B_X,T,D]{U_Y}", "Out[B,T,D_X]"}) {
    CAPTURE(out);
    c.tensors = {"In[B_X,T,D_Y]",   "Wa[D_Y,F]",       "Wb[D_Y,F]",
                 "P[B_X,T,F]{U_Y}", "R[B_X,T,F]{U_Y}", "S[B_X,T,F]{U_Y}",
                 "E[B_X,T,F]",      "G[B_X,T,F]{U_Y}", out};
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    CHECK(cut.result.steps[4].operands[0].unreduced == std::vector<std::string>{"Y"});
    CHECK(prove(cut, n.mesh, expected, std::ref(moves)) == "");
  }
}

TEST_CASE("proof: attention and feed-forward side by side are reduced together") {
  const Network n = network("torus:2x2", {{"X", {"x"}}, {"Y", {"y"}}});
  PlannedMoves moves(n, in_turn(0));
  Case c{model(kParallel, {{"D", 8}, {"F", 8}, {"N", 4}, {"K", 2}, {"H", 2}}),
         batch(4, 4),
         n.mesh,
         {},
         {},
         {}};
  const Reference expected = reference(c, "Out");
  for (const bool cut_positions : {false, true}) {
    CAPTURE(cut_positions);
    c.presets = {preset("fsdp", {"X"}), preset("tp", {"Y"})};
    if (cut_positions) c.presets.push_back(preset("sp", {}));
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    CHECK(prove(cut, n.mesh, expected, std::ref(moves)) == "");
  }
}

// A random layout of some tensors; about one in four axes is used, a few arrays are kept unreduced.
std::vector<std::string> random_tables(const Layer& layer, std::mt19937& random) {
  const auto chance = [&](unsigned one_in) { return random() % one_in == 0; };
  std::vector<std::string> tables;
  for (const LayerTensor& tensor : layer.tensors) {
    if (chance(2)) continue;
    Sharding layout = whole(tensor.dims);
    for (const std::string axis : {"X", "Y", "P"}) {
      if (chance(2)) continue;
      const std::size_t dim = random() % tensor.dims.size();
      if (tensor.dims[dim] == "D" && chance(2)) continue;
      if (tensor.role == TensorRole::activation && chance(6)) {
        layout.unreduced.push_back(axis);
      } else if (layer.dim_size(tensor.dims[dim]) >> (layout.dims[dim].axes.size() + 1) > 0) {
        layout.dims[dim].axes.push_back(axis);  // every axis has two devices: no padding
      }
    }
    tables.push_back(tensor.name + to_text(layout));
  }
  return tables;
}

TEST_CASE("proof: random tables of layouts are refused or compute what one device computes") {
  std::vector<Problem> problems;
  const Case base = small_case(cube().mesh, {}, {});
  const Layer layer = make_layer(base.model, base.batch, 8, problems);
  std::mt19937 random(11);
  int computed = 0;
  for (int round = 0; round < kRandomTables; ++round) {
    CAPTURE(round);
    const std::vector<std::string> tables = random_tables(layer, random);
    CAPTURE(tables);
    const Sharded cut = shard_case(small_case(cube().mesh, {}, tables));
    if (!cut.problems.empty()) continue;
    ++computed;
    CHECK(prove_small(cut) == "");
  }
  CHECK(computed > kRandomTables / 20);
}

}  // namespace
}  // namespace shardsim
