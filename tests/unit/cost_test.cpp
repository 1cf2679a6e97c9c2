#include "plan/cost.h"

#include "sharding.h"
#include "spec/load.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::mesh;
using testing::messages;
using testing::shard_case;
using testing::small_llama;
using testing::step;

ChipSpec chip() {
  ChipSpec spec;
  spec.name = "test-chip";
  spec.peak = {{"bf16", FlopsPerSec{100e12}}, {"fp8", FlopsPerSec{200e12}}};
  spec.memory_bandwidth = BytesPerSec{1e12};
  spec.launch_overhead = Seconds{1e-6};
  spec.variants = {{"half", 0.5, 0.25, 1, 0, "", {}}};
  return spec;
}

Chosen<std::string> named(const std::string& text) {
  return {text, argument_pos("a", text), true};
}

TEST_CASE("the roofline") {
  struct Row {
    double flops, bytes;
    bool matmul;
    double seconds;
  };
  const std::vector<Row> rows = {
      {1e12, 1e6, true, 10e-3 + 1e-6},  // bound by math
      {1e6, 1e9, true, 1e-3 + 1e-6},    // bound by memory
      {1e12, 1e9, false, 1e-3 + 1e-6},  // not on the matrix unit: memory alone
      {0, 0, false, 0},                 // nothing to do, nothing launched
  };
  std::vector<Problem> problems;
  const ChipRates rates = chip_rates(chip(), {}, {}, problems);
  CHECK(problems.empty());
  for (const Row& row : rows) {
    CAPTURE(row.seconds);
    ShardedStatement st;
    st.flops = Flops{row.flops};
    st.memory_bytes = Bytes{row.bytes};
    st.matmul = row.matmul;
    CHECK(cost(st, rates).v == doctest::Approx(row.seconds).epsilon(1e-12));
  }
}

// NVIDIA's own example: a 1792 x 1792 product is 98 tiles of 256 x 128, which fit the 108
// multiprocessors of an A100 at once; with one more row and column they are 120, a second wave.
TEST_CASE("products take whole waves of tiles") {
  struct Row {
    int rows, columns, multiprocessors;
    double tiles, waves;
  };
  const std::vector<Row> rows = {{1792, 1792, 108, 98, 1},  {1800, 1792, 108, 105, 1},
                                 {1793, 1793, 108, 120, 2}, {256, 128, 1, 1, 1},
                                 {128, 256, 1, 1, 1},       {1, 1, 4, 1, 1}};
  for (const Row& row : rows) {
    CAPTURE(row.rows);
    Layer layer;
    layer.dims = {{"I", row.rows}, {"J", 64}, {"K", row.columns}};
    ShardedStatement st;
    st.operands = {whole({"I", "J"}), whole({"J", "K"})};
    st.out = whole({"I", "K"});
    add_work(layer, mesh({{"X", 1}}), {{2, 2, 2}, 0, {}}, st);
    CHECK(st.tiles == row.tiles);
    const ChipRates rates{FlopsPerSec{1}, BytesPerSec{1e30}, {}, row.multiprocessors};
    const double all_tiles = row.waves * row.multiprocessors;
    CHECK(cost(st, rates).v == doctest::Approx(all_tiles * 256 * 128 * 64 * 2).epsilon(1e-12));
  }
}

TEST_CASE("variants and dtypes of a chip") {
  std::vector<Problem> problems;
  const ChipRates half = chip_rates(chip(), named("half"), named("fp8"), problems);
  CHECK(problems.empty());
  CHECK(half.peak.v == doctest::Approx(100e12).epsilon(1e-12));
  CHECK(half.memory.v == doctest::Approx(0.25e12).epsilon(1e-12));
  chip_rates(chip(), named("halff"), named("int8"), problems);
  CHECK(messages(problems) ==
        std::vector<std::string>{"chip test-chip has no variant \"halff\"",
                                 "chip test-chip has no peak for int8; it has bf16 or fp8"});
  CHECK(problems[0].hint == "did you mean \"half\"?");
}

TEST_CASE("precision by role") {
  PrecisionSpec spec;
  CHECK(element_bytes(spec).weights == 2);
  CHECK(element_bytes(spec).optimizer == 4);
  spec.gradients = named("fp32");
  spec.weights = named("fp8");
  CHECK(element_bytes(spec).gradients == 4);
  CHECK(element_bytes(spec).weights == 1);
}

TEST_CASE("the work of statements") {
  // B 8, T 16, D 32, F 48, N 8, K 4, H 4 on one device
  const auto s = shard_case({small_llama(), batch(8, 16), mesh({{"X", 1}}), {}, {}, {}});
  struct Row {
    std::string text;
    double flops, elements;
    bool matmul;
  };
  const double bt = 8 * 16;
  const std::vector<Row> rows = {
      {"Y1 = norm(In[B,T,D], D, Wnorm1[D])", bt * 32 + 32, 2 * bt * 32 + 32, false},
      {"Q[B,T,N,H] = Y1[B,T,D] * Wq[D,N,H]", 2 * bt * 32 * 32, bt * 32 + 32 * 32 + bt * 32, true},
      {"O = attention(Q, K, V, causal)", 4 * bt * 16 * 32 / 2, 2 * bt * 32 + 2 * bt * 16, true},
      {"H = silu(G) * U", 2 * bt * 48, 3 * bt * 48, false},
      {"X = In + Attn", 2 * bt * 32, 3 * bt * 32, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const ShardedStatement& st = step(s.result, row.text);
    CHECK(st.flops.v == doctest::Approx(row.flops).epsilon(1e-12));
    CHECK(st.memory_bytes.v == doctest::Approx(2 * row.elements).epsilon(1e-12));
    CHECK(st.matmul == row.matmul);
  }
  CHECK(step(s.result, "dMlp = dOut").memory_bytes.v == 0);
}

// Korthikanti et al. 2022, figure 3 and section 4.1: of B*N*T*S scores of 2 bytes, softmax and
// dropout are read and written, and a mask of 1 byte. B 8, T 16, N 8, H 4, K 4.
TEST_CASE("scores that go through memory") {
  testing::Case c{small_llama(), batch(8, 16), mesh({{"X", 1}}), {}, {}, {}};
  const auto flash = shard_case(c);
  c.attention = "scores";
  const auto moved = shard_case(c);
  const double scores = 8 * 8 * 16 * 16;
  struct Row {
    std::string text;
    double products, beside;  // bytes of a score
  };
  const std::vector<Row> rows = {{"O = attention(Q, K, V, causal)", 4, 9},
                                 {"dQ = attention'(dO, Q, K, V)", 4, 11},
                                 {"dK = attention'(dO, Q, K, V)", 2, 0},
                                 {"dV = attention'(dO, Q, K, V)", 2, 0}};
  const ChipRates rates{FlopsPerSec{1e30}, BytesPerSec{1}, {}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const ShardedStatement& before = step(flash.result, row.text);
    const ShardedStatement& after = step(moved.result, row.text);
    CHECK(after.flops.v == doctest::Approx(2 * before.flops.v).epsilon(1e-12));
    CHECK(before.beside_bytes.v == 0);
    CHECK((after.memory_bytes - before.memory_bytes).v ==
          doctest::Approx(row.products * scores).epsilon(1e-12));
    CHECK(after.beside_bytes.v == doctest::Approx(row.beside * scores).epsilon(1e-12));
    CHECK(cost(after, rates).v - cost(before, rates).v ==
          doctest::Approx((row.products + row.beside) * scores).epsilon(1e-12));
  }
  CHECK(model_flops(moved.layer).v == model_flops(flash.layer).v);
}

// Kaplan et al. 2020, section 2.1: 6 flops per matmul parameter and token, and attention.
TEST_CASE("model flops of every model are 6 N D and attention") {
  const int sequences = 2;
  const int length = 1024;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const ModelSpec spec = load_model(name);
    std::vector<Problem> problems;
    const Layer layer = make_layer(spec, batch(sequences, length), sequences, problems);
    REQUIRE(messages(problems).empty());
    double vectors = 0;  // parameters that are not multiplied: scales of norms
    for (std::size_t t = 0; t < layer.tensors.size(); ++t) {
      if (layer.tensors[t].dims.size() == 1) vectors += layer.elements(static_cast<int>(t));
    }
    const double tokens = static_cast<double>(sequences) * length;
    double attention = 0;
    for (const LayerStatement& st : layer.statements) {
      if (st.kind != StatementKind::attention) continue;
      attention += 4 * tokens * length * layer.dim_size("N") * layer.dim_size("H") / 2;  // causal
    }
    const double forward = 2 * (layer.parameters() - vectors) * tokens + attention;
    CHECK(model_flops(layer).v == doctest::Approx(forward).epsilon(1e-12));
  }
}

TEST_CASE("parameters of every model are the published ones") {
  int compared = 0;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const ModelSpec spec = load_model(name);
    if (spec.parameters == 0) continue;
    std::vector<Problem> problems;
    const Layer layer = make_layer(spec, batch(1, 1), 1, problems);
    REQUIRE(messages(problems).empty());
    const double embedding = 2.0 * layer.dim_size("V") * layer.dim_size("D");
    const double total = spec.layers * layer.parameters() + embedding + layer.dim_size("D");
    CHECK(total == doctest::Approx(spec.parameters).epsilon(1e-12));
    ++compared;
  }
  CHECK(compared >= 4);
}

}  // namespace
}  // namespace shardsim
