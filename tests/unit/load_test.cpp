#include "spec/load.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"

using namespace shardsim;

namespace {

std::string run_file(const std::string& name) {
  return data_dir() + "/configs/runs/" + name + ".yaml";
}

RunSpec loaded(std::vector<std::string> overrides) {
  std::vector<Override> changes;
  for (std::string& text : overrides) changes.push_back({std::move(text)});
  return load_run(run_file("dp-ring8"), changes);
}

// What is printed for the run dp-ring8 with these overrides; empty when nothing is wrong.
std::string complaint(std::vector<std::string> overrides) {
  try {
    (void)loaded(std::move(overrides));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

double parameters_of(const ModelSpec& model) {
  const auto size = [&](const std::string& name) {
    for (const AxisSpec& dim : model.dims) {
      if (dim.name == name) return static_cast<double>(dim.size);
    }
    return 0.0;
  };
  const double attention =
      2 * size("D") * size("N") * size("H") + 2 * size("D") * size("K") * size("H");
  const double layer = attention + 3 * size("D") * size("F") + 2 * size("D");
  return model.layers * layer + 2 * size("V") * size("D") + size("D");
}

}  // namespace

TEST_CASE("load: the main example, field by field") {
  const RunSpec run = load_run(run_file("llama3-70b-v5p-64"));
  CHECK(run.name.value == "llama3-70b, 64 TPU v5p, FSDP x TP");
  CHECK(run.chip_spec.name == "tpu-v5p");
  CHECK(run.chip_spec.memory_capacity.v == 95.0 * 1024 * 1024 * 1024);
  CHECK(run.chip_spec.memory_bandwidth.v == 2765e9);
  CHECK(run.chip_spec.link_bandwidth.value.v == 100e9);
  REQUIRE(run.chip_spec.peak.size() == 2);
  CHECK(run.chip_spec.peak[0].first == "bf16");
  CHECK(run.chip_spec.peak[0].second.v == 459e12);
  CHECK(run.variant.value == "nominal");
  CHECK(run.topology.kind.value == "torus");
  CHECK(run.topology.text == "torus:4x4x4");
  REQUIRE(run.topology.axes.size() == 3);
  CHECK(run.topology.axes[2].name == "z");
  CHECK(run.topology.axes[2].size == 4);
  CHECK(run.topology.bandwidth.value.v == 100e9);
  CHECK(run.topology.latency.value.v == 1e-6);
  CHECK_FALSE(run.topology.efficiency.given);
  CHECK(run.topology.efficiency.value == 1);
  REQUIRE(run.mesh.axes.size() == 2);
  CHECK(run.mesh.axes[0].name == "X");
  CHECK(run.mesh.axes[0].axes.size() == 2);
  CHECK(run.mesh.axes[1].axes[0].value == "z");
  CHECK(run.model_spec.name == "llama3-70b");
  CHECK(run.model_spec.layers == 80);
  CHECK(run.model_spec.statements.size() == 13);
  CHECK(run.layers.value == 1);
  CHECK(run.batch.global.value == 64);
  CHECK(run.batch.length.value == 8192);
  CHECK_FALSE(run.batch.micro.given);
  CHECK(run.precision.optimizer.value == "fp32");
  REQUIRE(run.sharding.size() == 3);
  CHECK(run.sharding[0].preset == "fsdp");
  CHECK(run.sharding[0].axes[0].value == "X");
  CHECK(run.sharding[2].flag.value);
  CHECK(run.sharding[2].axes.empty());
}

TEST_CASE("load: a statement's position is that of its first character") {
  const ModelSpec model = load_model("llama3-8b");
  for (const Chosen<std::string>& statement : model.statements) {
    CAPTURE(statement.value);
    const std::string_view text = statement.pos.source->text;
    std::size_t at = 0;
    for (int line = 1; line < statement.pos.line; ++line) at = text.find('\n', at) + 1;
    at += static_cast<std::size_t>(statement.pos.column - 1);
    CHECK(text.substr(at, statement.value.size()) == statement.value);
    CHECK(statement.pos.length == static_cast<int>(statement.value.size()));
  }
}

TEST_CASE("load: every chip, model and run in the repository") {
  CHECK(chip_names().size() == 17);
  for (const std::string& name : chip_names()) {
    CAPTURE(name);
    const ChipSpec chip = load_chip(name);
    CHECK(chip.name == name);
    CHECK(chip.peak.front().first == "bf16");
    CHECK(chip.memory_bandwidth.v > 1e11);
    for (const ChipVariant& variant : chip.variants) {
      CHECK(variant.compute * variant.memory * variant.link < 1);
      CHECK(!variant.source.empty());
    }
  }
  CHECK(model_names().size() >= 5);
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const ModelSpec model = load_model(name);
    CHECK(model.name == name);
    CHECK(model.dims.size() >= 2);
    CHECK(model.statements.size() >= 3);
    // Exact: these are integers below 2^53.
    if (model.parameters > 0) CHECK(parameters_of(model) == model.parameters);
  }
  CHECK(run_names().size() >= 4);
  for (const std::string& name : run_names()) {
    CAPTURE(name);
    CHECK_NOTHROW((void)load_run(run_file(name)));
  }
}

TEST_CASE("load: files of chips, models and blocks that have changed are read anew") {
  const auto folder = std::filesystem::temp_directory_path() / "shardsim_load_test";
  std::filesystem::create_directories(folder);
  int minutes = 100;  // ago: a file that has just been written is read every time
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = (folder / name).string();
    std::ofstream(path) << text;
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes--));
    return path;
  };
  const auto chip = [&](const std::string& capacity) {
    const std::string path =
        write("chip.yaml", "peak: {bf16: 100 TFLOP/s}\nmemory_capacity: " + capacity +
                               " GiB\nmemory_bandwidth: 1 TB/s\n");
    CHECK(load_chip(path).name == "chip");
    return load_chip(path).memory_capacity.v / (1024 * 1024 * 1024);
  };
  CHECK(chip("40") == 40);
  CHECK(chip("80") == 80);
  CHECK(chip("100") == 100);
  const auto block = [&](const std::string& function) {
    write("block.yaml", "statements:\n  - \"H[B, T, D] = " + function + "(In[B, T, D])\"\n");
  };
  const auto statement = [&](const std::string& path) {
    CHECK(load_model(path).dims.size() == 1);
    return load_model(path).statements.front().value;
  };
  block("gelu");
  const std::string path = write("model.yaml", "layers: 2\ndims: {D: 8}\nblock: ./block.yaml\n");
  CHECK(statement(path) == "H[B, T, D] = gelu(In[B, T, D])");
  CHECK(load_model(path).layers == 2);
  block("silu");
  CHECK(statement(path) == "H[B, T, D] = silu(In[B, T, D])");
  write("model.yaml", "layers: 3\ndims: {D: 8}\nblock: ./block.yaml\n");
  CHECK(statement(path) == "H[B, T, D] = silu(In[B, T, D])");
  CHECK(load_model(path).layers == 3);
  std::filesystem::remove(folder / "block.yaml");
  CHECK_THROWS_AS((void)load_model(path), ConfigError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("load: the Megatron layer's activation is 64 MiB") {
  const RunSpec run = load_run(run_file("megatron-ring8"));
  int width = 0;
  for (const AxisSpec& dim : run.model_spec.dims) width = dim.name == "D" ? dim.size : width;
  const double bytes = dtype_bytes(run.precision.activations.value);
  CHECK(bytes * run.batch.global.value * run.batch.length.value * width == 64.0 * 1024 * 1024);
}

TEST_CASE("load: --set replaces, adds, and spells a short topology out") {
  const RunSpec run =
      loaded({"layers=4", "batch.micro=2", "mesh.Y=[x]", "cluster.topology=torus:4x2",
              "cluster.topology.link.bandwidth='50 GB/s'", "sharding={fsdp: [X, Y]}",
              "tensors=[\"Wo[N, H, D_X]\"]", "precision.weights=fp8", "mesh.order=row-major"});
  CHECK(run.layers.value == 4);
  CHECK(run.batch.micro.value == 2);
  CHECK(run.mesh.axes.size() == 2);
  CHECK(run.mesh.order.value == "row-major");
  CHECK(run.topology.text == "torus:4x2");
  CHECK(run.topology.bandwidth.value.v == 50e9);
  REQUIRE(run.sharding.size() == 1);
  CHECK(run.sharding[0].axes.size() == 2);
  CHECK(run.tensors[0].value == "Wo[N, H, D_X]");
  CHECK(run.precision.weights.value == "fp8");
  CHECK(loaded({"layers=2", "layers=3"}).layers.value == 3);
  CHECK(loaded({"cluster.variant=measured"}).variant.value == "measured");
}

TEST_CASE("load: problems of --set point into the argument") {
  struct Row {
    std::string set, want;
  };
  const std::vector<Row> rows{
      {"layers", "--set:1:1: expected path=value such as batch.global=32\n  layers\n  ^~~~~~"},
      {"=3", "--set:1:1: expected path=value such as batch.global=32\n  =3\n  ^~"},
      {"a..b=3", "--set:1:1: expected path=value such as batch.global=32\n  a..b=3\n  ^~~~~~"},
      {"layers=", "--set:1:1: layers: expected a count, found nothing\n  layers=\n  ^~~~~~~"},
      {"layers=010",
       "--set:1:8: layers: expected a whole number of at least 1, found \"010\" (a leading zero)\n"
       "  layers=010\n         ^~~"},
      {"batch.globl=3",
       "--set:1:7: unknown key \"globl\" in batch; expected global, micro or length\n"
       "  batch.globl=3\n        ^~~~~\n  did you mean \"global\"?"},
      {"cluster.topology.link.bandwith=1 GB/s",
       "--set:1:23: unknown key \"bandwith\" in cluster.topology.link; expected bandwidth, latency "
       "or efficiency\n  cluster.topology.link.bandwith=1 GB/s\n                        ^~~~~~~~\n"
       "  did you mean \"bandwidth\"?"},
      {"moe.kind=1f1b",
       "--set:1:1: \"moe\" is not available in this version\n  moe.kind=1f1b\n  "
       "^~~"},
      {"cluster={chip: h100-sxm}",
       "--set:1:1: missing key \"topology\" in cluster\n  cluster={chip: h100-sxm}\n  ^~~~~~~\n"
       "  topology: a short name such as torus:4x4x4, a name from configs/topologies, a path to a "
       ".yaml, or {kind, axes, link} or {levels}"},
      {"model.layers=3",
       "--set:1:7: model: expected a name, found a map\n  model.layers=3\n        ^~~~~~"},
      {"mesh={X: [x}",
       "--set:1:12: this is not YAML: illegal flow end\n  mesh={X: [x}\n            "
       " ^"},
      {"cluster.topology=torus:4x",
       "--set:1:26: expected a whole number of at least 1, found nothing\n"
       "  cluster.topology=torus:4x\n                           ^\n"
       "  topologies read ring:8 or torus:4x4x4"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.set);
    CHECK(complaint({row.set}) == row.want);
  }
}

TEST_CASE("load: topologies by short name") {
  const auto parse = [](const std::string& text, std::vector<Problem>& problems) {
    return parse_topology(text, argument_pos("--topology", text), problems);
  };
  std::vector<Problem> problems;
  const TopologySpec torus = parse("torus:4x2x1x3x5", problems);
  REQUIRE(torus.axes.size() == 5);
  CHECK(torus.axes[3].name == "w");
  CHECK(torus.axes[4].name == "a4");
  CHECK(torus.axes[4].size == 5);
  CHECK(parse("switch:8", problems).axes[0].name == "n");
  CHECK(parse("ring-oneway:8", problems).kind.value == "ring-oneway");
  CHECK(problems.empty());
  for (const std::string bad : {"", "ring", ":8", "ring:", "ring:0", "ring:8x", "torus:x4",
                                "ring:-4", "ring:4 x4", "torus:100000x100000"}) {
    CAPTURE(bad);
    std::vector<Problem> found;
    CHECK(parse(bad, found).kind.value == "");
    CHECK(!found.empty());
  }
}

TEST_CASE("load: names that are not there") {
  CHECK_THROWS_WITH_AS((void)load_chip("h100"),
                       "expected a chip from configs/chips, found \"h100\"\n"
                       "  did you mean h100-sxm?",
                       ConfigError);
  CHECK_THROWS_WITH_AS((void)load_model("lama3-8b"),
                       "expected a model from models, found \"lama3-8b\"\n"
                       "  did you mean \"llama3-8b\"?",
                       ConfigError);
  CHECK_THROWS_WITH_AS((void)load_model("x/config.json"),
                       "reading a config.json is not available in this version", ConfigError);
  CHECK_THROWS_WITH_AS((void)load_run("nowhere/x.yaml"), "nowhere/x.yaml: no such file",
                       ConfigError);
}
