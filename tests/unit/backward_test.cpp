#include "plan/backward.h"

#include <map>

#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Case;
using testing::collectives;
using testing::kParallel;
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

Sharded layer_of(std::vector<PresetSpec> presets, Precision precision = {}) {
  return shard_case(
      {small_llama(), batch(8, 16), mesh({{"X", 4}, {"Y", 2}}), std::move(presets), {}, precision});
}

// In units of V/W: a reduce-scatter or an all-gather moves its V once, an all-reduce twice.
double wire(const std::vector<ShardedCollective>& moved, bool weights) {
  double sum = 0;
  for (const ShardedCollective& c : moved) {
    const bool weight = c.tensor.starts_with("W") || c.tensor.starts_with("dW");
    if (weight == weights) sum += c.bytes.v * (c.kind == Collective::all_reduce ? 2 : 1);
  }
  return sum;
}

double wire(const Sharded& s, bool weights) {
  return wire(collectives(s.result, Pass::forward), weights) +
         wire(collectives(s.result, Pass::backward), weights);
}

std::map<Collective, int> count(const std::vector<ShardedCollective>& moved) {
  std::map<Collective, int> result;
  for (const ShardedCollective& c : moved) ++result[c.kind];
  return result;
}

constexpr double kHidden = 8 * 16 * 32 * 2;  // bytes of [B, T, D]

TEST_CASE("tensor parallel: four all-reduces of the hidden states") {
  const Sharded s = layer_of({preset("tp", {"Y"})});
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::backward)) ==
        Lines{"all-reduce dY2 over Y: [B, T, D]{U_Y} -> [B, T, D]",
              "all-reduce dY1 over Y: [B, T, D]{U_Y} -> [B, T, D]"});
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const auto moved = collectives(s.result, pass);
    CHECK(count(moved) == std::map<Collective, int>{{Collective::all_reduce, 2}});
    for (const ShardedCollective& c : moved) CHECK(c.bytes.v == doctest::Approx(kHidden));
  }
  CHECK(wire(s, false) == doctest::Approx(8 * kHidden).epsilon(1e-12));
}

TEST_CASE("tensor and sequence parallel: the same volume as gathers and scatters") {
  const Sharded s = layer_of({preset("tp", {"Y"}), preset("sp", {})});
  REQUIRE(messages(s.problems).empty());
  const std::map<Collective, int> expected = {{Collective::all_gather, 2},
                                              {Collective::reduce_scatter, 2}};
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    std::vector<ShardedCollective> moved;
    for (const ShardedCollective& c : collectives(s.result, pass)) {
      if (!c.tensor.starts_with("dW")) moved.push_back(c);
    }
    CHECK(count(moved) == expected);
    for (const ShardedCollective& c : moved) CHECK(c.bytes.v == doctest::Approx(kHidden));
  }
  CHECK(wire(s, false) == doctest::Approx(8 * kHidden).epsilon(1e-12));
  // Scales of the norms see a slice of the tokens each.
  CHECK(wire(s, true) == doctest::Approx(2 * 2 * 32 * 2).epsilon(1e-12));
}

TEST_CASE("data parallel: one all-reduce of every weight; fsdp moves 1.5 times as much") {
  const Sharded dp = layer_of({preset("dp", {"X"})});
  const Sharded fsdp = layer_of({preset("fsdp", {"X"})});
  REQUIRE(messages(dp.problems).empty());
  REQUIRE(messages(fsdp.problems).empty());
  const double weights = dp.layer.parameters() * 2;  // bytes
  CHECK(collectives(dp.result, Pass::forward).empty());
  CHECK(count(collectives(dp.result, Pass::backward)) ==
        std::map<Collective, int>{{Collective::all_reduce, 9}});
  CHECK(wire(dp, true) == doctest::Approx(2 * weights).epsilon(1e-12));
  CHECK(wire(dp, false) == 0);
  CHECK(wire(collectives(fsdp.result, Pass::forward), true) == doctest::Approx(weights));
  CHECK(count(collectives(fsdp.result, Pass::backward)) ==
        std::map<Collective, int>{{Collective::all_gather, 9}, {Collective::reduce_scatter, 9}});
  CHECK(wire(fsdp, true) == doctest::Approx(3 * weights).epsilon(1e-12));
  CHECK(wire(fsdp, true) / wire(dp, true) == doctest::Approx(1.5).epsilon(1e-12));
}

TEST_CASE("gradients in fp32 make fsdp and dp move the same") {
  Precision precision;
  precision.gradients = 4;
  const Sharded dp = layer_of({preset("dp", {"X"})}, precision);
  const Sharded fsdp = layer_of({preset("fsdp", {"X"})}, precision);
  CHECK(wire(fsdp, true) / wire(dp, true) == doctest::Approx(1.0).epsilon(1e-12));
}

// Bytes of weights on the wire in a step of `microbatches`, relative to all parameters once.
double step_wire(const Sharded& s, int microbatches) {
  double sum = 0;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    for (const ShardedCollective& c : collectives(s.result, pass)) {
      const int times = c.once_per_step ? 1 : microbatches;
      sum += c.bytes.v * (c.kind == Collective::all_reduce ? 2 : 1) * times;
    }
  }
  return sum / (s.layer.parameters() * 2);
}

// ZeRO (Rajbhandari et al. 2020, section 7) for one micro-batch. With M of them, weights that are
// cut are gathered 2M times; gradients are scattered M times, or once when they are accumulated
// whole.
TEST_CASE("bytes of every stage of ZeRO over those of dp, by micro-batches") {
  struct Row {
    std::vector<PresetSpec> presets;
    double (*ratio)(int);
  };
  const PresetSpec no_sync = preset("no_sync", {}), sync = preset("sync", {});
  const std::vector<Row> rows = {
      {{preset("dp", {"X"})}, [](int) { return 1.0; }},
      {{preset("dp", {"X"}), sync}, [](int m) { return 1.0 * m; }},
      {{preset("zero1", {"X"})}, [](int) { return 1.0; }},
      {{preset("zero1", {"X"}), sync}, [](int m) { return (2 * m + 1) / 2.0; }},
      {{preset("zero2", {"X"})}, [](int m) { return (m + 1) / 2.0; }},
      {{preset("zero2", {"X"}), no_sync}, [](int) { return 1.0; }},
      {{preset("fsdp", {"X"})}, [](int m) { return 3 * m / 2.0; }},
      {{preset("fsdp", {"X"}), no_sync}, [](int m) { return (2 * m + 1) / 2.0; }},
      {{preset("shard_grad_op", {"X"})}, [](int m) { return 1.0 * m; }},
      {{preset("shard_grad_op", {"X"}), no_sync}, [](int m) { return (m + 1) / 2.0; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.presets.front().preset);
    CAPTURE(row.presets.size());
    const Sharded s = layer_of(row.presets);
    REQUIRE(messages(s.problems).empty());
    for (const int m : {1, 2, 4}) {
      CAPTURE(m);
      CHECK(step_wire(s, m) == doctest::Approx(2 * row.ratio(m)).epsilon(1e-12));
    }
  }
}

TEST_CASE("zero1: gradients scattered and updated weights gathered, once per step") {
  const Sharded s = layer_of({preset("zero1", {"X"})});
  REQUIRE(messages(s.problems).empty());
  CHECK(collectives(s.result, Pass::forward).empty());
  const auto moved = collectives(s.result, Pass::backward);
  CHECK(count(moved) ==
        std::map<Collective, int>{{Collective::all_gather, 9}, {Collective::reduce_scatter, 9}});
  for (const ShardedCollective& c : moved) {
    CHECK(c.once_per_step);
    CHECK(c.tensor.starts_with("d") == (c.kind == Collective::reduce_scatter));
    CHECK((c.case_text == "update") == (c.kind == Collective::all_gather));
  }
  // Updates come last.
  for (std::size_t i = 0; i < moved.size(); ++i) {
    CHECK((i >= 9) == (moved[i].kind == Collective::all_gather));
  }
}

TEST_CASE("hsdp: scattered inside for every micro-batch, all-reduced across once per step") {
  const Sharded s = layer_of({preset("hsdp", {"Y", "X"})});
  REQUIRE(messages(s.problems).empty());
  for (const ShardedCollective& c : collectives(s.result, Pass::backward)) {
    if (!c.tensor.starts_with("d")) continue;
    const bool across = c.axes == std::vector<std::string>{"Y"};
    CHECK(c.kind == (across ? Collective::all_reduce : Collective::reduce_scatter));
    CHECK(c.once_per_step == across);
  }
  // 3 V inside, 2 V/4 across.
  CHECK(step_wire(s, 1) == doctest::Approx(3 + 2.0 / 4).epsilon(1e-12));
  const Sharded both = layer_of({preset("hsdp", {"Y", "X"}), preset("sync", {})});
  REQUIRE(messages(both.problems).empty());
  for (const ShardedCollective& c : collectives(both.result, Pass::backward)) {
    CHECK_FALSE(c.once_per_step);
  }
  CHECK(step_wire(both, 4) == doctest::Approx(4 * (3 + 2.0 / 4)).epsilon(1e-12));
}

TEST_CASE("sequence parallel that keeps the cut copy alone gathers twice more") {
  const Sharded s = layer_of({preset("tp", {"Y"}), preset("sp", {}), preset("regather", {})});
  REQUIRE(messages(s.problems).empty());
  CHECK(wire(s, false) == doctest::Approx(10 * kHidden).epsilon(1e-12));
}

TEST_CASE("recomputation repeats collectives or attention alone; model flops stay") {
  struct Row {
    std::string recompute;
    int all_reduces;
    double again;  // flops that are repeated, in units of the forward pass's
  };
  const Sharded plain = layer_of({preset("tp", {"Y"})});
  double forward = 0, core = 0;
  for (const ShardedStatement& st : plain.result.steps) {
    if (st.pass != Pass::forward) continue;
    forward += st.flops.v;
    if (st.kind == StatementKind::attention) core += st.flops.v;
  }
  const auto total = [](const Sharded& s) {
    double sum = 0;
    for (const ShardedStatement& st : s.result.steps) sum += st.flops.v;
    return sum;
  };
  for (const Row& row :
       {Row{"none", 4, 0}, Row{"selective", 4, core / forward}, Row{"full", 6, 1}}) {
    CAPTURE(row.recompute);
    Case c{small_llama(), batch(8, 16), mesh({{"X", 4}, {"Y", 2}}), {preset("tp", {"Y"})}, {}, {}};
    c.recompute = row.recompute;
    const Sharded s = shard_case(c);
    int all_reduces = 0;
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      all_reduces += count(collectives(s.result, pass))[Collective::all_reduce];
    }
    CHECK(all_reduces == row.all_reduces);
    CHECK(total(s) - total(plain) == doctest::Approx(row.again * forward).epsilon(1e-12));
    CHECK(s.result.model_flops.v == plain.result.model_flops.v);
  }
}

TEST_CASE("full recomputation gathers weights once for the rerun and the gradients") {
  Case c{small_llama(), batch(8, 16), mesh({{"X", 4}}), {preset("fsdp", {"X"})}, {}, {}};
  c.recompute = "full";
  CHECK(step_wire(shard_case(c), 1) == doctest::Approx(3).epsilon(1e-12));
}

TEST_CASE("attention and feed-forward side by side: two all-reduces") {
  const Case c{model(kParallel, {{"D", 32}, {"F", 48}, {"N", 8}, {"K", 4}, {"H", 4}}),
               batch(8, 16),
               mesh({{"Y", 4}}),
               {preset("tp", {"Y"})},
               {},
               {}};
  const Sharded s = shard_case(c);
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::forward)) ==
        Lines{"all-reduce Both over Y: [B, T, D]{U_Y} -> [B, T, D]"});
  CHECK(lines(collectives(s.result, Pass::backward)) ==
        Lines{"all-reduce dY over Y: [B, T, D]{U_Y} -> [B, T, D]"});
  CHECK(wire(s, false) == doctest::Approx(4 * kHidden).epsilon(1e-12));
}

// Devices of one group hold the same key/value head and different query heads: what they add to its
// gradient are partial sums, which pass through the product with the weights.
TEST_CASE("copies of key/value heads: two more all-reduces, of their weights' gradients") {
  const Sharded s = shard_case({small_llama(),
                                batch(8, 16),
                                mesh({{"X", 4}, {"Y", 2}}),
                                {preset("tp", {"X", "Y"})},
                                {},
                                {}});
  REQUIRE(messages(s.problems).empty());
  CHECK(lines(collectives(s.result, Pass::backward)) ==
        Lines{"all-reduce dY2 over XY: [B, T, D]{U_{XY}} -> [B, T, D]",
              "all-reduce dWv over Y: [D, K_X, H]{U_Y} -> [D, K_X, H]",
              "all-reduce dWk over Y: [D, K_X, H]{U_Y} -> [D, K_X, H]",
              "all-reduce dY1 over XY: [B, T, D]{U_{XY}} -> [B, T, D]"});
}

TEST_CASE("products of presets move what their factors move, on blocks of each other") {
  struct Row {
    std::string name;
    std::vector<PresetSpec> presets;
    double weights;  // in matmul weight bytes; Y halves all of them
    double hidden;   // in bytes of [B, T, D]; X quarters it
  };
  const std::vector<Row> rows = {
      {"dp and tp", {preset("dp", {"X"}), preset("tp", {"Y"})}, 2.0 / 2, 8.0 / 4},
      {"fsdp and tp", {preset("fsdp", {"X"}), preset("tp", {"Y"})}, 3.0 / 2, 8.0 / 4},
      {"fsdp and tp and sp",
       {preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})},
       3.0 / 2,
       8.0 / 4},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Sharded s = layer_of(row.presets);
    REQUIRE(messages(s.problems).empty());
    double weights = 0;
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      for (const ShardedCollective& c : collectives(s.result, pass)) {
        if (c.tensor.find("norm") != std::string::npos) continue;
        if (!c.tensor.starts_with("W") && !c.tensor.starts_with("dW")) continue;
        weights += c.bytes.v * (c.kind == Collective::all_reduce ? 2 : 1);
      }
    }
    const double matmul_weights = (s.layer.parameters() - 2 * 32) * 2;
    CHECK(weights == doctest::Approx(row.weights * matmul_weights).epsilon(1e-12));
    CHECK(wire(s, false) == doctest::Approx(row.hidden * kHidden).epsilon(1e-12));
  }
}

TEST_CASE("the gradient that a reduce-scatter needs is gathered once for both products") {
  const Sharded s = layer_of({preset("tp", {"Y"}), preset("sp", {})});
  const ShardedStatement& dh = step(s.result, "dH = dMlp * Wout");
  const ShardedStatement& dw = step(s.result, "dWout = H * dMlp");
  REQUIRE(dh.before.size() == 1);
  CHECK(dh.before[0].kind == Collective::all_gather);
  CHECK(dh.before[0].case_text == "adjoint");
  CHECK(dw.before.empty());
  CHECK(to_text(dw.operands[1]) == "[B, T, D]");
}

TEST_CASE("readers of one array cost one reduction, after the last of them") {
  const Sharded s = layer_of({preset("tp", {"Y"})});
  CHECK(step(s.result, "dY1 = dV * Wv").after.empty());
  CHECK(step(s.result, "dY1 = dK * Wk").after.empty());
  const ShardedStatement& last = step(s.result, "dY1 = dQ * Wq");
  REQUIRE(last.after.size() == 1);
  CHECK(
      last.after[0].reason ==
      "dY1 is a partial sum over Y (3 contributions added first): every device of Y read the same "
      "Y1");
  CHECK(last.out.unreduced == Lines{"Y"});
}

TEST_CASE("weights that were freed are gathered again before their first use") {
  const Sharded s = layer_of({preset("fsdp", {"X"})});
  const ShardedStatement& dq = step(s.result, "dY1 = dQ * Wq");
  REQUIRE(dq.before.size() == 1);
  CHECK(dq.before[0].tensor == "Wq");
  CHECK(dq.before[0].case_text == "case 4");
  const ShardedStatement& dh = step(s.result, "dH = dMlp * Wout");
  CHECK(dh.before[0].case_text == "case 2");
  const ShardedStatement& dw = step(s.result, "dWq = Y1 * dQ");
  REQUIRE(dw.after.size() == 1);
  CHECK(dw.after[0].kind == Collective::reduce_scatter);
  CHECK(dw.after[0].case_text == "case 3");
  CHECK(to_text(dw.after[0].after) == "[D_X, N, H]");
}

TEST_CASE("the backward pass costs twice the flops of the forward pass") {
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    const Sharded s =
        layer_of(cut ? std::vector<PresetSpec>{preset("fsdp", {"X"}), preset("tp", {"Y"})}
                     : std::vector<PresetSpec>{});
    double flops[2] = {0, 0};
    for (const ShardedStatement& st : s.result.steps) {
      if (st.matmul) flops[st.pass == Pass::forward ? 0 : 1] += st.flops.v;
    }
    CHECK(flops[1] == doctest::Approx(2 * flops[0]).epsilon(1e-12));
    const double devices = cut ? 8 : 1;
    CHECK((flops[0] + flops[1]) * devices ==
          doctest::Approx(s.result.model_flops.v).epsilon(1e-12));
  }
}

TEST_CASE("every array that is read gets a gradient in the dual of its layout") {
  const Sharded s = layer_of({preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})});
  for (std::size_t t = 0; t < s.layer.tensors.size(); ++t) {
    const LayerTensor& tensor = s.layer.tensors[t];
    CAPTURE(tensor.name);
    Sharding last;
    for (const ShardedStatement& st : s.result.steps) {
      if (st.out_name != "d" + tensor.name) continue;
      last = st.out;
      for (const ShardedCollective& c : st.after) last = c.after;
    }
    if (tensor.name == "Out") {
      CHECK(last.dims.empty());  // comes from outside
      continue;
    }
    CHECK(to_text(last) == to_text(tensor.role == TensorRole::parameter
                                       ? s.layouts.tensors[t].gradient
                                       : s.result.held[t]));
  }
}

}  // namespace
}  // namespace shardsim
