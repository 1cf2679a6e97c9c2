// The choice between ways to multiply: prices in microseconds that were worked out by hand.
#include "plan/einsum.h"

#include "plan/priced_plan.h"
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
using testing::shard_case;
using testing::Sharded;
using testing::torus_pricing;

using Lines = std::vector<std::string>;
using Sizes = std::vector<std::pair<std::string, int>>;

struct Planned {
  Layer layer;
  EinsumPlan plan;
};

// C[I,K] = A[I,J] * B2[J,K]; `wish` may be empty.
Planned planned(const Sizes& dims, const Mesh& m, PriceBook& pricing, const std::string& a,
                const std::string& b, const std::string& wish) {
  Planned result;
  std::vector<Problem> problems;
  result.layer = make_layer(model({"C[I,K] = A[I,J] * B2[J,K]"}, dims), batch(1, 1), 1, problems);
  const auto layout = [&](const std::string& text) {
    return testing::argument_array(text, m).sharding;
  };
  const Sharding wished = layout(wish.empty() ? "C[I,K]" : wish);
  Einsum einsum;
  einsum.in[0].array = {"A", 2};
  einsum.in[0].layout = layout(a);
  einsum.in[1].array = {"B2", 2};
  einsum.in[1].layout = layout(b);
  einsum.out = {"C", 2};
  einsum.out_dims = {"I", "K"};
  einsum.wish = wish.empty() ? nullptr : &wished;
  result.plan = plan_einsum(result.layer, pricing, einsum);
  return result;
}

double us(Seconds t) {
  return t.v * 1e6;
}

const PricedPlan& find(const EinsumPlan& plan, const std::string& text) {
  for (const PricedPlan& p : plan.plans) {
    if (p.text == text) return p;
  }
  CAPTURE(text);
  std::string all;
  for (const PricedPlan& p : plan.plans) all += "\n    " + to_text(p);
  CAPTURE(all);
  REQUIRE_MESSAGE(false, "no such plan is listed");
  return plan.plans.front();
}

// A 64 MiB, C 16 MiB, B2 small, X = 8.
const Sizes kCaseTwo = {{"I", 16384}, {"J", 2048}, {"K", 512}};

TEST_CASE("case 2 on a one-way ring of 8: gather, or slice and reduce") {
  const Mesh m = mesh({{"X", 8}});
  PriceBook pricing = torus_pricing(m, Wiring::ring_oneway);
  const Planned whole = planned(kCaseTwo, m, pricing, "A[I,J_X]", "B2[J,K]", "C[I,K]");
  CHECK(whole.plan.cases[0].number == 2);
  const std::string reduce = "slice B2 over X; then all-reduce C over X";
  CHECK(whole.plan.plans[0].text == reduce);
  CHECK(whole.plan.plans[0].verdict == "taken");
  CHECK(us(whole.plan.plans[0].communication) == doctest::Approx(293.6013).epsilon(1e-6));
  CHECK(us(find(whole.plan, "all-gather A over X").communication) ==
        doctest::Approx(587.2026).epsilon(1e-6));
  CHECK(find(whole.plan, "all-gather A over X").verdict.starts_with("costs "));
  CHECK(find(whole.plan, "all-gather A over X").extra_compute > Seconds{});
  CHECK(find(whole.plan, reduce).extra_compute <
        find(whole.plan, "all-gather A over X").extra_compute);

  const Planned cut = planned(kCaseTwo, m, pricing, "A[I,J_X]", "B2[J,K]", "C[I_X,K]");
  CHECK(cut.plan.plans[0].text == "slice B2 over X; then reduce-scatter C over X");
  CHECK(us(cut.plan.plans[0].communication) == doctest::Approx(146.8006).epsilon(1e-6));
}

TEST_CASE("an operand moves to the dim that the output is cut on, or is gathered to leave it") {
  const Mesh m = mesh({{"X", 8}});
  PriceBook pricing = torus_pricing(m);
  struct Row {
    Sizes dims;
    std::string a, b, plan;
    double price;  // us
  };
  const double bytes = 1 / 100e9 * 1e6;  // us on one link
  const std::vector<Row> rows = {        // V/(8*W1) of the 32 MiB of A
                                 {{{"I", 4096}, {"J", 4096}, {"K", 4096}},
                                  "A[I,J_X]",
                                  "B2[J,K]",
                                  "all-to-all A over X to I",
                                  33554432 / 8 * bytes},
                                 // 7/16 * V/W1 of the 128 KiB of B
                                 {{{"I", 4096}, {"J", 16}, {"K", 4096}},
                                  "A[I,J]",
                                  "B2[J,K_X]",
                                  "slice A over X, all-gather B2 over X",
                                  131072 * 7. / 16 * bytes},
                                 // both, of 8 MiB each
                                 {{{"I", 4096}, {"J", 1024}, {"K", 4096}},
                                  "A[I,J_X]",
                                  "B2[J_X,K]",
                                  "all-to-all A over X to I, all-gather B2 over X",
                                  8388608 * (1. / 8 + 7. / 16) * bytes}};
  for (const Row& row : rows) {
    CAPTURE(row.plan);
    const Planned c = planned(row.dims, m, pricing, row.a, row.b, "C[I_X,K]");
    CHECK(c.plan.plans[0].text == row.plan);
    CHECK(us(c.plan.plans[0].communication) == doctest::Approx(row.price).epsilon(1e-9));
    CHECK(to_text(c.plan.out) == "[I_X, K]");
    CHECK(c.plan.plans.size() >= 4);
  }
}

TEST_CASE("case 3: operands that fit are gathered all the same where the output is large") {
  const Mesh m = mesh({{"X", 8}});
  PriceBook pricing = torus_pricing(m);
  const std::string reduce = "multiply, then all-reduce C over X";
  const std::string gather = "all-gather A over X, all-gather B2 over X";
  // V_A = V_B = 128 KiB and V_C = 32 MiB; then the other way round, 8 MiB each and 128 KiB.
  struct Row {
    int j, ik;
    std::string taken, other;
  };
  for (const Row& row : {Row{16, 4096, gather, reduce}, Row{16384, 256, reduce, gather}}) {
    CAPTURE(row.taken);
    const Planned c = planned({{"I", row.ik}, {"J", row.j}, {"K", row.ik}}, m, pricing, "A[I,J_X]",
                              "B2[J_X,K]", "C[I,K]");
    CHECK(c.plan.cases[0].number == 3);
    CHECK(c.plan.plans[0].text == row.taken);
    CHECK(find(c.plan, row.other).verdict.starts_with("costs "));
    const double gathered = 2. * row.ik * row.j * 2 * 7 / 16 / 100e9;
    const double reduced = 2. * row.ik * row.ik * 2 * 7 / 16 / 100e9;
    CHECK(find(c.plan, gather).communication.v == doctest::Approx(gathered).epsilon(1e-9));
    CHECK(find(c.plan, reduce).communication.v == doctest::Approx(reduced).epsilon(1e-9));
  }
}

TEST_CASE("case 4 on a ring of 8: all-to-all of both operands beats gathering one") {
  const Mesh m = mesh({{"X", 8}});
  PriceBook pricing = torus_pricing(m);
  // A and B2 64 MiB, C 8 MiB
  const Sizes dims = {{"I", 2048}, {"J", 16384}, {"K", 2048}};
  const Planned c = planned(dims, m, pricing, "A[I_X,J]", "B2[J,K_X]", "C[I_X,K]");
  CHECK(c.plan.cases[0].number == 4);
  CHECK(c.plan.plans[0].text ==
        "all-to-all A over X to J, all-to-all B2 over X to J; then reduce-scatter C over X");
  CHECK(us(c.plan.plans[0].communication) == doctest::Approx(204.4723).epsilon(1e-6));
  CHECK(us(find(c.plan, "all-gather B2 over X").communication) ==
        doctest::Approx(293.6013).epsilon(1e-6));
  // gathering the other one leaves C cut on K, which is moved to I
  CHECK(us(find(c.plan, "all-gather A over X; then all-to-all C over X to I").communication) ==
        doctest::Approx(293.6013 + 8. * 1048576 / 8 / 100e9 * 1e6).epsilon(1e-6));
}

TEST_CASE("case 4: the diagonal is listed with its FLOPs, moves nothing and is never taken") {
  const Mesh m = mesh({{"X", 8}, {"Y", 2}});
  PriceBook pricing = torus_pricing(m);
  const double flops = 2.0 * 2048 * 16384 * 2048;
  for (const std::string wish : {"C[I,K]", "C[I_X,K]", "C[I,K_X]", "C[I_{XY},K]", ""}) {
    CAPTURE(wish);
    const Planned c = planned({{"I", 2048}, {"J", 16384}, {"K", 2048}}, m, pricing, "A[I_X,J_Y]",
                              "B2[J_Y,K_X]", wish);
    CHECK(c.plan.plans[0].verdict == "taken");
    CHECK(c.plan.plans[0].text.find("diagonal") == std::string::npos);
    const PricedPlan& diagonal = find(c.plan, "multiply the diagonal blocks over X");
    CHECK(diagonal.communication == Seconds{});
    CHECK(diagonal.bytes == Bytes{});
    CHECK(diagonal.flops.v == flops / 64 / 2);
    CHECK(diagonal.verdict ==
          "is refused: computes 1/8 of C; all of it, were I and K one batch dim");
    for (const PricedPlan& p : c.plan.plans) {
      if (&p != &diagonal) CHECK(p.flops.v >= flops / 16);
    }
  }
  // There is none in the other cases.
  for (const auto& [a, b] : {std::pair{"A[I,J_X]", "B2[J,K]"}, std::pair{"A[I,J_X]", "B2[J_X,K]"},
                             std::pair{"A[I,J_X]", "B2[J,K_X]"}}) {
    for (const PricedPlan& p : planned(kCaseTwo, m, pricing, a, b, "C[I,K]").plan.plans) {
      CHECK(p.text.find("diagonal") == std::string::npos);
    }
  }
}

// More than 64 combinations: those that a bound leaves are priced, and listed.
TEST_CASE("four axes that all clash: the plan taken is the cheapest of those listed") {
  const Mesh m = mesh({{"X", 4}, {"Y", 4}, {"Z", 2}, {"P", 2}});
  PriceBook pricing = torus_pricing(m);
  for (const std::string wish : {"C[I_{XY},K_{ZP}]", "C[I,K]", "C[I_Z,K_{YX}]"}) {
    CAPTURE(wish);
    const Planned c = planned({{"I", 256}, {"J", 1024}, {"K", 512}}, m, pricing, "A[I_{XYZ},J_P]",
                              "B2[J_Z,K_{YXP}]", wish);
    CHECK(c.plan.errors.empty());
    CHECK(c.plan.operands[0].find("J")->axes == c.plan.operands[1].find("J")->axes);
    REQUIRE(c.plan.plans.size() > 4);
    for (const PricedPlan& p : c.plan.plans) {
      if (p.verdict.starts_with("is refused")) continue;
      CHECK(c.plan.plans[0].communication + c.plan.plans[0].extra_compute <=
            (p.communication + p.extra_compute) * (1 + 1e-9));
    }
  }
}

TEST_CASE("the product of a batch cut and a column cut over one axis is case 4") {
  Case c{model({"H[B,F] = In[B,D] * Win[D,F]"}, {{"D", 64}, {"F", 32}}),
         batch(8, 1),
         mesh({{"X", 4}}),
         {},
         {"In[B_X,D]", "Win[D,F_X]"},
         {}};
  const Sharded s = shard_case(c, false);
  REQUIRE(messages(s.problems).empty());
  CHECK(s.result.steps[0].cases[0].number == 4);
}

TEST_CASE("contracted dims on different axes: three ways, never one gather alone") {
  const Mesh m = mesh({{"X", 4}, {"Y", 4}});
  PriceBook pricing = torus_pricing(m);
  // B2 tiny: gathering it makes the rest a case 2
  for (const Sizes& dims :
       {Sizes{{"I", 64}, {"J", 64}, {"K", 64}}, Sizes{{"I", 4096}, {"J", 64}, {"K", 16}},
        Sizes{{"I", 16}, {"J", 64}, {"K", 4096}}, Sizes{{"I", 64}, {"J", 4096}, {"K", 64}}}) {
    for (const std::string wish : {"C[I,K]", "C[I_X,K]", "C[I_X,K_Y]", ""}) {
      CAPTURE(wish);
      CAPTURE(dims[0].second);
      const Planned c = planned(dims, m, pricing, "A[I,J_X]", "B2[J_Y,K]", wish);
      CHECK(c.plan.errors.empty());
      CHECK(c.plan.operands[0].find("J")->axes == c.plan.operands[1].find("J")->axes);
      bool both = false, sliced = false, one_sided = false;
      for (const PricedPlan& p : c.plan.plans) {
        const bool a = p.text.find("all-gather A") != std::string::npos;
        const bool b = p.text.find("all-gather B2") != std::string::npos;
        const bool slice = p.text.find("slice A over Y") != std::string::npos &&
                           p.text.find("slice B2 over X") != std::string::npos;
        const bool reduces = p.text.find("reduce") != std::string::npos;
        const bool moves = p.text.find("all-to-all") != std::string::npos;
        both = both || (a && b && !reduces);
        sliced = sliced || (slice && reduces);
        one_sided = one_sided || (a != b && reduces);
        CHECK_FALSE((a != b && !reduces && !moves));
      }
      CHECK(both);
      CHECK(sliced);
      CHECK(one_sided);
    }
  }
  // J large: only slices and a permute of the smaller operand, then a reduction over both axes
  const Planned c =
      planned({{"I", 64}, {"J", 4096}, {"K", 32}}, m, pricing, "A[I,J_X]", "B2[J_Y,K]", "C[I,K]");
  CHECK(to_text(c.plan.operands[0]) == "[I, J_{XY}]");
  CHECK(c.plan.plans[0].text.find("all-gather") > c.plan.plans[0].text.find("then"));
}

TEST_CASE("axes in another order are permuted, never multiplied as they are") {
  const Mesh m = mesh({{"X", 4}, {"Y", 4}});
  PriceBook pricing = torus_pricing(m);
  const Planned c = planned({{"I", 256}, {"J", 256}, {"K", 64}}, m, pricing, "A[I,J_{XY}]",
                            "B2[J_{YX},K]", "C[I,K]");
  CHECK(c.plan.errors.empty());
  CHECK(to_text(c.plan.operands[0]) == "[I, J_{XY}]");
  CHECK(to_text(c.plan.operands[1]) == "[J_{XY}, K]");  // the smaller one moves
  REQUIRE(c.plan.gatherings.size() == 2);
  CHECK(c.plan.gatherings[0].operand == 1);
  CHECK(c.plan.gatherings[0].number == 3);
}

TEST_CASE("a free dim is gathered before or after, whichever is cheaper") {
  const Mesh m = mesh({{"X", 4}});
  PriceBook pricing = torus_pricing(m);
  // C is 64 times A
  const Planned before =
      planned({{"I", 1024}, {"J", 16}, {"K", 1024}}, m, pricing, "A[I_X,J]", "B2[J,K]", "C[I,K]");
  CHECK(before.plan.plans[0].text == "all-gather A over X");
  const Planned after =
      planned({{"I", 1024}, {"J", 1024}, {"K", 16}}, m, pricing, "A[I_X,J]", "B2[J,K]", "C[I,K]");
  CHECK(after.plan.plans[0].text == "multiply, then all-gather C over X");
}

// Case 4 with equal operands: gathering either costs the same.
Case tied() {
  return {model({"C[I,K] = A[I,J] * B2[J,K]"}, {{"I", 64}, {"J", 2}, {"K", 64}}),
          batch(4, 4),
          mesh({{"X", 4}}),
          {},
          {"A[I_X,J]", "B2[J,K_X]"},
          {}};
}

TEST_CASE("plans that cost the same are said, or refused on request") {
  Case c = tied();
  const Sharded chosen = shard_case(c, false);
  REQUIRE(messages(chosen.problems).empty());
  CHECK(lines(collectives(chosen.result, Pass::forward)).size() == 1);
  REQUIRE(chosen.result.warnings.size() == 1);
  CHECK(chosen.result.warnings[0].starts_with(
      "C[I,K] = A[I,J] * B2[J,K]: \"all-gather B2 over X\" and \"all-gather A over X\" both cost"));
  c.refuse_ties = true;
  const Sharded refused = shard_case(c, false);
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].message.starts_with(
      "expected one cheapest plan for C[I,K] = A[I,J] * B2[J,K], found a tie: \"all-gather B2 "
      "over X\" and \"all-gather A over X\" both cost"));
  CHECK_FALSE(refused.problems[0].hint.empty());
  c.model = model({"C[I,K] = A[I,J] * B2[J,K]"}, {{"I", 32}, {"J", 2}, {"K", 64}});
  CHECK(messages(shard_case(c, false).problems).empty());  // nothing tied any more
}

TEST_CASE("a plan that costs the same says what decided") {
  const Mesh m = mesh({{"X", 4}});
  const Sharded s = shard_case(tied(), false);
  EinsumPlan ties;
  ties.plans = s.result.steps[0].plans;
  CHECK(
      find(ties, "all-gather A over X").verdict ==
      "costs the same, with as many FLOPs and bytes: the first of the two in the order of options "
      "is taken");
  // Without a chip FLOPs are no part of the price.
  PriceBook no_chip = torus_pricing(m, Wiring::ring, {}, {});
  const Planned more =
      planned({{"I", 64}, {"J", 2}, {"K", 64}}, m, no_chip, "A[I,J]", "B2[J,K_X]", "C[I_X,K]");
  CHECK(more.plan.plans[0].text == "slice A over X, all-gather B2 over X");
  CHECK(find(more.plan, "all-gather B2 over X").verdict ==
        "costs the same, with more FLOPs (16.38 kFLOP instead of 4.096 kFLOP), which decides");
}

TEST_CASE("presets pin: the cheaper plan is listed with its price and not taken") {
  // The weight is far larger than the activation, and gathered all the same.
  Case c{model({"H[B,T,F] = In[B,T,D] * Win[D,F]"}, {{"D", 4096}, {"F", 4096}}),
         batch(4, 1),
         mesh({{"X", 4}}),
         {testing::preset("fsdp", {"X"})},
         {},
         {}};
  const Sharded s = shard_case(c, false);
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::forward)) ==
        Lines{"all-gather Win over X: [D_X, F] -> [D, F]"});
  const ShardedStatement& st = s.result.steps[0];
  CHECK(st.plans[0].verdict == "taken");
  bool cheaper = false;
  for (const PricedPlan& p : st.plans) {
    const bool pin = p.verdict.find("less; not taken: the preset gathers weights before use") !=
                     std::string::npos;
    cheaper = cheaper || (pin && p.communication < st.plans[0].communication);
  }
  CHECK(cheaper);
  CHECK(st.before[0].alternatives.size() == st.plans.size() - 1);
}

}  // namespace
}  // namespace shardsim
