#include "plan/shard.h"

#include <algorithm>

#include "plan/einsum.h"
#include "plan/priced_plan.h"
#include "plan/reshard.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Case;
using testing::collectives;
using testing::lines;
using testing::mesh;
using testing::messages;
using testing::model;
using testing::preset;
using testing::shard_case;
using testing::Sharded;
using testing::small_llama;
using testing::step;

using Lines = std::vector<std::string>;

// I 64, J 32, K 16 in C = A * B with nothing but the given layouts, on X 4 and, if any of them
// names it, Y 2: an idle axis would be used to gather faster.
Sharded matmul(const std::vector<std::string>& tensors) {
  Mesh m = mesh({{"X", 4}, {"Y", 2}});
  const bool with_y = std::any_of(tensors.begin(), tensors.end(), [](const std::string& t) {
    return t.find('Y') != std::string::npos;
  });
  if (!with_y) m.axes.pop_back();
  Case c{model({"C[I,K] = A[I,J] * B2[J,K]"}, {{"I", 64}, {"J", 32}, {"K", 16}}),
         batch(4, 4),
         m,
         {},
         tensors,
         {}};
  return shard_case(c, false);
}

TEST_CASE("the case of every axis, and what moves") {
  struct Row {
    std::vector<std::string> tensors;
    std::vector<int> cases;
    std::string out;
    Lines moved;
  };
  const std::vector<Row> rows = {
      {{}, {1, 1}, "[I, K]", {}},
      {{"A[I_X,J]", "B2[J,K_Y]"}, {1, 1}, "[I_X, K_Y]", {}},
      // case 2: gathering A would move 4 KiB, a reduction of C 2 * 2 KiB; exchanging A a quarter of
      // it and gathering C less
      {{"A[I,J_X]", "C[I,K]"},
       {2, 1},
       "[I_X, K]",
       {"all-to-all A over X: [I, J_X] -> [I_X, J]", "all-gather C over X: [I_X, K] -> [I, K]"}},
      // without a layout for C there is nowhere for partial sums to go
      {{"A[I,J_X]"}, {2, 1}, "[I, K]", {"all-gather A over X: [I, J_X] -> [I, J]"}},
      {{"B2[J_X,K]"}, {2, 1}, "[I, K]", {"all-gather B2 over X: [J_X, K] -> [J, K]"}},
      // slicing is impossible: A uses X already
      {{"A[I_X,J]", "B2[J_X,K]"}, {2, 1}, "[I_X, K]", {"all-gather B2 over X: [J_X, K] -> [J, K]"}},
      // case 3, three ends
      {{"A[I,J_X]", "B2[J_X,K]"},
       {3, 1},
       "[I, K]{U_X}",
       {"all-reduce C over X: [I, K]{U_X} -> [I, K]"}},
      {{"A[I,J_X]", "B2[J_X,K]", "C[I_X,K]"},
       {3, 1},
       "[I, K]{U_X}",
       {"reduce-scatter C over X: [I, K]{U_X} -> [I_X, K]"}},
      {{"A[I,J_X]", "B2[J_X,K]", "C[I,K]{U_X}"}, {3, 1}, "[I, K]{U_X}", {}},
      {{"A[I,J_XY]", "B2[J_XY,K]", "C[I_X,K]"},
       {3, 3},
       "[I_{XY}, K]",
       // cheaper than to reduce-scatter C over XY and gather it over Y
       {"all-to-all A over XY: [I, J_{XY}] -> [I_{XY}, J]",
        "all-gather B2 over XY: [J_{XY}, K] -> [J, K]",
        "all-gather C over Y: [I_{XY}, K] -> [I_X, K]"}},
      {{"A[I,J_XY]", "B2[J_XY,K]", "C[I_YX,K]"},
       {3, 3},
       "[I, K]{U_{XY}}",
       {"reduce-scatter C over YX: [I, K]{U_{XY}} -> [I_{YX}, K]"}},
      // case 4: the smaller one moves
      {{"A[I_X,J]", "B2[J,K_X]"}, {4, 1}, "[I_X, K]", {"all-gather B2 over X: [J, K_X] -> [J, K]"}},
      // contracted over different axes: gathering A alone is not enough
      {{"A[I,J_X]", "B2[J_Y,K]"},
       {2, 2},
       "[I, K]",
       {"all-gather A over X: [I, J_X] -> [I, J]", "all-gather B2 over Y: [J_Y, K] -> [J, K]"}},
      // one operand has an axis more in the same dim
      {{"A[I,J_XY]", "B2[J_X,K]"},
       {3, 2},
       "[I, K]{U_{XY}}",
       {"all-reduce C over XY: [I, K]{U_{XY}} -> [I, K]"}},
      // the wish cuts less, more, elsewhere
      {{"A[I_X,J]", "C[I,K]"}, {1, 1}, "[I_X, K]", {"all-gather C over X: [I_X, K] -> [I, K]"}},
      {{"C[I_X,K]"}, {1, 1}, "[I_X, K]", {}},
      {{"A[I_X,J]", "C[I,K_X]"}, {1, 1}, "[I_X, K]", {"all-to-all C over X: [I_X, K] -> [I, K_X]"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.tensors);
    const Sharded s = matmul(row.tensors);
    REQUIRE(messages(s.problems).empty());
    const ShardedStatement& st = s.result.steps.front();
    for (std::size_t axis = 0; axis < st.cases.size(); ++axis) {
      CHECK(st.cases[axis].number == row.cases[axis]);
    }
    CHECK(to_text(st.out) == row.out);
    CHECK(lines(collectives(s.result, Pass::forward)) == row.moved);
    for (const ShardedCollective& c : collectives(s.result, Pass::forward)) {
      CHECK_FALSE(c.reason.empty());
      CHECK_FALSE(c.case_text.empty());
    }
  }
}

TEST_CASE("cases say what is impossible") {
  struct Row {
    Lines tensors;
    std::string axis, why;
  };
  const std::vector<Row> rows = {
      {{"A[I,J_X]", "B2[J_Y,K]"},
       "X",
       "cuts the contracted dim J of A only; a gather of A alone is rejected: Y cuts J of B2, so "
       "blocks would not match"},
      {{"A[I,J_XY]", "B2[J_X,K]"}, "Y", "cuts the contracted dim J of A only"},
      {{"A[I_X,J]", "B2[J_X,K]"},
       "X",
       "cuts I of A and J of B2; J is contracted, and A cannot be cut over X twice"},
      {{"A[I,J_X]", "B2[J,K_X]"},
       "X",
       "cuts J of A and K of B2; J is contracted, and B2 cannot be cut over X twice"}};
  for (const Row& row : rows) {
    CAPTURE(row.tensors);
    const std::vector<AxisCase> cases = matmul(row.tensors).result.steps[0].cases;
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const AxisCase& c) { return c.axis == row.axis; });
    REQUIRE(found != cases.end());
    CHECK(found->number == 2);
    CHECK(found->why == row.why);
  }
}

TEST_CASE("equal sizes in another order are said to be other rows") {
  const std::string why = "cuts the contracted dim J of both: partial sums";
  const std::string other = "; [J_{XY}] of A and [J_{YX}] of B2 are other rows: one of them moves";
  CHECK(matmul({"A[I,J_XY]", "B2[J_YX,K]"}).result.steps[0].cases[1].why == why + other);
  CHECK(matmul({"A[I,J_XY]", "B2[J_XY,K]"}).result.steps[0].cases[1].why == why);
  CHECK(matmul({"A[I,J_XY]", "B2[J_X,K]"}).result.steps[0].cases[0].why == why);
}

TEST_CASE("batch dims that do not match are said to move") {
  Case c{model({"C[B,I,K] = A[B,I,J] * Wb[B,J,K]"}, {{"I", 8}, {"J", 8}, {"K", 8}}),
         batch(8, 4),
         mesh({{"X", 4}, {"Y", 2}}),
         {},
         {"A[B_X,I,J]", "Wb[B_Y,J,K]"},
         {}};
  std::vector<AxisCase> cases = shard_case(c, false).result.steps[0].cases;
  CHECK(cases[0].why == "cuts the batch dim B of A, but Y that of Wb: one of them moves");
  CHECK(cases[1].why == "cuts the batch dim B of Wb, but X that of A: one of them moves");
  c.tensors = {"A[B_XY,I,J]", "Wb[B_X,J,K]"};
  cases = shard_case(c, false).result.steps[0].cases;
  CHECK(cases[1].why == "cuts the batch dim B of A; Wb keeps its block of it");
}

TEST_CASE("without a pin the cheaper of gathering and reducing is chosen") {
  // A is 4 KiB, C is 3 KiB: an all-reduce moves more than A, a reduce-scatter less.
  const auto run = [](const Lines& tensors, int j = 32) {
    Case c{model({"C[I,K] = A[I,J] * B2[J,K]"}, {{"I", 64}, {"J", j}, {"K", 24}}),
           batch(4, 4),
           mesh({{"X", 4}}),
           {},
           tensors,
           {}};
    return lines(collectives(shard_case(c, false).result, Pass::forward));
  };
  CHECK(run({"A[I,J_X]"}) == Lines{"all-gather A over X: [I, J_X] -> [I, J]"});
  CHECK(run({"A[I,J_X]", "C[I_X,K]"}) == Lines{"all-to-all A over X: [I, J_X] -> [I_X, J]"});
  // A is 32 KiB
  CHECK(run({"A[I,J_X]", "C[I_X,K]"}, 256) ==
        Lines{"reduce-scatter C over X: [I, K]{U_X} -> [I_X, K]"});
}

TEST_CASE("bytes are those of the array whole within a group") {
  struct Row {
    std::vector<std::string> tensors;
    double bytes;  // 2 per element
  };
  const std::vector<Row> rows = {
      {{"B2[J_X,K]", "A[I_X,J]"}, 32 * 16 * 2},              // gathered: the result
      {{"B2[J_X,K_Y]", "A[I_X,J]"}, 32 * 8 * 2},             // of one group of X
      {{"A[I,J_X]", "B2[J_X,K]"}, 64 * 16 * 2},              // all-reduce: the local array
      {{"A[I,J_X]", "B2[J_X,K]", "C[I_X,K]"}, 64 * 16 * 2},  // reduce-scatter: as well
      {{"A[I_X,J]", "C[I,K_X]"}, 64 * 16 * 2},               // all-to-all: all blocks of a group
  };
  for (const Row& row : rows) {
    CAPTURE(row.tensors);
    const auto moved = collectives(matmul(row.tensors).result, Pass::forward);
    REQUIRE(moved.size() == 1);
    CHECK(moved[0].bytes.v == doctest::Approx(row.bytes).epsilon(1e-12));
  }
}

TEST_CASE("bytes of collectives count the padding of every dim that they cut") {
  // I = 5 and J = 7 over X = 2: blocks of 3 and of 4.
  const Mesh m = testing::mesh({{"X", 2}});
  PriceBook prices = testing::torus_pricing(m);
  const Layer layer{{{"I", 5}, {"J", 7}}, {}, {}};
  struct Row {
    Sharding from, to;
    double elements;
  };
  const Sharding rows_cut{{{"I", {"X"}}, {"J", {}}}, {}};
  const Sharding columns_cut{{{"I", {}}, {"J", {"X"}}}, {}};
  const Sharding uncut = whole({"I", "J"});
  const Sharding partial{{{"I", {}}, {"J", {}}}, {"X"}};
  const std::vector<Row> rows = {{rows_cut, uncut, 2 * 3 * 7},
                                 {partial, columns_cut, 2 * 5 * 4},
                                 {partial, uncut, 5 * 7},
                                 {rows_cut, columns_cut, 4 * 3 * 4}};
  for (const Row& row : rows) {
    CAPTURE(to_text(row.from));
    CAPTURE(to_text(row.to));
    const auto moved = reshard(layer, prices, {"A", 2}, row.from, row.to).steps;
    REQUIRE(moved.size() == 1);
    CHECK(moved[0].bytes.v == doctest::Approx(row.elements * 2).epsilon(1e-12));
  }
}

TEST_CASE("what cannot be multiplied") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"C[I,K]{U_X}"}, "C is not a partial sum over X here, so it cannot be kept as one"},
  };
  for (const auto& [tensors, expected] : rows) {
    CAPTURE(expected);
    CHECK(messages(matmul(tensors).problems) == Lines{expected});
  }
}

TEST_CASE("a batch dim cut alike in both operands is no case") {
  Case c{model({"C[B,I,K] = A[B,I,J] * B2[B,J,K]"}, {{"I", 8}, {"J", 8}, {"K", 8}}),
         batch(4, 4),
         mesh({{"X", 4}}),
         {},
         {"A[B_X,I,J]", "B2[B_X,J,K]"},
         {}};
  Sharded s = shard_case(c, false);
  CHECK(s.result.steps[0].cases[0].number == 1);
  CHECK(to_text(s.result.steps[0].out) == "[B_X, I, K]");
  CHECK(collectives(s.result, Pass::forward).empty());
  c.tensors.pop_back();  // B2 is whole: it keeps its block, for free
  s = shard_case(c, false);
  CHECK(to_text(s.result.steps[0].operands[1]) == "[B_X, J, K]");
  CHECK(collectives(s.result, Pass::forward).empty());
}

TEST_CASE("partial sums pass through linear statements alone") {
  const std::vector<std::pair<std::string, int>> dims = {{"I", 8}, {"J", 8}, {"K", 8}, {"M", 64}};
  const std::string make = "P[I,K] = A[I,J] * Wb[J,K]";
  const Lines cut = {"A[I,J_X]", "Wb[J_X,K]", "P[I,K]{U_X}", "R[I,K]{U_X}"};
  struct Row {
    std::string next;
    std::string problem;  // empty: legal
    std::string out;
  };
  const std::vector<Row> rows = {
      {"R[I,K] = P + P", "", "[I, K]{U_X}"},
      {"R[I,J] = P * Wc[K,J]", "", "[I, J]{U_X}"},
      {"R = gelu(P)",
       "gelu of P, which is a partial sum over X: the sum of gelu over the devices is not gelu of "
       "the "
       "sum",
       ""},
      {"R = norm(P, K)",
       "norm of P, which is a partial sum over X: the sum of norm over the devices is not norm of "
       "the "
       "sum",
       ""},
      {"R = exp(P)",
       "exp of P, which is a partial sum over X: the sum of exp over the devices is not exp of the "
       "sum",
       ""},
      {"R = layernorm(P, K)",
       "layernorm of P, which is a partial sum over X: the sum of layernorm over the devices is "
       "not "
       "layernorm of the sum",
       ""},
      {"R = softmax(P, K)",
       "softmax of P, which is a partial sum over X: the sum of softmax over the devices is not "
       "softmax of the sum",
       ""},
      {"R[I] = max(P, K)",
       "max of P, which is a partial sum over X: the sum of max over the devices is not max of the "
       "sum",
       ""},
      {"R = cast(P, fp32)", "", "[I, K]{U_X}"},
      {"R = cast(P, fp8)",
       "cast of P, which is a partial sum over X, from 2 to 1 bytes an element: the sum of rounded "
       "parts is not the rounded sum",
       ""},
      {"R = P + Z[I,K]",
       "P is a partial sum over X, Z is none: the sum would count Z once for every device of X",
       ""},
      {"R[I,K] = silu(Z[I,K]) * P", "", "[I, K]{U_X}"},
      {"R[I,K] = silu(P) * Z[I,K]",
       "silu of P, which is a partial sum over X: the sum of silu over the devices is not silu of "
       "the sum",
       ""},
      {"R[K] = P * P",
       "P and P are both partial sums over X: the sum of their products over the devices is not "
       "the product of their sums",
       ""},
      {"R[I] = P * Wk[K]", "P is a partial sum over X: expected Wk whole over X, found Wk[K_X]",
       ""},
      {"R[M] = reshape(P)", "", "[M]{U_X}"},
      {"R[I,K] = reshard(P)", "", "[I, K]{U_X}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.next);
    Lines tensors = cut;
    const std::string made = row.next.substr(0, row.next.find(" = "));
    if (made.find('[') != std::string::npos) tensors.back() = made + "{U_X}";
    if (row.next.find("Wk") != std::string::npos) tensors.push_back("Wk[K_X]");
    const Sharded s = shard_case(
        {model({make, row.next}, dims), batch(4, 4), mesh({{"X", 4}}), {}, tensors, {}}, false);
    if (row.problem.empty()) {
      REQUIRE(messages(s.problems).empty());
      CHECK(to_text(s.result.steps[1].out) == row.out);
      continue;
    }
    REQUIRE_FALSE(s.problems.empty());
    CHECK(s.problems[0].message == row.problem);
    CHECK(s.problems[0].pos.source->text == row.next);
    CHECK_FALSE(s.problems[0].hint.empty());
  }
}

TEST_CASE(
    "a sum is made in the layout it is wanted in, as far as its operands are not partial there") {
  const std::vector<std::pair<std::string, int>> dims = {{"I", 8}, {"J", 8}, {"K", 8}};
  const Lines tensors = {"A[I,J_X]", "Wb[J_X,K]", "P[I,K]{U_X}", "Q[I_Y,K]{U_X}", "R[I_X,K_Y]"};
  for (const std::string last : {"R = P + Q", "R = silu(Z[I,K]) * Q"}) {
    CAPTURE(last);
    const Sharded s =
        shard_case({model({"P[I,K] = A[I,J] * Wb[J,K]", "Q[I,K] = P + P", last}, dims),
                    batch(4, 4),
                    mesh({{"X", 4}, {"Y", 2}}),
                    {},
                    tensors,
                    {}},
                   false);
    REQUIRE(messages(s.problems).empty());
    CHECK(to_text(s.result.steps[2].out) == "[I, K_Y]{U_X}");
    CHECK(to_text(s.result.held[static_cast<std::size_t>(s.layer.tensor("R"))]) == "[I_X, K_Y]");
  }
}

TEST_CASE("partial sums over different axes, and products with a factor that is cut") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"R = P + Q",
       "P is a partial sum over X, Q one over Y: each would be counted once for every device of "
       "the other's axes"},
      {"R = silu(Z[I,K]) * P",
       "P is a partial sum over X: expected Z whole over X, found Z[I_X, K]"}};
  for (const auto& [next, expected] : rows) {
    CAPTURE(next);
    Lines tensors = {"A[I,J_X]", "Wb[J_X,K]", "P[I,K]{U_X}",
                     "E[I,J_Y]", "Wc[J_Y,K]", "Q[I,K]{U_Y}"};
    if (next.find('Z') != std::string::npos) tensors.push_back("Z[I_X,K]");
    const Sharded s =
        shard_case({model({"P[I,K] = A[I,J] * Wb[J,K]", "Q[I,K] = E[I,J] * Wc[J,K]", next},
                          {{"I", 8}, {"J", 8}, {"K", 8}}),
                    batch(4, 4),
                    mesh({{"X", 4}, {"Y", 2}}),
                    {},
                    tensors,
                    {}},
                   false);
    CHECK(messages(s.problems) == Lines{expected});
  }
}

TEST_CASE("a batch dim cut differently in the operands is refused where nobody chooses") {
  const std::vector<std::pair<Lines, bool>> rows = {{{"A[B_X,I,J]", "Wb[B_Y,J,K]"}, true},
                                                    {{"A[B_XY,I,J]", "Wb[B_YX,J,K]"}, true},
                                                    {{"A[B_XY,I,J]", "Wb[B_Y,J,K]"}, true},
                                                    {{"A[B_XY,I,J]", "Wb[B_X,J,K]"}, false},
                                                    {{"A[B,I,J]", "Wb[B_Y,J,K]"}, false}};
  for (const auto& [tensors, clash] : rows) {
    CAPTURE(tensors);
    Case c{model({"C[B,I,K] = A[B,I,J] * Wb[B,J,K]"}, {{"I", 8}, {"J", 8}, {"K", 8}}),
           batch(8, 4),
           mesh({{"X", 4}, {"Y", 2}}),
           {},
           tensors,
           {}};
    CHECK(messages(shard_case(c, false).problems) == Lines{});
    c.refuse_clash = true;
    CHECK(shard_case(c, false).problems.size() == (clash ? 1 : 0));
  }
}

Case layer_case(std::vector<PresetSpec> presets) {
  return {small_llama(), batch(8, 16), mesh({{"X", 4}, {"Y", 2}}), std::move(presets), {}, {}};
}

TEST_CASE("forward collectives of the presets") {
  struct Row {
    std::string name;
    std::vector<PresetSpec> presets;
    Lines moved;
  };
  const std::vector<Row> rows = {
      {"dp", {preset("dp", {"X"})}, {}},
      {"tp",
       {preset("tp", {"Y"})},
       {"all-reduce Attn over Y: [B, T, D]{U_Y} -> [B, T, D]",
        "all-reduce Mlp over Y: [B, T, D]{U_Y} -> [B, T, D]"}},
      {"tp and sp",
       {preset("tp", {"Y"}), preset("sp", {})},
       {"all-gather Y1 over Y: [B, T_Y, D] -> [B, T, D]",
        "reduce-scatter Attn over Y: [B, T, D]{U_Y} -> [B, T_Y, D]",
        "all-gather Y2 over Y: [B, T_Y, D] -> [B, T, D]",
        "reduce-scatter Mlp over Y: [B, T, D]{U_Y} -> [B, T_Y, D]"}},
      {"fsdp",
       {preset("fsdp", {"X"})},
       {"all-gather Wnorm1 over X: [D_X] -> [D]", "all-gather Wq over X: [D_X, N, H] -> [D, N, H]",
        "all-gather Wk over X: [D_X, K, H] -> [D, K, H]",
        "all-gather Wv over X: [D_X, K, H] -> [D, K, H]",
        "all-gather Wo over X: [N, H, D_X] -> [N, H, D]", "all-gather Wnorm2 over X: [D_X] -> [D]",
        "all-gather Wgate over X: [D_X, F] -> [D, F]", "all-gather Win over X: [D_X, F] -> [D, F]",
        "all-gather Wout over X: [F, D_X] -> [F, D]"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Sharded s = shard_case(layer_case(row.presets), false);
    REQUIRE(messages(s.problems).empty());
    CHECK(lines(collectives(s.result, Pass::forward)) == row.moved);
  }
}

TEST_CASE("fsdp weights move as cases 2 and 4, and say why") {
  const Sharded s = shard_case(layer_case({preset("fsdp", {"X"}), preset("tp", {"Y"})}), false);
  REQUIRE(messages(s.problems).empty());
  const ShardedStatement& q = step(s.result, "Q[B,T,N,H] = Y1[B,T,D] * Wq[D,N,H]");
  REQUIRE(q.before.size() == 1);
  CHECK(q.plans[0].verdict == "taken");
  CHECK(q.before[0].case_text == "case 2");
  CHECK(q.before[0].reason ==
        "X cuts B of Y1 and D of Wq; Wq is gathered: the preset gathers weights before use");
  REQUIRE(q.before[0].alternatives.size() == q.plans.size() - 1);
  const auto both = [](const std::string& line) {
    return line.starts_with("all-gather Y1 over X, all-gather Wq over X: ") &&
           line.find("; it costs ") != std::string::npos;
  };
  CHECK(std::any_of(q.before[0].alternatives.begin(), q.before[0].alternatives.end(), both));
  const ShardedStatement& out = step(s.result, "Mlp[B,T,D] = H * Wout[F,D]");
  REQUIRE(out.before.size() == 1);
  CHECK(out.before[0].case_text == "case 4");
  CHECK(out.cases[0].number == 4);
  CHECK(out.cases[1].number == 3);
  REQUIRE(out.after.size() == 1);
  CHECK(out.after[0].case_text == "case 3");
}

TEST_CASE("an all-reduce of size one moves nothing") {
  Case c = layer_case({preset("fsdp", {"X"}), preset("tp", {"Y"})});
  c.mesh = mesh({{"X", 1}, {"Y", 1}});
  const Sharded s = shard_case(c);
  REQUIRE(messages(s.problems).empty());
  CHECK(collectives(s.result, Pass::forward).empty());
  CHECK(collectives(s.result, Pass::backward).empty());
}

// 16 rows of 64: gathering them is V = 2 KiB, their sums are 4 or 8 bytes a row. The sums win where
// the rows stay cut; where the output is whole anyway, gathering before is the cheaper.
TEST_CASE("a norm over a cut dim adds up the sums of its parts, or gathers the rows") {
  struct Row {
    std::string function;
    Lines tensors;
    Lines forward;
    double bytes;  // V of the first
    Lines backward;
  };
  const std::vector<Row> rows = {
      {"layernorm",
       {"P[B,T,M_X]", "R[B,T,M_X]"},
       {"all-reduce R.sums over X: [B, T, 2]{U_X} -> [B, T, 2]"},
       2 * 16 * 4,
       {"all-reduce dR.sums over X: [B, T, 2]{U_X} -> [B, T, 2]"}},
      {"norm",
       {"P[B,T,M_X]"},
       {"all-reduce R.sums over X: [B, T, 1]{U_X} -> [B, T, 1]"},
       16 * 4,
       {"all-reduce dR.sums over X: [B, T, 1]{U_X} -> [B, T, 1]"}},
      {"layernorm",
       {"P[B,T,M_X]", "R[B,T,M]"},
       {"all-gather P over X: [B, T, M_X] -> [B, T, M]"},
       16 * 64 * 2,
       {}},
      {"norm",
       {"P[B,T,M_X]", "R[B_X,T,M]"},
       {"all-to-all P over X: [B, T, M_X] -> [B_X, T, M]"},
       16 * 64 * 2,
       {"all-to-all dP over X: [B_X, T, M] -> [B, T, M_X]"}},
      {"norm", {"P[B,T_X,M]"}, {}, 0, {}},
      {"softmax",
       {"P[B,T,M_X]", "R[B,T,M_X]"},
       {"all-reduce R.max over X: [B, T]{max_X} -> [B, T]",
        "all-reduce R.sums over X: [B, T, 1]{U_X} -> [B, T, 1]"},
       16 * 4,
       {"all-reduce dR.sums over X: [B, T, 1]{U_X} -> [B, T, 1]"}},
      {"softmax",
       {"P[B,T,M_X]", "R[B,T,M]"},
       {"all-gather P over X: [B, T, M_X] -> [B, T, M]"},
       16 * 64 * 2,
       {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.function);
    CAPTURE(row.tensors);
    const ModelSpec one = model({"R = " + row.function + "(P[B,T,M], M)"}, {{"M", 64}});
    const Sharded s = shard_case({one, batch(4, 4), mesh({{"X", 4}}), {}, row.tensors, {}});
    REQUIRE(messages(s.problems).empty());
    const auto moved = collectives(s.result, Pass::forward);
    CHECK(lines(moved) == row.forward);
    CHECK(lines(collectives(s.result, Pass::backward)) == row.backward);
    if (moved.empty()) continue;
    CHECK(moved[0].bytes.v == row.bytes);
    REQUIRE(s.result.steps[0].plans.size() >= 2);
    CHECK(s.result.steps[0].plans[0].verdict == "taken");
    REQUIRE_FALSE(moved[0].alternatives.empty());
    CHECK(moved[0].alternatives[0] == to_text(s.result.steps[0].plans[1]));
  }
}

// Partial maxima are combined by one all-reduce of 2 bytes a row; the way back is local.
TEST_CASE("a maximum over a cut dim combines the parts, or gathers the rows") {
  struct Row {
    Lines tensors;
    Lines forward;
  };
  const std::vector<Row> rows = {
      {{"P[B,T,M_X]"}, {"all-reduce R over X: [B, T]{max_X} -> [B, T]"}},
      {{"P[B,T,M_X]", "R[B_X,T]"}, {"reduce-scatter R over X: [B, T]{max_X} -> [B_X, T]"}},
      {{"P[B,T_X,M]"}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.tensors);
    const ModelSpec one = model({"R[B,T] = max(P[B,T,M], M)"}, {{"M", 64}});
    const Sharded s = shard_case({one, batch(4, 4), mesh({{"X", 4}}), {}, row.tensors, {}});
    REQUIRE(messages(s.problems).empty());
    CHECK(lines(collectives(s.result, Pass::forward)) == row.forward);
    if (row.tensors.size() == 1) CHECK(collectives(s.result, Pass::backward).empty());
  }
}

// Nobody but the reduction itself may leave partial maxima.
TEST_CASE("partial maxima cannot be kept") {
  const ModelSpec one = model({"R[B,T] = max(P[B,T,M], M)"}, {{"M", 64}});
  const Sharded s = shard_case(
      {one, batch(4, 4), mesh({{"X", 4}}), {}, {"P[B,T,M_X]", "R[B,T]{U_X}"}, {}}, false);
  CHECK(messages(s.problems) ==
        Lines{"R is not a partial sum over X here, so it cannot be kept as one"});
}

// A cast halves the bytes of what is gathered after it.
TEST_CASE("a cast array moves with the bytes of its dtype") {
  // Read as it is, and through a reshape and a reshard of the same dtype.
  for (const Lines& rest :
       {Lines{"R[B,F] = Q * W[M,F]"}, Lines{"S[B,K,L] = reshape(Q)", "U[B,K,L] = reshard(S)",
                                            "Q2[B,M] = reshape(U)", "R[B,F] = Q2 * W[M,F]"}}) {
    Lines statements = {"Q = cast(P[B,M], fp8)"};
    statements.insert(statements.end(), rest.begin(), rest.end());
    const bool longer = rest.size() > 1;
    const ModelSpec cast = model(statements, {{"M", 64}, {"F", 64}, {"K", 8}, {"L", 8}});
    Lines tensors = {"P[B,M_X]", "W[M,F_X]", "R[B,F_X]"};
    if (longer) tensors.emplace_back("U[B,K,L]");
    const Sharded s = shard_case({cast, batch(4, 1), mesh({{"X", 4}}), {}, tensors, {}}, false);
    REQUIRE(messages(s.problems).empty());
    const auto moved = collectives(s.result, Pass::forward);
    CHECK(lines(moved) == Lines{longer ? "all-gather U over X: [B, K_X, L] -> [B, K, L]"
                                       : "all-gather Q over X: [B, M_X] -> [B, M]"});
    REQUIRE(moved.size() == 1);
    CHECK(moved[0].bytes.v == 4 * 64 * 1);
  }
}

// A scale is cut as the rows are: its gradient stays local on the cut dim.
TEST_CASE("the scale of a norm over a cut dim is cut alike") {
  const ModelSpec one = model({"R = layernorm(P[B,T,M], M, Wscale[M])"}, {{"M", 64}});
  const Sharded s = shard_case(
      {one, batch(4, 4), mesh({{"X", 4}}), {}, {"P[B,T,M_X]", "R[B,T,M_X]", "Wscale[M_X]"}, {}});
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::forward)).size() == 1);
  CHECK(lines(collectives(s.result, Pass::backward)).size() == 1);
  CHECK(to_text(step(s.result, "dWscale = sum of dR * layernorm(P)").out) == "[M_X]");
}

// The scatter into D before a layer norm: the all-reduce of 2 * B * 4 bytes.
TEST_CASE("a reduce-scatter into the dim of a layer norm needs an all-reduce of its sums") {
  const ModelSpec two =
      model({"C[T,M] = A[T,F] * W[F,M]", "Y = layernorm(C, M)"}, {{"M", 4096}, {"F", 4096}});
  const Sharded s = shard_case({two,
                                batch(4, 64),
                                mesh({{"X", 4}}),
                                {},
                                {"A[T,F_X]", "W[F_X,M]", "C[T,M_X]", "Y[T,M_X]"},
                                {}},
                               false);
  REQUIRE(messages(s.problems).empty());
  const auto moved = collectives(s.result, Pass::forward);
  CHECK(lines(moved) == Lines{"reduce-scatter C over X: [T, M]{U_X} -> [T, M_X]",
                              "all-reduce Y.sums over X: [T, 2]{U_X} -> [T, 2]"});
  CHECK(moved[1].bytes.v == 2 * 64 * 4);
}

TEST_CASE("a norm without sequence parallelism repeats itself on the tensor axis") {
  Sharded s = shard_case(layer_case({preset("dp", {"X"}), preset("tp", {"Y"})}), false);
  CHECK(s.result.steps[0].idle_axes == Lines{"Y"});
  s = shard_case(layer_case({preset("dp", {"X"}), preset("tp", {"Y"}), preset("sp", {})}), false);
  CHECK(s.result.steps[0].idle_axes.empty());
}

TEST_CASE("dims that do not divide are padded and said") {
  Case c = layer_case({preset("fsdp", {"X"}), preset("tp", {"Y"})});
  c.model = model(testing::kLlama, {{"D", 30}, {"F", 47}, {"N", 8}, {"K", 4}, {"H", 4}});
  const Sharded s = shard_case(c);
  REQUIRE(messages(s.problems).empty());
  CHECK(s.result.padding == Lines{"D: 30 over 4 devices is 8 each, 2 rows of padding",
                                  "F: 47 over 2 devices is 24 each, 1 row of padding"});
  const ShardedStatement& gate = step(s.result, "G[B,T,F] = Y2 * Wgate[D,F]");
  CHECK(gate.flops.v == doctest::Approx(2.0 * 2 * 16 * 30 * 24).epsilon(1e-12));
  CHECK(gate.before[0].bytes.v == doctest::Approx(4 * 8 * 24 * 2).epsilon(1e-12));
}

TEST_CASE("attention keeps heads whole, and queries attend where they are") {
  const std::vector<std::pair<std::string, int>> dims = {{"N", 8}, {"K", 4}, {"H", 4}};
  const std::string text = "O = attention(Q[B,T,N,H], K[B,T,K,H], V[B,T,K,H], causal)";
  const auto run = [&](const Lines& tensors, int x) {
    return shard_case({model({text}, dims), batch(4, 8), mesh({{"X", x}}), {}, tensors, {}}, false);
  };
  Sharded s = run({"Q[B,T_X,N,H]"}, 4);
  REQUIRE(messages(s.problems).empty());
  CHECK(collectives(s.result, Pass::forward).empty());  // keys and values are whole
  CHECK(to_text(s.result.steps[0].out) == "[B, T_X, N, H]");
  CHECK(s.result.steps[0].flops.v == doctest::Approx(4.0 * 4 * 2 * 8 * 8 * 4 / 2).epsilon(1e-12));
  CHECK(s.result.steps[0].imbalance == doctest::Approx(1.75).epsilon(1e-12));
  s = run({"Q[B,T,N_X,H]"}, 4);  // keys and values keep the heads that belong to the queries
  CHECK(to_text(s.result.steps[0].operands[1]) == "[B, T, K_X, H]");
  CHECK(collectives(s.result, Pass::forward).empty());
  s = run({"Q[B,T,N_X,H]"}, 8);
  CHECK(messages(s.problems) ==
        Lines{"K = 4 heads of K cannot be cut over 8 devices: 8 does not divide 4"});
}

TEST_CASE("attention over a cut sequence: the cheapest plan by hand, gathered keys by the preset") {
  const std::string text = "O[B,T,N,H] = attention(Q[B,T,N,H], K[B,T,K,H], V[B,T,K,H], causal)";
  Case c{model({text}, {{"N", 8}, {"K", 4}, {"H", 4}}), batch(4, 16), mesh({{"X", 4}}), {}, {}, {}};
  const Lines gathers = {"all-gather K over X: [B, T_X, K, H] -> [B, T, K, H]",
                         "all-gather V over X: [B, T_X, K, H] -> [B, T, K, H]"};
  const Lines exchanges = {"all-to-all Q over X: [B, T_X, N, H] -> [B, T, N_X, H]",
                           "all-to-all K over X: [B, T_X, K, H] -> [B, T, K_X, H]",
                           "all-to-all V over X: [B, T_X, K, H] -> [B, T, K_X, H]"};
  c.tensors = {"Q[B,T_X,N,H]", "K[B,T_X,K,H]", "V[B,T_X,K,H]", "O[B,T,N_X,H]"};
  Sharded s = shard_case(c, false);
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::forward)) == exchanges);
  REQUIRE(s.result.steps[0].plans.size() == 3);
  const auto price = [](const PricedPlan& p) { return p.communication + p.extra_compute; };
  for (const PricedPlan& p : s.result.steps[0].plans)
    CHECK(price(p) >= price(s.result.steps[0].plans[0]));
  c.tensors = {};
  for (const bool zigzag : {false, true}) {
    c.presets = {preset("cp", {"X"})};
    if (zigzag) c.presets.push_back(preset("zigzag", {}));
    s = shard_case(c, false);
    REQUIRE(messages(s.problems).empty());
    CHECK(lines(collectives(s.result, Pass::forward)) == gathers);
    CHECK(s.result.steps[0].imbalance == doctest::Approx(zigzag ? 1 : 1.75).epsilon(1e-12));
  }
}

TEST_CASE("resharding in the order that moves least") {
  std::vector<Problem> problems;
  const Layer layer =
      make_layer(model({"A2 = gelu(A[I,J])"}, {{"I", 16}, {"J", 16}}), batch(1, 1), 1, problems);
  const Mesh m = mesh({{"X", 2}, {"Y", 4}});
  struct Row {
    std::string from, to;
    Lines moved;
    double bytes;  // of all of them
  };
  const std::vector<Row> rows = {
      {"A[I,J]", "A[I_X,J_Y]", {}, 0},
      {"A[I_{XY},J]", "A[I_X,J]", {"all-gather A over Y: [I_{XY}, J] -> [I_X, J]"}, 8 * 16 * 2},
      {"A[I_{XY},J]", "A[I,J]", {"all-gather A over XY: [I_{XY}, J] -> [I, J]"}, 512},
      // the cut comes first and makes the gather smaller
      {"A[I_X,J]", "A[I,J_Y]", {"all-gather A over X: [I_X, J_Y] -> [I, J_Y]"}, 128},
      {"A[I_{XY},J]", "A[I_X,J_Y]", {"all-to-all A over Y: [I_{XY}, J] -> [I_X, J_Y]"}, 256},
      // Y is not the minor axis that stays: blocks change places first
      {"A[I_{XY},J]",
       "A[I_Y,J]",
       {"collective-permute A over XY: [I_{XY}, J] -> [I_{YX}, J]",
        "all-gather A over X: [I_{YX}, J] -> [I_Y, J]"},
       512 + 128},
      {"A[I,J]{U_X}", "A[I_Y,J]", {"all-reduce A over X: [I_Y, J]{U_X} -> [I_Y, J]"}, 128},
      {"A[I_Y,J]{U_X}",
       "A[I_{YX},J]",
       {"reduce-scatter A over X: [I_Y, J]{U_X} -> [I_{YX}, J]"},
       128},
      {"A[I_Y,J]{U_X}",
       "A[I_X,J]",
       {"reduce-scatter A over X: [I_Y, J]{U_X} -> [I_{YX}, J]",
        "all-gather A over YX: [I_{YX}, J] -> [I, J]"},
       128 + 512},
  };
  const NotationContext context{m.names(), {"I", "J"}};
  PriceBook pricing = testing::torus_pricing(m);
  for (const Row& row : rows) {
    CAPTURE(row.from);
    CAPTURE(row.to);
    const auto from = parse_array(row.from, argument_pos("f", row.from), context, problems);
    const auto to = parse_array(row.to, argument_pos("t", row.to), context, problems);
    REQUIRE(from.has_value());
    REQUIRE(to.has_value());
    const auto moved = reshard(layer, pricing, {"A", 2}, from->sharding, to->sharding).steps;
    CHECK(lines(moved) == row.moved);
    Bytes sum;
    for (const ShardedCollective& c : moved) sum += c.bytes;
    CHECK(sum.v == doctest::Approx(row.bytes).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace shardsim
