#include "plan/explain.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "../support/networks.h"
#include "base/file.h"
#include "device_arrays.h"
#include "report/explain.h"
#include "sharding.h"
#include "spec/load.h"

namespace shardsim {
namespace {

using testing::mesh;
using testing::messages;

ExplainSetting setting(const std::vector<std::pair<std::string, int>>& axes,
                       std::vector<NamedDim> dims) {
  ExplainSetting result;
  result.mesh = mesh(axes);
  result.dims = std::move(dims);
  return result;
}

// On a torus of the same shape with 100 GB/s each way.
ExplainSetting priced(const std::string& torus,
                      const std::vector<std::pair<std::string, int>>& axes,
                      std::vector<NamedDim> dims) {
  ExplainSetting result = setting(axes, std::move(dims));
  result.cluster = testing::cluster(torus);
  result.priced = true;
  return result;
}

ArrayExpr array(const std::string& text, const ExplainSetting& on) {
  std::vector<Problem> problems;
  const NotationContext context{on.mesh.names(), {}};
  const auto expr = parse_array(text, argument_pos("array", text), context, problems);
  REQUIRE(expr.has_value());
  return *expr;
}

Explanation statement(const std::string& text, const ExplainSetting& on,
                      std::vector<Problem>& problems) {
  const NotationContext context{on.mesh.names(), {}};
  const auto parsed = parse_statement(text, argument_pos("statement", text), context, problems);
  REQUIRE(parsed.has_value());
  return explain_statement(*parsed, on, problems);
}

std::vector<int> block_ids(const Explanation& e) {
  std::vector<int> ids;
  for (const DeviceBlock& row : e.array->rows) ids.push_back(row.id);
  return ids;
}

TEST_CASE("an array's bytes and blocks") {
  // bf16[1024, 4096] on 2 x 2 devices: JAX Scaling Book ch. 3, "Sharding notation".
  const ExplainSetting on = setting({{"X", 2}, {"Y", 2}}, {{"I", 1024}, {"J", 4096}});
  struct Row {
    std::string array;
    double per_device, over_mesh;
    int blocks, copies;
    std::vector<int> ids;  // of devices 0..3
  };
  const std::vector<Row> rows = {
      {"A[I, J]", 8388608, 33554432, 1, 4, {0, 0, 0, 0}},
      {"A[I_X, J]", 4194304, 16777216, 2, 2, {0, 0, 1, 1}},
      {"A[I_Y, J]", 4194304, 16777216, 2, 2, {0, 1, 0, 1}},
      {"A[I_X, J_Y]", 2097152, 8388608, 4, 1, {0, 1, 2, 3}},
      {"A[I_XY, J]", 2097152, 8388608, 4, 1, {0, 1, 2, 3}},
      {"A[I_YX, J]", 2097152, 8388608, 4, 1, {0, 2, 1, 3}},
      {"A[I_X, J]{U_Y}", 4194304, 16777216, 2, 1, {0, 0, 1, 1}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.array);
    const Explanation e = explain_array(array(row.array, on), on);
    REQUIRE(e.array.has_value());
    CHECK(e.array->whole == Bytes{8388608});
    CHECK(e.array->per_device == Bytes{row.per_device});
    CHECK(e.array->over_mesh == Bytes{row.over_mesh});
    CHECK(e.array->blocks == row.blocks);
    CHECK(e.array->copies == row.copies);
    CHECK(block_ids(e) == row.ids);
  }
}

// The rows of I on every device, and that the tests which execute plans cut them alike.
TEST_CASE("a dim that does not divide is cut axis by axis") {
  struct Row {
    std::vector<std::pair<std::string, int>> axes;
    int size;
    std::string layout;
    std::vector<int> from, rows;  // [devices]
  };
  const std::vector<Row> rows = {
      {{{"X", 2}, {"Y", 4}}, 10, "[I_XY]", {0, 2, 4, 5, 5, 7, 9, 10}, {2, 2, 1, 0, 2, 2, 1, 0}},
      {{{"X", 2}, {"Y", 4}}, 10, "[I_YX]", {0, 3, 6, 9, 2, 5, 8, 10}, {2, 2, 2, 1, 1, 1, 1, 0}},
      {{{"X", 3}, {"Y", 2}}, 7, "[I_XY]", {0, 2, 3, 5, 6, 7}, {2, 1, 2, 1, 1, 0}},
      {{{"X", 3}, {"Y", 2}}, 7, "[I_YX]", {0, 4, 2, 6, 4, 7}, {2, 2, 2, 1, 0, 0}},
      {{{"X", 3}, {"Y", 3}},
       11,
       "[I_XY]",
       {0, 2, 4, 4, 6, 8, 8, 10, 11},
       {2, 2, 0, 2, 2, 0, 2, 1, 0}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.layout);
    CAPTURE(row.size);
    const ExplainSetting on = setting(row.axes, {{"I", row.size}});
    const ArrayExpr expr = array("A" + row.layout, on);
    const Explanation e = explain_array(expr, on);
    Layer layer;
    layer.dims = on.dims;
    const testing::Devices devices(on.mesh, layer);
    std::vector<int> from, size, executed_from, executed_size;
    for (const DeviceBlock& block : e.array->rows) {
      from.push_back(block.part[0].from);
      size.push_back(block.part[0].size);
      const testing::Block region = devices.region(block.device, expr.sharding);
      executed_from.push_back(region.start[0]);
      executed_size.push_back(region.size[0]);
      CHECK(region.padded[0] == e.array->dims[0].local);
    }
    CHECK(from == row.from);
    CHECK(size == row.rows);
    CHECK(from == executed_from);
    CHECK(size == executed_size);
  }
}

TEST_CASE("the other order of device numbers, and padding") {
  ExplainSetting on = setting({{"X", 2}, {"Y", 3}}, {{"I", 10}});
  CHECK(block_ids(explain_array(array("A[I_XY]", on), on)) == std::vector<int>{0, 1, 2, 3, 4, 5});
  on.order = "innermost-first";
  const Explanation e = explain_array(array("A[I_XY]", on), on);
  CHECK(block_ids(e) == std::vector<int>{0, 3, 1, 4, 2, 5});
  CHECK(e.array->dims[0].local == 2);
  CHECK(e.array->dims[0].padding == 2);
  CHECK(e.array->over_mesh == Bytes{24});
  CHECK(explanation_text(e).find("I 4..4\n") != std::string::npos);  // 2, 2, 1 of 5
}

TEST_CASE("a statement: cases, collectives, prices") {
  const std::vector<NamedDim> dims = {{"I", 64}, {"J", 128}, {"K", 32}};
  const ExplainSetting on = priced("torus:4x4", {{"X", 4}, {"Y", 4}}, dims);
  struct Row {
    std::string statement;
    int case_of_x = 1;
    std::vector<Collective> kinds;  // forward
    double bytes = 0;               // of the first
    double flops = 0;
  };
  constexpr double kAll = 2.0 * 64 * 128 * 32;
  const std::vector<Row> rows = {
      {"C[I_X,K] = A[I_X,J] * B[J,K]", 1, {}, 0, kAll / 4},
      {"C[I,K] = A[I,J_X] * B[J,K_Y]",
       2,
       {Collective::reduce_scatter, Collective::all_gather},  // into K_YX, then both at once
       64 * 8 * 2,
       kAll / 16},
      {"C[I,K] = A[I,J_X] * B[J_X,K]", 3, {Collective::all_reduce}, 64 * 32 * 2, kAll / 4},
      {"C[I_X,K] = A[I,J_X] * B[J_X,K]", 3, {Collective::reduce_scatter}, 64 * 32 * 2, kAll / 4},
      {"C[I,K]{U_X} = A[I,J_X] * B[J_X,K]", 3, {}, 0, kAll / 4},
      {"C[I_X,K] = A[I_X,J] * B[J,K_X]", 4, {Collective::all_gather}, 128 * 32 * 2, kAll / 4},
  };
  for (const Row& row : rows) {
    CAPTURE(row.statement);
    std::vector<Problem> problems;
    Explanation e = statement(row.statement, on, problems);
    REQUIRE(problems.empty());
    keep_steps(e, "forward", "");
    REQUIRE(e.steps.size() == 1);
    const ExplainedStep& step = e.steps.front();
    CHECK(step.what.cases.front().number == row.case_of_x);
    CHECK(step.what.flops == Flops{row.flops});
    std::vector<PricedCollective> all = step.before;
    all.insert(all.end(), step.after.begin(), step.after.end());
    REQUIRE(all.size() == row.kinds.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].what.kind == row.kinds[i]);
      CHECK(all[i].price.value_or(Seconds{}) > Seconds{});
      CHECK(all[i].devices == (i == 0 ? 4 : 16));
    }
    if (!all.empty()) CHECK(all.front().what.bytes == Bytes{row.bytes});
    const bool slices = row.case_of_x == 2;
    CHECK(step.cuts == (slices ? std::vector<std::string>{"B[J, K_Y] -> B[J_X, K_Y]"}
                               : std::vector<std::string>{}));
  }
}

TEST_CASE("with a chip a statement takes its roofline, and plans are compared with it") {
  // H100: 989 TFLOP/s in bf16, 3.35 TB/s (NVIDIA H100 datasheet); the launch is ours.
  const ChipRates h100{FlopsPerSec{989e12}, BytesPerSec{3.35e12}, Seconds{2e-6}};
  struct Row {
    std::string statement;
    double seconds = 0;
    bool memory_bound = false;
  };
  constexpr double kN = 8192;
  const std::vector<Row> rows = {
      {"C[I,K] = A[I,J] * B[J,K]", 2 * kN * kN * kN / 989e12 + 2e-6, false},
      {"C[I,K] = A[I_X,J] * B[J,K_X]", 2 * kN * kN * kN / 8 / 989e12 + 2e-6, false},
      {"C = A[I,J] + B[I,J]", 3 * 2 * kN * kN / 3.35e12 + 2e-6, true}};
  for (const Row& row : rows) {
    CAPTURE(row.statement);
    const bool einsum = row.statement.find('K') != std::string::npos;
    std::vector<NamedDim> dims = {{"I", 8192}, {"J", 8192}};
    if (einsum) dims.push_back({"K", 8192});
    ExplainSetting on = priced("ring:8", {{"X", 8}}, dims);
    std::vector<Problem> problems;
    CHECK_FALSE(statement(row.statement, on, problems).steps.front().compute.has_value());
    on.chip = "h100-sxm";
    on.rates = h100;
    const Explanation e = statement(row.statement, on, problems);
    REQUIRE(problems.empty());
    REQUIRE(e.steps.front().compute.has_value());
    CHECK(e.steps.front().compute->v == doctest::Approx(row.seconds).epsilon(1e-12));
    CHECK(e.steps.front().memory_bound == row.memory_bound);
    CHECK(explanation_text(e).find("h100-sxm: 989 TFLOP/s in bf16") != std::string::npos);
  }
  // To gather A takes a little less than to cut it on I and gather C, but repeats the work of 4.
  ExplainSetting on = priced("ring:4", {{"X", 4}}, {{"I", 4096}, {"J", 6000}, {"K", 4096}});
  const auto first_move = [&] {
    std::vector<Problem> problems;
    const Explanation e = statement("C[I,K] = A[I,J_X] * B[J,K]", on, problems);
    REQUIRE(e.steps.front().before.size() == 1);
    return e.steps.front().before.front().what.kind;
  };
  CHECK(first_move() == Collective::all_gather);
  on.rates = h100;
  CHECK(first_move() == Collective::all_to_all);
}

TEST_CASE("a price is the closed form; without a bandwidth there is none") {
  const std::vector<NamedDim> dims = {{"I", 4096}, {"J", 8192}};
  ExplainSetting on = priced("ring:4", {{"X", 4}}, dims);
  std::vector<Problem> problems;
  const ArrayExpr from = array("A[I_X, J]", on);
  Explanation e = explain_reshard(from, array("A[I, J]", on), on, problems);
  REQUIRE(problems.empty());
  REQUIRE(e.moves.size() == 1);
  REQUIRE(e.moves[0].collective.has_value());
  // All-gather on a two-way ring: (N-1)/(2N) * V/W1.
  const double expected = 3.0 / 8 * 4096 * 8192 * 2 / 100e9;
  REQUIRE(e.moves[0].collective->price.has_value());
  CHECK(e.moves[0].collective->price->v == doctest::Approx(expected).epsilon(1e-12));
  on.priced = false;
  e = explain_reshard(from, array("A[I, J]", on), on, problems);
  CHECK_FALSE(e.moves[0].collective->price.has_value());
  CHECK(to_json(explanation_json(e)).find("\"price_s\": null") != std::string::npos);
  CHECK(explanation_text(e).find("no prices") != std::string::npos);
}

TEST_CASE("without a bandwidth plans are compared in bytes, never in times") {
  const ExplainSetting on = setting({{"X", 8}}, {{"I", 8}, {"J", 8}, {"K", 8}});
  std::vector<Problem> problems;
  const Explanation e = statement("C[I_X,K] = A[I_X,J] * B[J,K_X]", on, problems);
  REQUIRE(problems.empty());
  // An all-gather of V = 128 bytes on a two-way ring of 8 puts 7/16 V on every link.
  REQUIRE(e.steps[0].what.plans[0].link_bytes.has_value());
  CHECK(*e.steps[0].what.plans[0].link_bytes == Bytes{56});
  const std::string text = explanation_text(e);
  CHECK(text.find("16 B more through the busiest") != std::string::npos);
  for (const char* time : {" ns", " us", " ms", "costs"}) {
    CAPTURE(time);
    CHECK(text.find(time) == std::string::npos);
  }
  const std::string json = to_json(explanation_json(e));
  CHECK(json.find("\"communication_s\": null") != std::string::npos);
  CHECK(json.find("\"busiest_link_bytes\": 56") != std::string::npos);
}

TEST_CASE("plans that cost the same and batch dims that clash: refused or chosen, as asked") {
  const std::string tied = "C[I,K] = A[I,J_X] * B[J_Y,K]";
  const std::string clash = "C[I_X,J,K] = A[I_X,J] * B[I_Y,K]";
  const auto refused = [](const std::string& text, const std::string& how) {
    ExplainSetting on = setting({{"X", 4}, {"Y", 4}}, {{"I", 4096}, {"J", 4096}, {"K", 4096}});
    on.on_ambiguity = how;
    std::vector<Problem> problems;
    statement(text, on, problems);
    return messages(problems);
  };
  CHECK(refused(tied, "").empty());
  CHECK(refused(tied, "choose").empty());
  REQUIRE(refused(tied, "error").size() == 1);
  CHECK(refused(tied, "error")[0].find("expected one cheapest plan") != std::string::npos);
  REQUIRE(refused(clash, "").size() == 1);
  CHECK(refused(clash, "")[0].find("cut alike in both operands") != std::string::npos);
  CHECK(refused(clash, "choose").empty());
}

TEST_CASE("a statement shows every free cut, before collectives too, and what they cost together") {
  const ExplainSetting on =
      priced("torus:4x4", {{"X", 4}, {"Y", 4}}, {{"I", 4096}, {"J", 4096}, {"K", 4096}});
  std::vector<Problem> problems;
  Explanation e = statement("C[I,K] = A[I,J_X] * B[J_Y,K]", on, problems);
  REQUIRE(problems.empty());
  keep_steps(e, "forward", "");
  const ExplainedStep& step = e.steps[0];
  REQUIRE(step.before.size() == 2);
  CHECK(step.before[0].cut == "B[J_Y, K] -> B[J_{YX}, K]");
  // Every layout is the one before it, or cut out of it.
  CHECK(to_text(step.before[0].what.before) == "[J_{YX}, K]");
  CHECK(step.before[1].what.before == step.before[0].what.after);
  CHECK(to_json(explanation_json(e)).find("\"B[J_Y, K] -> B[J_{YX}, K]\"") != std::string::npos);
  Seconds sum;
  for (const PricedCollective& c : step.before) sum += *c.price;
  for (const PricedCollective& c : step.after) sum += *c.price;
  const std::string text = explanation_text(e);
  CHECK(text.find("together  " + to_text(sum) + " for 4 collectives") != std::string::npos);
  CHECK(text.find("cut       B[J_Y, K] -> B[J_{YX}, K], free") < text.find("before    all-to-all"));
}

TEST_CASE("a reshard shows the cuts that cost nothing") {
  const ExplainSetting on = setting({{"X", 4}, {"Y", 2}}, {{"I", 64}, {"J", 64}});
  std::vector<Problem> problems;
  const auto moves = [&](const std::string& from, const std::string& to) {
    std::vector<std::string> lines;
    const Explanation e = explain_reshard(array(from, on), array(to, on), on, problems);
    for (const Move& move : e.moves) {
      lines.push_back(std::string(move.collective ? to_text(move.collective->what.kind) : "cut") +
                      " " + to_text(move.before) + " -> " + to_text(move.after));
    }
    return lines;
  };
  using Lines = std::vector<std::string>;
  CHECK(moves("A[I, J]", "A[I_X, J]") == Lines{"cut [I, J] -> [I_X, J]"});
  CHECK(moves("A[I_X, J]", "A[I_X, J]") == Lines{});
  CHECK(moves("A[I_X, J]", "A[I, J_X]") == Lines{"all-to-all [I_X, J] -> [I, J_X]"});
  CHECK(moves("A[I, J]{U_X}", "A[I, J_Y]") ==
        Lines{"cut [I, J]{U_X} -> [I, J_Y]{U_X}", "all-reduce [I, J_Y]{U_X} -> [I, J_Y]"});
  CHECK(problems.empty());
}

TEST_CASE("a reshard of dims that do not divide says what is padded") {
  const ExplainSetting on = setting({{"X", 4}}, {{"I", 10}, {"J", 8}});
  std::vector<Problem> problems;
  const auto padded = [&](const std::string& from, const std::string& to) {
    std::vector<std::string> lines;
    for (const std::string& note :
         explain_reshard(array(from, on), array(to, on), on, problems).notes) {
      if (note.starts_with("bytes count padding")) lines.push_back(note);
    }
    return lines;
  };
  CHECK(padded("A[I_X, J]", "A[I, J_X]") ==
        std::vector<std::string>{
            "bytes count padding: I: 10 over 4 devices is 3 each, 2 rows of padding"});
  CHECK(padded("A[I, J_X]", "A[I, J]") == std::vector<std::string>{});
}

TEST_CASE("axes of one device") {
  const ExplainSetting on = setting({{"X", 1}}, {{"I", 5}});
  std::vector<Problem> problems;
  const Explanation e = explain_reshard(array("A[I_X]", on), array("A[I]", on), on, problems);
  REQUIRE(e.moves.size() == 1);
  CHECK_FALSE(e.moves[0].collective.has_value());
  CHECK(explanation_text(e).find("nothing: [I_X] -> [I]") != std::string::npos);
  const std::string text = explanation_text(explain_array(array("A[I_X]", on), on));
  CHECK(text.find("1 device, 1 block: each is on 1 device\n") != std::string::npos);
}

TEST_CASE("problems of a reshard") {
  const ExplainSetting on = setting({{"X", 4}}, {{"I", 64}, {"J", 64}});
  struct Row {
    std::string from, to;
    std::vector<std::string> expected;
  };
  const std::vector<Row> rows = {
      {"A[I]", "B[I]", {"expected A, the array on the left, found B"}},
      {"A[I,J]", "A[J,I]", {"expected the dims [I, J] in this order, found [J, I]"}},
      {"A[I]",
       "A[I]{U_X}",
       {"expected partial sums over X on the left, too, found none: no collective makes them"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.to);
    std::vector<Problem> problems;
    explain_reshard(array(row.from, on), array(row.to, on), on, problems);
    CHECK(messages(problems) == row.expected);
  }
}

TEST_CASE("a run file: every collective of the plan, once, with the price of its algorithm") {
  for (const std::string& name : run_names()) {
    CAPTURE(name);
    const RunSpec spec = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
    const Prepared run = prepare(spec);
    const Explanation e = explain_run(spec, run);
    REQUIRE(e.steps.size() == run.sharded.steps.size());
    CHECK(e.layouts.size() == run.layer.tensors.size());
    std::size_t count = 0;
    for (const ExplainedStep& step : e.steps) {
      for (const auto* list : {&step.before, &step.after}) {
        for (const PricedCollective& c : *list) {
          REQUIRE(count < run.choices.size());
          CHECK(c.algorithm == run.choices[count].row->name);
          CHECK(c.price.has_value());
          CHECK_FALSE(c.what.reason.empty());
          ++count;
        }
      }
    }
    CHECK(count == run.choices.size());
  }
}

TEST_CASE("the table of layouts: stages of ZeRO, and gradients as they are accumulated") {
  struct Row {
    std::string sharding, stored, gradient, optimizer;
  };
  const std::string plain = "[D, F]", cut = "[D_X, F]", sums = "[D, F]{U_X}";
  for (const Row& row :
       {Row{"{dp: X}", plain, sums, plain}, Row{"{dp: X, sync: true}", plain, plain, plain},
        Row{"{zero1: X}", plain, sums, cut}, Row{"{zero2: X}", plain, cut, cut},
        Row{"{zero3: X}", cut, cut, cut}, Row{"{fsdp: X, no_sync: true}", cut, sums, cut},
        Row{"{zero1: X, sync: true}", plain, plain, cut}}) {
    CAPTURE(row.sharding);
    const std::vector<Override> overrides = {{"sharding=" + row.sharding}};
    const RunSpec spec = load_run(data_dir() + "/configs/runs/fsdp-ring8.yaml", overrides);
    const Explanation e = explain_run(spec, prepare(spec));
    for (const LayoutRow& layout : e.layouts) {
      CHECK(layout.optimizer.has_value() == (layout.role == "parameter"));
      if (layout.tensor != "Win") continue;
      CHECK(to_text(layout.stored) == row.stored);
      CHECK(to_text(layout.gradient) == row.gradient);
      CHECK(to_text(*layout.optimizer) == row.optimizer);
    }
  }
}

TEST_CASE("one statement of a file, and one pass") {
  const RunSpec spec = load_run(data_dir() + "/configs/runs/fsdp-ring8.yaml");
  const Explanation all = explain_run(spec, prepare(spec));
  Explanation one = all;
  keep_steps(one, "both", "Attn");
  std::vector<std::string> texts;
  for (const ExplainedStep& step : one.steps) texts.push_back(step.what.text);
  CHECK(texts == std::vector<std::string>{"Attn[B,T,D] = O[B,T,N,H] * Wo[N,H,D]", "dO = dAttn * Wo",
                                          "dWo = O * dAttn"});
  CHECK(one.layouts.size() == 3);
  Explanation backward = all;
  keep_steps(backward, "backward", "");
  CHECK(backward.steps.size() == all.steps.size() - 13);
  CHECK(backward.layouts.size() == all.layouts.size());
}

TEST_CASE("layouts in the statements are the table of layouts") {
  // The same layer, once with layouts in place, once with the presets they are the product of.
  const std::string head =
      "cluster:\n  chip: h100-sxm\n  topology: {kind: torus, axes: {x: 4, y: 2}, link: {bandwidth: "
      "100 GB/s}}\nmesh: {X: [x], Y: [y]}\ndims: {B: 8, T: 16, D: 32, F: 64}\n";
  const auto shard_file = [&](const std::string& rest) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("shardsim_explain_test_" + std::to_string(getpid()) + ".yaml");
    write_files({{path.string(), head + rest}});
    const ShardedLayer sharded = prepare(load_run(path.string())).sharded;
    std::filesystem::remove(path);
    return sharded;
  };
  const ShardedLayer by_hand = shard_file(
      "layer:\n  - \"G[B_X, T, F_Y] = In[B_X, T, D] * Win[D, F_Y]\"\n  - \"H = gelu(G)\"\n"
      "  - \"Out[B_X, T, D] = H * Wout[F_Y, D]\"\n");
  const ShardedLayer by_presets = shard_file(
      "layer:\n  - \"G[B, T, F] = In[B, T, D] * Win[D, F]\"\n  - \"H = gelu(G)\"\n"
      "  - \"Out[B, T, D] = H * Wout[F, D]\"\nsharding: {dp: X, tp: Y}\n");
  CHECK(by_hand.held == by_presets.held);
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const auto lines = testing::lines(testing::collectives(by_hand, pass));
    CHECK(lines.size() == (pass == Pass::forward ? 1 : 3));
    CHECK(lines == testing::lines(testing::collectives(by_presets, pass)));
  }
}

}  // namespace
}  // namespace shardsim
