// Sharded layers executed on arrays: every device multiplies its blocks, collectives move them, and the
// outputs and all gradients must equal those of one device.
#include <map>
#include <random>

#include "kernels.h"
#include "sharding.h"

namespace shardsim {
namespace {

using namespace testing;

// One value on all devices, in one layout.
struct Copy {
  Sharding layout;
  std::vector<Block> blocks;  // [devices]
};

class Execution {
 public:
  Execution(const Sharded& s, const Mesh& mesh) : s_(s), devices_(mesh, s.layer) {}

  // Inputs, weights and the gradient of the output, cut from whole arrays.
  void give(const std::string& name, const Sharding& layout, const Block& global) {
    Copy copy{layout, {}};
    for (int d = 0; d < devices_.count(); ++d) copy.blocks.push_back(devices_.slice(d, global, layout));
    store_[name] = {std::move(copy)};
  }

  void run() {
    bool backward = false;
    for (const ShardedStatement& st : s_.result.steps) {
      if (st.pass == Pass::backward && !backward) free_gathered_weights();
      backward = st.pass == Pass::backward;
      for (const ShardedCollective& c : st.before) before(c);
      std::vector<std::vector<Block>> operands;
      for (std::size_t i = 0; i < st.operands.size(); ++i) {
        operands.push_back(read(st.operand_names[i], st.operands[i]).blocks);
      }
      Copy out{st.out, {}};
      for (int d = 0; d < devices_.count(); ++d) {
        std::vector<const Block*> blocks;
        for (const auto& operand : operands) blocks.push_back(&operand[static_cast<std::size_t>(d)]);
        Block block = devices_.empty(d, st.out);
        compute(st, blocks, block);
        out.blocks.push_back(std::move(block));
      }
      if (backward) {
        contribute(st.out_name, std::move(out));
      } else {
        store_[st.out_name].push_back(std::move(out));
      }
      for (const ShardedCollective& c : st.after) after(c, backward);
    }
  }

  // The value in a layout, cut from any copy that allows it; contributions to a gradient are added.
  Copy read(const std::string& name, const Sharding& layout) {
    for (const Copy& copy : gathered_[name]) {
      if (only_slices(copy.layout, layout)) return sliced(copy, layout);
    }
    const bool sums = name.starts_with("d") && store_[name].size() > 1;
    if (sums) return summed(name, layout);
    for (const Copy& copy : store_[name]) {
      if (only_slices(copy.layout, layout)) return sliced(copy, layout);
    }
    CAPTURE(name);
    CAPTURE(to_text(layout));
    REQUIRE_MESSAGE(false, "no copy at hand fits");
    return {};
  }

 private:
  Copy sliced(const Copy& copy, const Sharding& layout) const {
    Copy result{layout, {}};
    for (int d = 0; d < devices_.count(); ++d) {
      result.blocks.push_back(devices_.slice(d, copy.blocks[static_cast<std::size_t>(d)], layout));
    }
    return result;
  }

  Copy summed(const std::string& name, const Sharding& layout) {
    Copy sum;
    for (const Copy& part : store_[name]) {
      CAPTURE(name);
      CAPTURE(to_text(part.layout));
      REQUIRE(only_slices(part.layout, layout));
      const Copy cut = sliced(part, layout);
      if (sum.blocks.empty()) {
        sum = cut;
        continue;
      }
      for (std::size_t d = 0; d < cut.blocks.size(); ++d) {
        for (std::size_t i = 0; i < cut.blocks[d].data.size(); ++i) {
          sum.blocks[d].data[i] += cut.blocks[d].data[i];
        }
      }
    }
    return sum;
  }

  void before(const ShardedCollective& c) {
    const Copy from = read(c.tensor, c.before);
    gathered_[c.tensor].push_back({c.after, devices_.move(c, from.blocks)});
  }

  // Turns the copy (or the contribution) that has the layout, or can be cut to it, into the next one.
  void after(const ShardedCollective& c, bool replaces) {
    std::vector<Copy>& copies = store_[c.tensor];
    const auto exact = [&](const Copy& copy) { return copy.layout == c.before; };
    const auto fits = [&](const Copy& copy) { return only_slices(copy.layout, c.before); };
    auto copy = std::find_if(copies.begin(), copies.end(), exact);
    if (copy == copies.end()) copy = std::find_if(copies.begin(), copies.end(), fits);
    CAPTURE(c.tensor);
    REQUIRE_MESSAGE(copy != copies.end(), "no copy has the layout that a collective starts from");
    Copy moved{c.after, devices_.move(c, sliced(*copy, c.before).blocks)};
    if (replaces) {
      *copy = std::move(moved);
    } else {
      copies.push_back(std::move(moved));
    }
  }

  void contribute(const std::string& name, Copy out) {
    for (Copy& part : store_[name]) {
      if (part.layout != out.layout) continue;
      for (std::size_t d = 0; d < out.blocks.size(); ++d) {
        for (std::size_t i = 0; i < out.blocks[d].data.size(); ++i) {
          part.blocks[d].data[i] += out.blocks[d].data[i];
        }
      }
      return;
    }
    store_[name].push_back(std::move(out));
  }

  void free_gathered_weights() {
    for (std::size_t t = 0; t < s_.layer.tensors.size(); ++t) {
      if (s_.layouts.regathers(s_.layer, static_cast<int>(t))) {
        gathered_[s_.layer.tensors[t].name].clear();
      }
    }
  }

  const LayerStatement& statement_making(const std::string& name) const {
    for (const LayerStatement& st : s_.layer.statements) {
      if (s_.layer.tensors[static_cast<std::size_t>(st.out)].name == name) return st;
    }
    must(false, "a statement makes it");
    return s_.layer.statements.front();
  }

  void compute(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    if (st.kind == StatementKind::einsum) {
      return einsum({names(st.operands[0]), in[0]}, {names(st.operands[1]), in[1]}, names(st.out), out);
    }
    if (st.pass == Pass::forward) return forward(st, in, out);
    backward(st, in, out);
  }

  void forward(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    if (st.kind == StatementKind::norm) return norm(*in[0], *in[1], out);
    if (st.kind == StatementKind::attention) return Attention(*in[0], *in[1], *in[2]).forward(out);
    const std::string& function = statement_making(st.out_name).function;
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      const double x = in[0]->data[i];
      switch (st.kind) {
        case StatementKind::add: out.data[i] = x + in[1]->data[i]; break;
        case StatementKind::gated: out.data[i] = apply(function, x) * in[1]->data[i]; break;
        default: out.data[i] = apply(function, x); break;
      }
    }
  }

  void backward(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    const LayerStatement& made = statement_making(st.operand_names[0].substr(1));
    const auto operand = [&](std::size_t i) {
      return "d" + s_.layer.tensors[static_cast<std::size_t>(made.in[i])].name;
    };
    if (st.kind == StatementKind::norm) {
      if (st.out_name == operand(0)) return norm_input_gradient(*in[0], *in[1], *in[2], out);
      return norm_scale_gradient(*in[0], *in[1], out);
    }
    if (st.kind == StatementKind::attention) {
      Block dq = *in[1], dk = *in[2], dv = *in[3];
      for (Block* block : {&dq, &dk, &dv}) std::fill(block->data.begin(), block->data.end(), 0.0);
      Attention(*in[1], *in[2], *in[3]).backward(*in[0], dq, dk, dv);
      out.data = st.out_name == operand(0) ? dq.data : st.out_name == operand(1) ? dk.data : dv.data;
      return;
    }
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      const double dc = in[0]->data[i];
      if (st.kind == StatementKind::add) {
        out.data[i] = dc;
      } else if (st.kind == StatementKind::gated && st.out_name == operand(1)) {
        out.data[i] = dc * apply(made.function, in[1]->data[i]);
      } else {
        out.data[i] = dc * derivative(made.function, in[1]->data[i]) *
                      (st.kind == StatementKind::gated ? in[2]->data[i] : 1);
      }
    }
  }

  const Sharded& s_;
  Devices devices_;
  std::map<std::string, std::vector<Copy>> store_;     // as made; of gradients, the contributions
  std::map<std::string, std::vector<Copy>> gathered_;  // by collectives before a statement
};

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
  return {model(kLlama, {{"D", 8}, {"F", 8}, {"N", 4}, {"K", 2}, {"H", 2}}), batch(8, 4), m,
          std::move(presets), std::move(tensors), {}};
}

constexpr double kTolerance = 1e-9;
constexpr int kRandomTables = 200;

// Every tensor and every gradient, in the layout it is held in.
void check_against_one_device(const Sharded& cut, const Mesh& m) {
  const Mesh one = mesh({{"X", 1}, {"Y", 1}, {"P", 1}});
  const Sharded plain = shard_case(small_case(one, {}, {}));
  const auto given = outside(plain.layer, "Out");
  Execution sharded = execute(cut, m, given, "Out");
  Execution reference = execute(plain, one, given, "Out");
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
    CHECK(difference(
              sharded.read(gradient, parameter ? cut.layouts.tensors[t].gradient : dual(held)),
              reference.read(gradient, whole(tensor.dims))) < kTolerance);
  }
}

TEST_CASE("gradients on one device are derivatives") {
  const Mesh one = mesh({{"X", 1}});
  const Sharded s = shard_case(small_case(one, {}, {}));
  const auto given = outside(s.layer, "Out");
  const auto loss = [&](const std::map<std::string, Block>& inputs) {
    Execution run = execute(s, one, inputs, "Out");
    const Copy out = run.read("Out", s.result.held[static_cast<std::size_t>(s.layer.tensor("Out"))]);
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
      CHECK(std::abs(gradient.blocks[0].data[element] - expected) < 1e-5 * (1 + std::abs(expected)));
    }
  }
}

TEST_CASE("sharded layers compute what one device computes") {
  const Mesh cube = mesh({{"X", 2}, {"Y", 2}, {"P", 2}});
  struct Row {
    std::string name;
    std::vector<PresetSpec> presets;
    std::vector<std::string> tensors;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, {}},
      {"dp", {preset("dp", {"X"})}, {}},
      {"dp over two axes", {preset("dp", {"P", "X"})}, {}},
      {"fsdp", {preset("fsdp", {"X"})}, {}},
      {"fsdp over two axes", {preset("fsdp", {"Y", "X"})}, {}},
      {"dp and fsdp", {preset("dp", {"P"}), preset("fsdp", {"X"})}, {}},
      {"tp", {preset("tp", {"Y"})}, {}},
      {"tp and sp", {preset("tp", {"Y"}), preset("sp", {})}, {}},
      {"dp and tp", {preset("dp", {"X"}), preset("tp", {"Y"})}, {}},
      {"fsdp and tp and sp", {preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})}, {}},
      {"all", {preset("dp", {"P"}), preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})}, {}},
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
    const Sharded cut = shard_case(small_case(cube, row.presets, row.tensors));
    REQUIRE(messages(cut.problems) == std::vector<std::string>{});
    check_against_one_device(cut, cube);
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
  MESSAGE(computed, " computed");
  CHECK(computed > kRandomTables / 20);
}

}  // namespace
}  // namespace shardsim
