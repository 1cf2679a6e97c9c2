// What the tests of sharding share: small layers from text, and sums over their collectives.
#pragma once

#include <doctest/doctest.h>

#include <string>
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

struct Case {
  ModelSpec model;
  BatchSpec batch;
  Mesh mesh;
  std::vector<PresetSpec> presets;
  std::vector<std::string> tensors;
  Precision precision;
  std::string recompute = "none";
};

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
  const ShardInput input{s.layer, s.layouts, c.mesh, c.precision, find_recompute(c.recompute)};
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
