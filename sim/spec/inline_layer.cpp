#include "spec/inline_layer.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace shardsim {
namespace {

// Dims whose sizes a batch gives, too.
struct BatchDim {
  std::string_view dim;
  std::string_view key;
  Chosen<int> BatchSpec::*size;
};
constexpr std::array kBatchDims = {BatchDim{"B", "batch.global", &BatchSpec::global},
                                   BatchDim{"T", "batch.length", &BatchSpec::length}};

void take_dim(const AxisSpec& dim, RunSpec& run, Problems& problems) {
  for (const BatchDim& row : kBatchDims) {
    if (row.dim != dim.name) continue;
    Chosen<int>& size = run.batch.*row.size;
    if (size.given) {
      problems.push_back({dim.pos,
                          fmt::format("expected {} in dims or {}, found both", dim.name, row.key),
                          fmt::format("drop {} from dims", dim.name)});
      return;
    }
    size = {dim.size, dim.pos, true};
    if (row.size == &BatchSpec::global) run.batch.global_key = "dims." + dim.name;
    return;
  }
  run.model_spec.dims.push_back(dim);
}

}  // namespace

void settle_layer(const Node& root, RunSpec& run, Problems& problems) {
  const bool layer = run.layer_pos.source != nullptr;
  if (layer && run.model.given) {
    problems.push_back({run.layer_pos, "expected model or layer, found both", ""});
    return;
  }
  if (!layer) {
    if (run.dims_pos.source == nullptr || root.find("layer") != nullptr) return;
    problems.push_back({run.dims_pos, "expected layer beside dims, found none",
                        "dims are sizes for the statements of layer; a model has its own"});
    return;
  }
  if (run.layer.empty()) {
    problems.push_back({run.layer_pos, "expected statements in layer, found none",
                        "for example - \"C[I_X, K] = A[I_X, J] * B[J, K]\""});
    return;
  }
  ModelSpec& model = run.model_spec;
  model.name = "the layer of this file";
  model.statements = run.layer;
  model.inlined = true;
  model.layers = run.layers.given ? run.layers.value : 1;
  model.pos = run.layer_pos;
  for (const AxisSpec& dim : run.dims) take_dim(dim, run, problems);
}

}  // namespace shardsim
