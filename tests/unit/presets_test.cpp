#include "plan/presets.h"

#include <algorithm>
#include <map>

#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::mesh;
using testing::messages;
using testing::preset;
using testing::small_llama;

Layouts layouts(const std::vector<PresetSpec>& presets, const Mesh& m,
                const std::vector<std::string>& tensors, Layer& layer,
                std::vector<Problem>& problems) {
  layer = make_layer(small_llama(), batch(8, 16), 8, problems);
  std::vector<Chosen<std::string>> entries;
  for (const std::string& text : tensors) {
    entries.push_back({text, argument_pos("tensors", text), true});
  }
  return make_layouts(presets, entries, layer, m, problems);
}

const Mesh kMesh = mesh({{"X", 4}, {"Y", 2}, {"P", 2}});

TEST_CASE("presets add up to a table of layouts") {
  struct Row {
    std::string name;
    std::vector<PresetSpec> presets;
    std::map<std::string, std::string> held;
    std::string wq_gradient;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, {{"In", "[B, T, D]"}, {"Wq", "[D, N, H]"}}, "[D, N, H]"},
      {"dp", {preset("dp", {"X"})}, {{"In", "[B_X, T, D]"}, {"Wq", "[D, N, H]"}}, "[D, N, H]"},
      {"fsdp",
       {preset("fsdp", {"X"})},
       {{"In", "[B_X, T, D]"}, {"Wq", "[D_X, N, H]"}, {"Wout", "[F, D_X]"}, {"Wnorm1", "[D_X]"}},
       "[D_X, N, H]"},
      {"tp",
       {preset("tp", {"Y"})},
       {{"In", "[B, T, D]"},
        {"Wk", "[D, K_Y, H]"},
        {"Wout", "[F_Y, D]"},
        {"H", "[B, T, F_Y]"},
        {"O", "[B, T, N_Y, H]"},
        {"Wnorm1", "[D]"}},
       "[D, N_Y, H]"},
      {"fsdp and tp and sp",
       {preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})},
       {{"In", "[B_X, T_Y, D]"},
        {"Y2", "[B_X, T_Y, D]"},
        {"Q", "[B_X, T, N_Y, H]"},
        {"Wq", "[D_X, N_Y, H]"},
        {"Wout", "[F_Y, D_X]"}},
       "[D_X, N_Y, H]"},
      {"two data axes",
       {preset("dp", {"P"}), preset("fsdp", {"X"}), preset("tp", {"Y"})},
       {{"In", "[B_{PX}, T, D]"}, {"Wq", "[D_X, N_Y, H]"}},
       "[D_X, N_Y, H]"},
      {"fsdp over two axes",
       {preset("fsdp", {"X", "P"})},
       {{"Wq", "[D_{XP}, N, H]"}},
       "[D_{XP}, N, H]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    std::vector<Problem> problems;
    Layer layer;
    const Layouts result = layouts(row.presets, kMesh, {}, layer, problems);
    REQUIRE(messages(problems).empty());
    for (const auto& [name, text] : row.held) {
      CAPTURE(name);
      CHECK(to_text(result.tensors[static_cast<std::size_t>(layer.tensor(name))].held) == text);
    }
    const auto wq = static_cast<std::size_t>(layer.tensor("Wq"));
    CHECK(to_text(result.tensors[wq].gradient) == row.wq_gradient);
    CHECK(to_text(result.tensors[wq].optimizer) == row.wq_gradient);
  }
}

TEST_CASE("which weights are gathered again in the backward pass") {
  std::vector<Problem> problems;
  Layer layer;
  const Layouts result = layouts({preset("fsdp", {"X"}), preset("tp", {"Y"})}, kMesh,
                                 {"Wk[D, K_Y, H]"}, layer, problems);
  REQUIRE(problems.empty());
  CHECK(result.regathers(layer, layer.tensor("Wq")));
  CHECK_FALSE(result.regathers(layer, layer.tensor("Wk")));
  CHECK_FALSE(result.regathers(layer, layer.tensor("In")));
}

TEST_CASE("wrong choices of presets") {
  struct Row {
    std::vector<PresetSpec> presets;
    Mesh mesh;
    std::vector<std::string> expected;
  };
  const std::vector<Row> rows = {
      {{preset("fsdpp", {"X"})}, kMesh, {"unknown sharding preset \"fsdpp\""}},
      {{preset("dp", {"Q"})}, kMesh, {"mesh axis \"Q\" of dp is not in the mesh"}},
      {{preset("dp", {"X"}), preset("fsdp", {"X"})},
       kMesh,
       {"mesh axis X is used by dp and by fsdp"}},
      {{preset("fsdp", {"X", "X"})}, kMesh, {"mesh axis X is used by fsdp and by fsdp"}},
      {{preset("sp", {})}, kMesh, {"sp needs tp: it cuts over the same mesh axes"}},
      {{preset("tp", {"Y"}), preset("sp", {"Y"})},
       kMesh,
       {"sp is true or false and uses the axes of tp"}},
      {{preset("dp", {})}, kMesh, {"dp needs the mesh axes it cuts over"}},
      {{preset("tp", {"Y"})},
       mesh({{"Y", 3}}),
       {"N = 8 query heads cannot be cut over tp = 3 devices: 3 does not divide 8",
        "K = 4 key/value heads cannot be cut over tp = 3 devices: neither divides the other"}},
      {{preset("tp", {"Y"})},
       mesh({{"Y", 8}}),
       {"K = 4 key/value heads cannot be cut over tp = 8 devices: one on each of 4 groups needs "
        "mesh "
        "axes that come apart there, and part of a one-way ring is no ring"}},
      {{preset("hsdp", {"X"})},
       kMesh,
       {"hsdp needs 2 mesh axes or more, found 1: one each for dp and fsdp"}},
      {{preset("hsdp", {})}, kMesh, {"hsdp needs the mesh axes it cuts over"}},
      {{preset("dp", {"X"}), preset("no_sync", {})},
       kMesh,
       {"no_sync needs fsdp, shard_grad_op or zero2: it speaks about the same mesh axes"}},
      {{preset("fsdp", {"X"}), preset("sync", {})},
       kMesh,
       {"sync needs dp, zero1 or cp: it speaks about the same mesh axes"}},
      {{preset("tp", {"Y"}), preset("regather", {})},
       kMesh,
       {"regather needs sp: it speaks about the same mesh axes"}},
      {{preset("zero3", {"X"}), preset("ddp", {"X"})},
       kMesh,
       {"mesh axis X is used by zero3 and by ddp"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expected.front());
    std::vector<Problem> problems;
    Layer layer;
    layouts(row.presets, row.mesh, {}, layer, problems);
    CHECK(messages(problems) == row.expected);
  }
}

TEST_CASE("wrong single layouts") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Wx[D]", "the layer has no tensor \"Wx\""},
      {"Wq[N, D, H]", "Wq has the dims [D, N, H], found [N, D, H]"},
      {"Wq[D, N, H]{U_X}", "Wq cannot be unreduced: nothing here makes it as a partial sum"},
      {"Wq[D_X, N_X, H]", "mesh axis X cuts both D and N of Wq"},
  };
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    std::vector<Problem> problems;
    Layer layer;
    layouts({}, kMesh, {text}, layer, problems);
    CHECK(messages(problems) == std::vector<std::string>{expected});
  }
}

TEST_CASE("how the batch is cut") {
  struct Row {
    std::vector<PresetSpec> presets;
    int global;
    int micro;  // 0: not given
    int sequences, microbatches, data_parallel;
    std::string message;
  };
  const std::vector<Row> rows = {
      {{}, 6, 0, 6, 1, 1, ""},
      {{preset("tp", {"Y"})}, 6, 0, 6, 1, 1, ""},
      {{preset("fsdp", {"X"})}, 8, 0, 8, 1, 4, ""},
      {{preset("fsdp", {"X"})}, 16, 1, 4, 4, 4, ""},
      {{preset("dp", {"P"}), preset("fsdp", {"X"})}, 32, 2, 16, 2, 8, ""},
      {{preset("fsdp", {"X"})},
       6,
       0,
       6,
       1,
       4,
       "batch.global = 6 sequences cannot be cut over 4 devices (X): 4 does not divide 6"},
      {{preset("fsdp", {"X"})},
       12,
       2,
       12,
       1,
       4,
       "batch.micro = 2 on 4 devices is 8 sequences at a time, which does not divide batch.global "
       "= "
       "12"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.global);
    BatchSpec spec = batch(row.global, 16);
    if (row.micro != 0) spec.micro = {row.micro, argument_pos("micro", "1"), true};
    std::vector<Problem> problems;
    const BatchSplit split = split_batch(spec, row.presets, kMesh, problems);
    CHECK(split.sequences == row.sequences);
    CHECK(split.microbatches == row.microbatches);
    CHECK(split.data_parallel == row.data_parallel);
    CHECK(messages(problems) == (row.message.empty() ? std::vector<std::string>{}
                                                     : std::vector<std::string>{row.message}));
  }
}

TEST_CASE("every row of the table is complete") {
  for (const PresetRow& row : presets()) {
    CAPTURE(std::string(row.name));
    CHECK_FALSE(row.help.empty());
    CHECK_FALSE((where_text(row) + when_text(row)).empty());
    CHECK((row.argument == PresetArgument::flag) == !row.needs.empty());
    for (const auto names : {row.needs, row.parts}) {
      for (const std::string_view name : names) REQUIRE(find_preset(name) != nullptr);
    }
    for (const std::string_view alias : row.aliases) CHECK(find_preset(alias) == &row);
  }
  std::vector<std::string> names = preset_names();
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("every row that says when it reduces has a flag that says the other") {
  for (const auto& [flag, when] :
       {std::pair{"no_sync", Reduce::each_microbatch}, std::pair{"sync", Reduce::each_step}}) {
    const PresetRow* other = find_preset(flag);
    REQUIRE(other != nullptr);
    CHECK(other->when.gradients != when);
    for (const PresetRow& row : presets()) {
      if (row.argument == PresetArgument::flag) continue;
      CAPTURE(std::string(row.name));
      const bool named =
          std::find(other->needs.begin(), other->needs.end(), row.name) != other->needs.end();
      CHECK(named == (row.when.gradients == when));
    }
  }
}

TEST_CASE("the columns in words") {
  CHECK(where_text(*find_preset("zero2")) == "activations on B; gradients, optimizer state on D");
  CHECK(
      when_text(*find_preset("zero2")) ==
      "gradients are reduced after every micro-batch; updated weights are gathered once per step");
  CHECK(where_text(*find_preset("sp")) == "activations on T (with D)");
  CHECK(when_text(*find_preset("full_shard")) ==
        "weights are gathered before use and freed after, in both passes; gradients are reduced "
        "after every micro-batch");
}

// Layouts of Wq while held, of its gradient between micro-batches, of its update.
TEST_CASE("stages of ZeRO cut one role more each") {
  struct Row {
    std::vector<PresetSpec> presets;
    std::string held, gradient, optimizer;
  };
  const std::string whole_wq = "[D, N, H]", cut = "[D_X, N, H]";
  const std::vector<Row> rows = {
      {{preset("no_shard", {"X"})}, whole_wq, whole_wq, whole_wq},
      {{preset("zero1", {"X"})}, whole_wq, whole_wq, cut},
      {{preset("zero2", {"X"})}, whole_wq, cut, cut},
      {{preset("zero3", {"X"})}, cut, cut, cut},
      {{preset("shard_grad_op", {"X"})}, cut, cut, cut},
      {{preset("hsdp", {"P", "X"})}, cut, cut, cut},
      {{preset("zero1", {"P"}), preset("fsdp", {"X"})}, cut, cut, "[D_{XP}, N, H]"},
      {{preset("zero1", {"X"}), preset("tp", {"Y"})},
       "[D, N_Y, H]",
       "[D, N_Y, H]",
       "[D_X, N_Y, H]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.presets.front().preset);
    std::vector<Problem> problems;
    Layer layer;
    const Layouts result = layouts(row.presets, kMesh, {}, layer, problems);
    REQUIRE(messages(problems).empty());
    const TensorLayout& wq = result.tensors[static_cast<std::size_t>(layer.tensor("Wq"))];
    CHECK(to_text(wq.held) == row.held);
    CHECK(to_text(wq.gradient) == row.gradient);
    CHECK(to_text(wq.optimizer) == row.optimizer);
  }
}

TEST_CASE("when copies are freed and gradients reduced") {
  struct Row {
    std::vector<PresetSpec> presets;
    bool weight_again, activation_again, each_microbatch;
  };
  const PresetSpec fsdp = preset("fsdp", {"X"}), tp = preset("tp", {"Y"}), sp = preset("sp", {});
  const std::vector<Row> rows = {
      {{preset("dp", {"X"})}, false, false, false},
      {{fsdp}, true, false, true},
      {{preset("no_sync", {}), fsdp}, true, false, false},
      {{preset("shard_grad_op", {"X"})}, false, false, true},
      {{preset("shard_grad_op", {"X"}), preset("no_sync", {})}, false, false, false},
      {{preset("hsdp", {"P", "X"})}, true, false, true},
      {{preset("sync", {}), preset("dp", {"X"})}, false, false, true},
      {{preset("zero1", {"X"}), preset("sync", {})}, false, false, true},
      {{fsdp, tp, sp}, true, false, true},
      {{fsdp, tp, preset("regather", {}), sp}, true, true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    std::vector<Problem> problems;
    Layer layer;
    const Layouts result = layouts(row.presets, kMesh, {}, layer, problems);
    REQUIRE(messages(problems).empty());
    CHECK(result.regathers(layer, layer.tensor("Wq")) == row.weight_again);
    CHECK(result.regathers(layer, layer.tensor("Y1")) == row.activation_again);
    CHECK(result.reduces_each_microbatch("X") == row.each_microbatch);
    CHECK_FALSE(result.reduces_each_microbatch("P"));
  }
}

TEST_CASE("key/value heads over more devices than heads are copied") {
  std::vector<Problem> problems;
  Layer layer;
  const Layouts result = layouts({preset("tp", {"X", "Y"})}, kMesh, {}, layer, problems);
  REQUIRE(messages(problems).empty());  // 4 heads over 4 x 2 devices
  const auto at = [&](const std::string& name) -> const TensorLayout& {
    return result.tensors[static_cast<std::size_t>(layer.tensor(name))];
  };
  CHECK(to_text(at("Wk").held) == "[D, K_X, H]");
  CHECK(to_text(at("Wq").held) == "[D, N_{XY}, H]");
  CHECK(to_text(at("K").held) == "[B, T, K_X, H]");
  CHECK(at("K").gradient.unreduced == std::vector<std::string>{"Y"});
  CHECK(at("Q").gradient.unreduced.empty());
}

}  // namespace
}  // namespace shardsim
