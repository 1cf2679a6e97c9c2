// Sharded layers executed on arrays: every device multiplies its blocks, collectives move them, and
// the outputs and all gradients must equal those of one device.
#include <map>
#include <random>

#include "execution.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::Block;
using testing::Case;
using testing::Copy;
using testing::Devices;
using testing::Execution;
using testing::kLlama;
using testing::kParallel;
using testing::mesh;
using testing::messages;
using testing::model;
using testing::preset;
using testing::shard_case;
using testing::Sharded;

// Whole arrays of random numbers for everything that comes from outside.
std::map<std::string, Block> outside(const Layer& layer, const std::string& output) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::map<std::string, Block> result;
  const auto make = [&](const std::string& name, const std::vector<std::string>& dims) {
    Block block = Devices(Mesh{}, layer).empty(0, whole(dims));
    for (double& x : block.data) x = uniform(random);
    result[name] = std::move(block);
  };
  for (const LayerTensor& tensor : layer.tensors) {
    if (tensor.role != TensorRole::activation) make(tensor.name, tensor.dims);
    if (tensor.name == output) make("d" + output, tensor.dims);
  }
  return result;
}

Sharding dual(Sharding layout) {
  layout.unreduced.clear();
  return layout;
}

Execution execute(const Sharded& s, const Mesh& mesh, const std::map<std::string, Block>& given,
                  const std::string& output) {
  Execution execution(s, mesh);
  for (std::size_t t = 0; t < s.layer.tensors.size(); ++t) {
    const std::string& name = s.layer.tensors[t].name;
    if (given.count(name) != 0) execution.give(name, s.result.held[t], given.at(name));
    if (name == output) execution.give("d" + name, dual(s.result.held[t]), given.at("d" + name));
  }
  execution.run();
  return execution;
}

// The largest difference of any block of the value from the same value on one device.
double difference(const Copy& value, const Copy& reference) {
  double worst = 0;
  const Block& all = reference.blocks.front();
  for (const Block& block : value.blocks) {
    for_each(block, [&](const std::vector<int>& i) {
      worst = std::max(worst, std::abs(block.data[block.offset(i)] - all.data[all.offset(i)]));
    });
  }
  return worst;
}

Case small_case(const Mesh& m, std::vector<PresetSpec> presets, std::vector<std::string> tensors) {
  return {model(kLlama, {{"D", 8}, {"F", 8}, {"N", 4}, {"K", 2}, {"H", 2}}),
          batch(8, 4),
          m,
          std::move(presets),
          std::move(tensors),
          {}};
}

constexpr double kTolerance = 1e-9;
constexpr int kRandomTables = 200;

// Every tensor and every gradient of Out's layer, in the layout it is held in.
void check_against(Execution& reference, const Sharded& cut, const Mesh& m,
                   const std::map<std::string, Block>& given) {
  Execution sharded = execute(cut, m, given, "Out");
  for (std::size_t t = 0; t < cut.layer.tensors.size(); ++t) {
    const LayerTensor& tensor = cut.layer.tensors[t];
    CAPTURE(tensor.name);
    const Sharding& held = cut.result.held[t];
    // Partial sums have no value of their own on one device.
    if (held.unreduced.empty()) {
      CHECK(difference(sharded.read(tensor.name, held),
                       reference.read(tensor.name, whole(tensor.dims))) < kTolerance);
    }
    const bool parameter = tensor.role == TensorRole::parameter;
    const std::string gradient = "d" + tensor.name;
    const TensorLayout& layout = cut.layouts.tensors[t];
    if (!parameter && !layout.gradient.unreduced.empty()) continue;  // may stay a partial sum
    CHECK(difference(sharded.read(gradient, parameter ? layout.optimizer : dual(held)),
                     reference.read(gradient, whole(tensor.dims))) < kTolerance);
  }
}

const Mesh kOne = mesh({{"X", 1}, {"Y", 1}, {"P", 1}});

void check_against_one_device(const Sharded& cut, const Mesh& m) {
  static const Sharded plain = shard_case(small_case(kOne, {}, {}));
  static const auto given = outside(plain.layer, "Out");
  static Execution reference = execute(plain, kOne, given, "Out");
  check_against(reference, cut, m, given);
}

TEST_CASE("gradients on one device are derivatives") {
  const Mesh one = mesh({{"X", 1}});
  const Sharded s = shard_case(small_case(one, {}, {}));
  const auto given = outside(s.layer, "Out");
  const auto loss = [&](const std::map<std::string, Block>& inputs) {
    Execution run = execute(s, one, inputs, "Out");
    const Copy out =
        run.read("Out", s.result.held[static_cast<std::size_t>(s.layer.tensor("Out"))]);
    double sum = 0;
    for (std::size_t i = 0; i < out.blocks[0].data.size(); ++i) {
      sum += out.blocks[0].data[i] * inputs.at("dOut").data[i];
    }
    return sum;
  };
  Execution run = execute(s, one, given, "Out");
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

TEST_CASE("sharded layers compute what one device computes") {
  const Mesh cube = mesh({{"X", 2}, {"Y", 2}, {"P", 2}});
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
    Case c = small_case(cube, row.presets, row.tensors);
    c.recompute = row.recompute;
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    check_against_one_device(cut, cube);
  }
}

TEST_CASE("partial sums that pass through linear statements") {
  const Mesh m = mesh({{"X", 2}, {"Y", 2}});
  Case c{model({"P[B,T,F] = In[B,T,D] * Wa[D,F]", "R[B,T,F] = In * Wb[D,F]", "S = P + R",
                "Out[B,T,D] = S * Wc[F,D]"},
               {{"D", 8}, {"F", 4}}),
         batch(4, 4),
         kOne,
         {},
         {},
         {}};
  const Sharded plain = shard_case(c);
  const auto given = outside(plain.layer, "Out");
  Execution reference = execute(plain, kOne, given, "Out");
  c.mesh = m;
  for (const std::string out :
       {"Out[B,T,D]", "Out[B,T_Y,D]", "Out[B_X,T,D]{U_Y}", "Out[B,T,D_X]"}) {
    CAPTURE(out);
    c.tensors = {"In[B_X,T,D_Y]",   "Wa[D_Y,F]",       "Wb[D_Y,F]", "P[B_X,T,F]{U_Y}",
                 "R[B_X,T,F]{U_Y}", "S[B_X,T,F]{U_Y}", out};
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    CHECK(cut.result.steps[3].operands[0].unreduced == std::vector<std::string>{"Y"});
    check_against(reference, cut, m, given);
  }
}

TEST_CASE("attention and feed-forward side by side are reduced together") {
  const Mesh m = mesh({{"X", 2}, {"Y", 2}});
  Case c{model(kParallel, {{"D", 8}, {"F", 8}, {"N", 4}, {"K", 2}, {"H", 2}}),
         batch(4, 4),
         kOne,
         {},
         {},
         {}};
  const Sharded plain = shard_case(c);
  const auto given = outside(plain.layer, "Out");
  Execution reference = execute(plain, kOne, given, "Out");
  c.mesh = m;
  for (const bool cut_positions : {false, true}) {
    CAPTURE(cut_positions);
    c.presets = {preset("fsdp", {"X"}), preset("tp", {"Y"})};
    if (cut_positions) c.presets.push_back(preset("sp", {}));
    const Sharded cut = shard_case(c);
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    check_against(reference, cut, m, given);
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

TEST_CASE("random tables of layouts are refused or compute what one device computes") {
  const Mesh cube = mesh({{"X", 2}, {"Y", 2}, {"P", 2}});
  std::vector<Problem> problems;
  const Case base = small_case(cube, {}, {});
  const Layer layer = make_layer(base.model, base.batch, 8, problems);
  std::mt19937 random(11);
  int computed = 0;
  for (int round = 0; round < kRandomTables; ++round) {
    CAPTURE(round);
    const std::vector<std::string> tables = random_tables(layer, random);
    CAPTURE(tables);
    const Sharded cut = shard_case(small_case(cube, {}, tables));
    if (!cut.problems.empty()) continue;
    ++computed;
    check_against_one_device(cut, cube);
  }
  CHECK(computed > kRandomTables / 20);
}

}  // namespace
}  // namespace shardsim
