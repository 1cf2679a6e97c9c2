// The proof at random: 2,000 small layers of one to three statements with random dims, layouts and
// meshes, from a fixed seed, in one micro-batch or two. Sizes need not divide; every collective
// takes a random algorithm that suits and its sends run in a random order.
#include <array>
#include <iterator>
#include <set>

#include "proof.h"

namespace shardsim {
namespace {

using testing::Case;
using testing::model;
using testing::Network;
using testing::network;
using testing::PlannedMoves;
using testing::prove;
using testing::reference;
using testing::shard_case;
using testing::Sharded;

constexpr int kCases = 2000 / testing::kProofPart;
constexpr int kMostRefused = 3000;  // layouts that the engine rightly refuses, on the way there

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {  // std::shuffle differs between libraries
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }
  std::mt19937& engine() { return random_; }

 private:
  std::mt19937 random_;
};

using Names = std::vector<std::string>;

std::string text(const std::string& name, const Names& dims) {
  std::string result = name + "[";
  for (const std::string& dim : dims) result += (result.back() == '[' ? "" : ",") + dim;
  return result + "]";
}

// The statements of one layer; the last makes Out.
using Statements = std::vector<std::string>;

// A and B get up to two batch, two contracted, two free dims each and sometimes one that is summed.
Statements random_einsum(Dice& dice, const Names& out_dims, const std::string& out) {
  Names left, right;
  for (const std::string& dim : out_dims) {
    const std::size_t kind = dice.below(3);  // batch, free in A, free in B
    if (kind != 2) left.push_back(dim);
    if (kind != 1) right.push_back(dim);
  }
  Names rest;
  for (const char* dim : {"B", "T", "D", "F", "K", "H"}) {
    if (std::find(out_dims.begin(), out_dims.end(), dim) == out_dims.end()) rest.emplace_back(dim);
  }
  dice.shuffle(rest);
  const std::size_t contracted = dice.below(3);
  for (std::size_t i = 0; i < contracted && i < rest.size(); ++i) {
    left.push_back(rest[i]);
    right.push_back(rest[i]);
  }
  if (dice.one_in(8) && contracted < rest.size()) left.push_back(rest[contracted]);
  if (left.empty()) left.push_back(out_dims.front());
  if (right.empty()) right.push_back(out_dims.front());
  dice.shuffle(left);
  dice.shuffle(right);
  const std::string second = dice.one_in(2) ? "W" : "R";
  return {text(out, out_dims) + " = " + text("L" + out, left) + " * " + text(second + out, right)};
}

Names random_dims(Dice& dice) {
  Names dims = {"B", "T", "D", "F", "K", "H"};
  dice.shuffle(dims);
  dims.resize(1 + dice.below(3));
  return dims;
}

Statements random_statement(Dice& dice) {
  const Names dims = random_dims(dice);
  static const Names kFunctions = {"gelu", "relu", "silu", "exp"};
  static const Names kNorms = {"norm", "layernorm", "softmax"};
  const std::string function = dice.of(kFunctions);
  switch (dice.below(11)) {
    case 0:
      return {text("Out", dims) + " = " + text("A", dims) + " + " + text("C", dims)};
    case 1:
      return {text("Out", dims) + " = " + function + "(" + text("A", dims) + ")"};
    case 2:
      return {text("Out", dims) + " = " + function + "(" + text("A", dims) + ") * " +
              text("C", dims)};
    case 3: {
      const std::string& norm = dice.of(kNorms);
      const bool scaled = norm != "softmax" && dice.one_in(2);
      const std::string scale = scaled ? ", " + text("Wscale", {dims.back()}) : "";
      return {"Out = " + norm + "(" + text("A", dims) + ", " + dims.back() + scale + ")"};
    }
    case 4:
      return {"Out = attention(A[B,T,N,H], C[B,T,K,H], E[B,T,K,H]" +
              std::string(dice.one_in(2) ? ", causal)" : ")")};
    case 5:
      return {dice.one_in(2) ? "Out[B,T,N,H] = reshape(A[B,T,M])"
                             : "Out[B,T,M] = reshape(A[B,T,N,H])"};
    case 6: {
      Names rows = dims;
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(dice.below(rows.size() + 1)), "M");
      return {"Out = " + std::string(dice.one_in(2) ? "max(" : "min(") + text("A", rows) + ", M)"};
    }
    case 7:
      return {"Out = cast(" + text("A", dims) + ", " + (dice.one_in(2) ? "fp8)" : "fp32)")};
    case 8:
      return {text("Out", dims) + " = reshard(" + text("A", dims) + ")"};
    default:
      return random_einsum(dice, dims, "Out");
  }
}

const Names kOtherDims = {"reshape(", "max(", "min("};  // Out has not the dims of A

// One statement; sometimes its operand A is made by an einsum first, sometimes Out is a sum with A.
Statements random_layer(Dice& dice) {
  Statements layer = random_statement(dice);
  const std::size_t at = layer[0].find("A[");
  if (at == std::string::npos) return layer;
  Names dims;
  for (std::size_t i = at + 2; layer[0][i] != ']'; ++i) {
    if (layer[0][i] != ',') dims.emplace_back(1, layer[0][i]);
  }
  const bool same_dims = std::none_of(kOtherDims.begin(), kOtherDims.end(), [&](const auto& f) {
    return layer[0].find(f) != std::string::npos;
  });
  const bool residual = dice.one_in(3) && same_dims;
  if (dice.one_in(2)) {
    const Statements first = random_einsum(dice, dims, "A");
    layer.insert(layer.begin(), first.begin(), first.end());
  }
  if (residual) {
    layer.back().replace(layer.back().find("Out"), 3, "S");
    layer.push_back("Out = S + A");
  }
  return layer;
}

// A layout of the tensor: every mesh axis cuts one dim or none, in any order; activations are now
// and then kept as partial sums.
std::string random_layout(Dice& dice, const LayerTensor& tensor, const Mesh& mesh) {
  Sharding layout = whole(tensor.dims);
  Names axes = mesh.names();
  dice.shuffle(axes);
  for (const std::string& axis : axes) {
    if (dice.one_in(3)) continue;
    if (tensor.role == TensorRole::activation && dice.one_in(6)) {
      layout.unreduced.push_back(axis);
    } else {
      layout.dims[dice.below(layout.dims.size())].axes.push_back(axis);
    }
  }
  return tensor.name + to_text(layout);
}

std::vector<Network> networks() {
  return {network("ring:3", {{"X", {"x"}}}),
          network("ring:4", {{"X", {"x"}}}),
          network("ring-oneway:4", {{"X", {"x"}}}),
          network("switch:5", {{"X", {"5"}}}),
          network("switch:6", {{"X", {"3"}}, {"Y", {"2"}}}),
          network("torus:2x2", {{"X", {"x"}}, {"Y", {"y"}}}),
          network("torus:3x2", {{"X", {"x"}}, {"Y", {"y"}}}),
          network("torus:3x3", {{"X", {"x"}}, {"Y", {"y"}}}),
          network("torus:4x2", {{"X", {"y"}}, {"Y", {"x"}}}),
          network("torus:2x2x2", {{"X", {"x"}}, {"Y", {"y"}}, {"Z", {"z"}}}),
          network("torus:2x2x2", {{"X", {"z", "x"}}, {"Y", {"y"}}}),
          network("torus:3x2x2", {{"X", {"x"}}, {"Y", {"y"}}, {"Z", {"z"}}}),
          network("ring:8", {{"X", {"2"}}, {"Y", {"4"}}}),
          network("switch:2 | rails:3", {{"X", {"l1x", "l0n"}}})};
}

struct Counts {
  int computed = 0, refused = 0, padded = 0;
  std::set<StatementKind> statements;
  std::set<Collective> collectives;
  std::set<std::string_view> algorithms;
};

Case random_case(Dice& dice, const Network& n) {
  const auto size = [&](std::size_t most) { return static_cast<int>(1 + dice.below(most)); };
  const int kv_heads = size(6);
  const int heads = kv_heads * size(2);
  const int head = size(4);
  Case c{model(random_layer(dice), {{"D", size(7)},
                                    {"F", size(9)},
                                    {"N", heads},
                                    {"K", kv_heads},
                                    {"H", head},
                                    {"M", heads * head}}),
         testing::batch(size(6), size(5)),
         n.mesh,
         {},
         {},
         {}};
  std::vector<Problem> problems;
  const Layer layer = make_layer(c.model, c.batch, c.batch.global.value, problems);
  REQUIRE(testing::messages(problems) == Names{});
  for (const LayerTensor& tensor : layer.tensors) {
    if (!dice.one_in(4)) c.tensors.push_back(random_layout(dice, tensor, n.mesh));
  }
  c.recompute = recomputations()[dice.below(recomputations().size())].name;
  c.use_idle_axes = dice.one_in(3);
  return c;
}

void count(const Sharded& cut, Counts& counts) {
  ++counts.computed;
  if (!cut.result.padding.empty()) ++counts.padded;
  for (const ShardedStatement& step : cut.result.steps) {
    if (step.pass == Pass::forward) counts.statements.insert(step.kind);
  }
}

TEST_CASE("proof: 2,000 random statements, layouts and meshes") {
  Dice dice(20261129);
  const std::vector<Network> all = networks();
  Counts counts;
  std::vector<PlannedMoves> moves;
  for (const Network& n : all) {
    moves.emplace_back(
        n,
        [&](const std::vector<const AlgorithmRow*>& rows, const ShardedCollective& c) {
          const AlgorithmRow* row = dice.of(rows);
          counts.collectives.insert(c.kind);
          counts.algorithms.insert(row->name);
          return row;
        },
        &dice.engine());
  }
  while (counts.computed < kCases && counts.refused < kMostRefused) {
    const std::size_t which = dice.below(all.size());
    const Case c = random_case(dice, all[which]);
    const Sharded cut = shard_case(c);
    if (!cut.problems.empty()) {
      ++counts.refused;
      continue;
    }
    CAPTURE(counts.computed);
    CAPTURE(all[which].text);
    Names statements;
    for (const auto& line : c.model.statements) statements.push_back(line.value);
    CAPTURE(statements);
    CAPTURE(c.tensors);
    CAPTURE(c.recompute);
    CAPTURE(c.use_idle_axes);
    CAPTURE(cut.result.padding);
    const int microbatches = dice.one_in(4) ? 2 : 1;
    CAPTURE(microbatches);
    const std::string wrong =
        prove(cut, all[which].mesh, reference(c, "Out", microbatches), std::ref(moves[which]));
    CHECK(wrong == "");
    count(cut, counts);
  }
  MESSAGE(counts.computed << " computed, " << counts.padded << " of them padded; " << counts.refused
                          << " refused");
  CHECK(counts.computed == kCases);
  if (testing::kProofPart > 1) return;
  CHECK(counts.padded > kCases / 4);
  CHECK(counts.statements.size() == 11);
  // Layers need no rooted collectives (scatter-gather) and no barriers; shifts are permutations of
  // theirs.
  CHECK(counts.collectives.size() == collective_kinds().size() - 5);
  CHECK(counts.algorithms.size() == algorithms().size() - 3);
}

}  // namespace
}  // namespace shardsim
