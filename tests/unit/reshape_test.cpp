#include "plan/reshape.h"

#include "proof.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Case;
using testing::messages;
using testing::model;
using testing::prove;
using testing::reference;
using testing::shard_case;
using testing::Sharded;

using Names = std::vector<std::string>;

TEST_CASE("one dim into several, or neighbours into one") {
  struct Row {
    Names from, to, one_and_parts;
    bool splits;
  };
  const std::vector<Row> rows = {{{"B", "T", "M"}, {"B", "T", "N", "H"}, {"M", "N", "H"}, true},
                                 {{"B", "N", "H"}, {"B", "M"}, {"M", "N", "H"}, false},
                                 {{"M", "D"}, {"N", "K", "H", "D"}, {"M", "N", "K", "H"}, true},
                                 {{"B", "T"}, {"B", "S"}, {"T", "S"}, true},
                                 {{"M"}, {"M"}, {}, true},
                                 {{"N", "H"}, {"H", "N"}, {}, true},
                                 {{"N", "H"}, {"N"}, {}, true},
                                 {{"B", "T", "M"}, {"B", "N", "T", "H"}, {}, true},
                                 {{"B", "T"}, {"N", "H"}, {}, true}};
  for (const Row& row : rows) {
    CAPTURE(row.from);
    CAPTURE(row.to);
    const auto change = regroup(row.from, row.to);
    REQUIRE(change.has_value() == !row.one_and_parts.empty());
    if (!change) continue;
    Names found = {change->one};
    found.insert(found.end(), change->parts.begin(), change->parts.end());
    CHECK(found == row.one_and_parts);
    CHECK(change->splits == row.splits);
  }
}

Mesh mesh() {
  return {{{"X", 4, {}}, {"Y", 2, {}}, {"Z", 3, {}}}, {}};
}

// M = N * H = L * N * H, with L = 1.
Layer sizes() {
  Layer layer;
  layer.dims = {{"B", 6}, {"M", 24}, {"N", 4}, {"H", 6}, {"L", 1}, {"R", 24}};
  return layer;
}

LayerTensor array(const Sharding& layout) {
  LayerTensor tensor{"A", {}, TensorRole::input};
  for (const DimLayout& dim : layout.dims) tensor.dims.push_back(dim.dim);
  return tensor;
}

TEST_CASE("axes stay where they cut the major part into whole blocks") {
  const std::string no = "refused";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"A[B_Z, M_X] -> A[B, N, H]", "[B_Z, N_X, H]"},
      {"A[B, M_Y]{U_X} -> A[B, N, H]", "[B, N_Y, H]{U_X}"},
      {"A[B_Y, N_X, H]{U_Z} -> A[B, M]", "[B_Y, M_X]{U_Z}"},
      {"A[M_X, B_Y] -> A[L, N, H, B]", "[L, N_X, H, B_Y]"},
      {"A[L, N_Y, H] -> A[M]", "[M_Y]"},
      {"A[M_XZ] -> A[R]", "[R_{XZ}]"},
      {"A[B, M_XY] -> A[B, N, H]", no},
      {"A[B, M_Z] -> A[B, N, H]", no},
      {"A[B, N_XY, H] -> A[B, M]", no},
      {"A[B, N_Z, H] -> A[B, M]", no},
      {"A[B, N, H_Y] -> A[B, M]", no},
      {"A[B, N_X, H_Y] -> A[B, M]", no},
      {"A[L_Y, N, H] -> A[M]", no}};
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    const std::size_t arrow = text.find(" -> ");
    const Sharding from = testing::argument_array(text.substr(0, arrow), mesh()).sharding;
    const Sharding to = testing::argument_array(text.substr(arrow + 4), mesh()).sharding;
    const Reshaped result = reshaped(sizes(), mesh(), array(from), from, array(to));
    CHECK((result.error.empty() ? to_text(result.out) : no) == expected);
    CHECK(result.hint.empty() == result.error.empty());
  }
}

TEST_CASE("what may be done where a cut would go inside a head") {
  const Sharding from = testing::argument_array("A[B, M_{XZ}]", mesh()).sharding;
  const LayerTensor to = array(testing::argument_array("A[B, N, H]", mesh()).sharding);
  Layer layer = sizes();
  layer.dims[1].size = 48;
  layer.dims[2].size = 8;
  Reshaped result = reshaped(layer, mesh(), array(from), from, to);
  CHECK(result.error ==
        "M = 48 of A becomes N = 8 times H = 6, and M is cut over X, Z = 12 devices: 12 does not "
        "divide N = 8, so cuts would go inside H");
  CHECK(result.hint == "write A[B, M_X] to have it gathered over Z");
  layer.dims[1].size = 12;
  layer.dims[2].size = 2;
  result = reshaped(layer, mesh(), array(from), from, to);
  CHECK(result.hint ==
        "write A[B, M] to have it gathered over X, Z; or make X two mesh axes, the first of 2, and "
        "cut over that one: every block of N is then held by 2 devices");
}

// Heads made flat, taken apart, attended to and put together again.
const Names kFlat = {"Qf[B,T,M] = X[B,T,D] * Wq[D,M]", "Kf[B,T,L] = X * Wk[D,L]",
                     "Q[B,T,N,H] = reshape(Qf)",       "V[B,T,K,H] = reshape(Kf)",
                     "O = attention(Q, V, V, causal)", "Of[B,T,M] = reshape(O)",
                     "Wo3[N,H,D] = reshape(Wo[M,D])",  "P[B,T,D] = O * Wo3",
                     "R[B,T,D] = Of * Wr[M,D]",        "Out = P + R"};

Case flat(const Mesh& mesh, Names tensors, const std::string& recompute = "none") {
  Case c{model(kFlat, {{"D", 5}, {"N", 4}, {"K", 2}, {"H", 3}, {"M", 12}, {"L", 6}}),
         batch(2, 5),
         mesh,
         {},
         std::move(tensors),
         {}};
  c.recompute = recompute;
  return c;
}

std::vector<Case> flat_cases() {
  const Mesh one{{{"X", 2, {}}}, {}};
  const Mesh two{{{"X", 2, {}}, {"Y", 2, {}}}, {}};
  return {flat(one, {"Wq[D,M_X]", "Wk[D,L_X]", "Wo[M_X,D]", "Wr[M_X,D]", "P[B,T,D]", "R[B,T,D]"}),
          flat(one, {"Qf[B,T,M_X]", "Of[B_X,T,M]", "Q[B,T,N,H]"}),
          flat(two, {"Qf[B,T,M_XY]", "Kf[B,T,L_X]", "Of[B,T,M_YX]", "R[B,T,D]", "P[B_X,T,D]"}),
          flat(two, {"X[B,T,D_Y]", "Wq[D_Y,M_X]", "Qf[B,T,M_X]{U_Y}", "Q[B,T,N_X,H]"}),
          flat(two, {"X[B,T,D_Y]", "Wq[D_Y,M_X]", "Qf[B,T,M_X]{U_Y}", "Q[B,T,N_XY,H]"}, "full")};
}

TEST_CASE("proof: layers with reshapes, forward and backward") {
  for (const Case& c : flat_cases()) {
    CAPTURE(c.tensors);
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == Names{});
    CHECK(prove(cut, c.mesh, reference(c, "Out")) == "");
  }
}

TEST_CASE("proof of the proof: a reshape that cuts heads is seen") {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const Case c = flat_cases().front();
    Sharded cut = shard_case(c);
    int changed = 0;
    for (ShardedStatement& step : cut.result.steps) {
      const bool split = step.kind == StatementKind::reshape && step.out.dims.size() == 4;
      if (step.pass != pass || !split) continue;
      std::swap(step.out.dims[2].axes, step.out.dims[3].axes);
      ++changed;
    }
    CHECK(changed > 0);
    CHECK(prove(cut, c.mesh, reference(c, "Out")) != "");
  }
}

TEST_CASE("a reshape is neither work nor traffic") {
  const Case c = flat_cases().front();
  const Sharded cut = shard_case(c);
  int reshapes = 0;
  for (const ShardedStatement& step : cut.result.steps) {
    if (step.kind != StatementKind::reshape) continue;
    ++reshapes;
    CHECK(step.flops == Flops{});
    CHECK(step.memory_bytes == Bytes{});
    CHECK(step.before.empty());
  }
  CHECK(reshapes == 8);  // four of each pass
}

}  // namespace
}  // namespace shardsim
