// What the tests of sharding share: small layers from text, and sums over their collectives.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/backward.h"
#include "plan/cost.h"
#include "plan/make_layer.h"
#include "plan/presets.h"
#include "plan/shard.h"

namespace doctest {
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "\n    " + line;
    return text.c_str();
  }
};
}  // namespace doctest

namespace shardsim::testing {

inline const std::vector<std::string> kLlama = {"Y1 = norm(In[B,T,D], D, Wnorm1[D])",
                                                "Q[B,T,N,H] = Y1[B,T,D] * Wq[D,N,H]",
                                                "K[B,T,K,H] = Y1 * Wk[D,K,H]",
                                                "V[B,T,K,H] = Y1 * Wv[D,K,H]",
                                                "O = attention(Q, K, V, causal)",
                                                "Attn[B,T,D] = O * Wo[N,H,D]",
                                                "X = In + Attn",
                                                "Y2 = norm(X, D, Wnorm2[D])",
                                                "G[B,T,F] = Y2 * Wgate[D,F]",
                                                "U[B,T,F] = Y2 * Win[D,F]",
                                                "H = silu(G) * U",
                                                "Mlp[B,T,D] = H * Wout[F,D]",
                                                "Out = X + Mlp"};

// Attention and feed-forward side by side, as in models/blocks/parallel.yaml.
inline const std::vector<std::string> kParallel = {"Y = norm(In[B,T,D], D, Wnorm[D])",
                                                   "Q[B,T,N,H] = Y[B,T,D] * Wq[D,N,H]",
                                                   "K[B,T,K,H] = Y * Wk[D,K,H]",
                                                   "V[B,T,K,H] = Y * Wv[D,K,H]",
                                                   "O = attention(Q, K, V, causal)",
                                                   "Attn[B,T,D] = O * Wo[N,H,D]",
                                                   "G[B,T,F] = Y * Win[D,F]",
                                                   "H = gelu(G)",
                                                   "Mlp[B,T,D] = H * Wout[F,D]",
                                                   "Both = Attn + Mlp",
                                                   "Out = In + Both"};

inline ModelSpec model(const std::vector<std::string>& statements,
                       const std::vector<std::pair<std::string, int>>& dims) {
  ModelSpec spec;
  spec.name = "test";
  for (const auto& [name, size] : dims) spec.dims.push_back({name, size, {}});
  for (const std::string& line : statements) {
    spec.statements.push_back({line, argument_pos("block", line), true});
  }
  return spec;
}

// D 32, F 48, N 8, K 4, H 4.
inline ModelSpec small_llama() {
  return model(kLlama, {{"D", 32}, {"F", 48}, {"N", 8}, {"K", 4}, {"H", 4}});
}

inline Mesh mesh(const std::vector<std::pair<std::string, int>>& axes) {
  Mesh result;
  for (const auto& [name, size] : axes) {
    result.axes.push_back({name, size, {static_cast<int>(result.axes.size())}});
  }
  return result;
}

// A machine for the mesh: rings along every axis, one cable along an axis of 2.
inline constexpr ChipRates kChip{FlopsPerSec{1e15}, BytesPerSec{3e12}, Seconds{}};

inline PriceBook torus_pricing(Mesh mesh, Wiring wiring = Wiring::ring, Seconds latency = {},
                               ChipRates chip = kChip) {
  constexpr BytesPerSec w1{100e9};
  Cluster cluster;
  for (MeshAxis& axis : mesh.axes) {
    const int index = static_cast<int>(cluster.axes.size());
    axis.axes = {index};
    const bool one_way = axis.size == 2 || wiring == Wiring::ring_oneway;
    cluster.axes.push_back({axis.name, axis.size, axis.size == 2 ? Wiring::pair : wiring, index});
    cluster.ports.push_back({axis.name + "+", index, w1, latency, 1});
    if (!one_way) cluster.ports.push_back({axis.name + "-", index, w1, latency, -1});
  }
  cluster.levels.push_back({});
  return {std::move(cluster), std::move(mesh), chip};
}

inline PresetSpec preset(const std::string& name, const std::vector<std::string>& axes) {
  PresetSpec spec;
  spec.preset = name;
  spec.pos = argument_pos("sharding", name);
  for (const std::string& axis : axes) {
    spec.axes.push_back({axis, argument_pos("axis of " + name, axis), true});
  }
  spec.flag = {axes.empty(), spec.pos, axes.empty()};
  return spec;
}

inline BatchSpec batch(int global, int length) {
  BatchSpec spec;
  spec.global = {global, argument_pos("batch.global", std::to_string(global)), true};
  spec.length = {length, argument_pos("batch.length", std::to_string(length)), true};
  return spec;
}

using Product = std::vector<PresetSpec>;

inline bool names_one_of(const Product& product, std::span<const std::string_view> names) {
  return std::any_of(product.begin(), product.end(), [&](const PresetSpec& spec) {
    const PresetRow& row = *find_preset(spec.preset);
    return std::find(names.begin(), names.end(), row.name) != names.end() ||
           std::find_first_of(row.parts.begin(), row.parts.end(), names.begin(), names.end()) !=
               row.parts.end();
  });
}

// The product with every set of flags that it allows.
inline std::vector<Product> with_flags(const Product& product) {
  std::vector<Product> result = {product};
  for (const PresetRow& row : presets()) {
    if (row.argument != PresetArgument::flag) continue;
    for (std::size_t i = 0, n = result.size(); i < n; ++i) {
      if (!names_one_of(result[i], row.needs)) continue;
      result.push_back(result[i]);
      result.back().push_back(preset(std::string(row.name), {}));
    }
  }
  return result;
}

// Every way to give each mesh axis to one of the presets that take axes, or to none, with and
// without the flags; axes in both orders, presets in both orders.
inline std::vector<Product> all_products(const Mesh& mesh) {
  std::vector<const PresetRow*> takers = {nullptr};
  for (const PresetRow& row : presets()) {
    if (row.argument == PresetArgument::axes) takers.push_back(&row);
  }
  std::vector<Product> result;
  std::size_t choices = 1;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) choices *= takers.size();
  for (std::size_t choice = 0; choice < choices; ++choice) {
    std::map<const PresetRow*, std::vector<std::string>> axes;  // rows lie in one table
    std::size_t rest = choice;
    for (const MeshAxis& axis : mesh.axes) {
      if (const PresetRow* taker = takers[rest % takers.size()]) axes[taker].push_back(axis.name);
      rest /= takers.size();
    }
    const bool enough = std::all_of(axes.begin(), axes.end(), [](const auto& taken) {
      return taken.second.size() >= taken.first->parts.size();
    });
    if (!enough) continue;
    Product product, reversed;
    for (auto& [row, names] : axes) {
      product.push_back(preset(std::string(row->name), names));
      std::reverse(names.begin(), names.end());
      reversed.insert(reversed.begin(), preset(std::string(row->name), names));
    }
    for (const Product& p : {product, reversed}) {
      for (Product& flagged : with_flags(p)) result.push_back(std::move(flagged));
    }
  }
  return result;
}

// One of every set of presets: which axes and orders it gets, the seed decides.
inline std::vector<Product> products(const Mesh& mesh, std::uint32_t seed) {
  std::map<std::set<std::string>, std::vector<Product>> by_names;
  for (Product& product : all_products(mesh)) {
    std::set<std::string> names;
    for (const PresetSpec& spec : product) names.insert(spec.preset);
    by_names[names].push_back(std::move(product));
  }
  std::mt19937 random(seed);
  std::vector<Product> result;
  for (auto& [names, list] : by_names) result.push_back(list[random() % list.size()]);
  return result;
}

// "fsdp: X Y", one line for each.
inline std::vector<std::string> lines(const std::vector<PresetSpec>& presets) {
  std::vector<std::string> result;
  for (const PresetSpec& p : presets) {
    result.push_back(p.preset + ":");
    for (const Chosen<std::string>& axis : p.axes) result.back() += " " + axis.value;
  }
  return result;
}

struct Case {
  ModelSpec model;
  BatchSpec batch;
  Mesh mesh;
  std::vector<PresetSpec> presets;
  std::vector<std::string> tensors;
  Precision precision;
  std::string recompute = "none";
  bool refuse_ties = false;
  bool refuse_clash = false;
  bool use_idle_axes = false;
  std::string attention = "flash";
};

// "A[I_X, J]" over the mesh, and a layer with one array A of as many dims (I, J, K, L, M).
inline ArrayExpr argument_array(const std::string& text, const Mesh& m) {
  std::vector<Problem> problems;
  const auto expr = parse_array(text, argument_pos("array", text), {m.names(), {}}, problems);
  must(expr.has_value(), "the test writes legal arrays");
  return *expr;
}

inline Layer square_layer(int dims, int size) {
  Layer layer;
  LayerTensor a{"A", {}, TensorRole::input};
  for (int d = 0; d < dims; ++d) {
    const std::string name(1, "IJKLM"[d]);
    layer.dims.push_back({name, size});
    a.dims.push_back(name);
  }
  layer.tensors.push_back(std::move(a));
  return layer;
}

struct Sharded {
  Layer layer;
  Layouts layouts;
  std::string recompute;
  ShardedLayer result;
  std::vector<Problem> problems;
};

inline Sharded shard_case(const Case& c, bool with_backward = true) {
  Sharded s;
  s.recompute = c.recompute;
  const BatchSplit split = split_batch(c.batch, c.presets, c.mesh, s.problems);
  s.layer = make_layer(c.model, c.batch, split.sequences, s.problems);
  std::vector<Chosen<std::string>> tensors;
  for (const std::string& text : c.tensors) {
    tensors.push_back({text, argument_pos("tensors", text), true});
  }
  if (s.problems.empty()) {
    s.layouts = make_layouts(c.presets, tensors, s.layer, c.mesh, s.problems);
  }
  if (!s.problems.empty()) return s;
  PriceBook prices = torus_pricing(c.mesh);
  const ShardInput input{s.layer,       s.layouts,      c.mesh,
                         c.precision,   prices,         find_recompute(c.recompute),
                         c.refuse_ties, c.refuse_clash, c.use_idle_axes,
                         find_attention(c.attention)};
  s.result = shard(input, s.problems);
  if (with_backward && s.problems.empty()) append_backward(input, s.result);
  return s;
}

inline std::vector<ShardedCollective> collectives(const ShardedLayer& layer, Pass pass) {
  std::vector<ShardedCollective> result;
  for (const ShardedStatement& step : layer.steps) {
    if (step.pass != pass) continue;
    result.insert(result.end(), step.before.begin(), step.before.end());
    result.insert(result.end(), step.after.begin(), step.after.end());
  }
  return result;
}

// "all-gather Wq over X: [D_X, N, H] -> [D, N, H]", one line for each.
inline std::vector<std::string> lines(const std::vector<ShardedCollective>& collectives) {
  std::vector<std::string> result;
  for (const ShardedCollective& c : collectives) {
    std::string axes;
    for (const std::string& axis : c.axes) axes += axis;
    result.push_back(std::string(to_text(c.kind)) + " " + c.tensor + " over " + axes + ": " +
                     to_text(c.before) + " -> " + to_text(c.after));
  }
  return result;
}

inline std::vector<std::string> messages(const std::vector<Problem>& problems) {
  std::vector<std::string> result;
  for (const Problem& problem : problems) result.push_back(problem.message);
  return result;
}

inline const ShardedStatement& step(const ShardedLayer& layer, const std::string& text) {
  for (const ShardedStatement& s : layer.steps) {
    if (s.text == text) return s;
  }
  must(false, "the test names a step that exists");
  return layer.steps.front();
}

}  // namespace shardsim::testing
