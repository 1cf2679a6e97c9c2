#include "plan/norm_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/must.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

// The dim that numbers the sums of a row is named for its size: Y.sums[B, T, 2].
std::string dim_of_size(Layer& layer, int size) {
  std::string name = std::to_string(size);
  const bool known = std::any_of(layer.dims.begin(), layer.dims.end(),
                                 [&](const NamedDim& dim) { return dim.name == name; });
  if (!known) layer.dims.push_back({name, size});
  return name;
}

}  // namespace

int sums_per_row(const LayerStatement& norm) {
  if (norm.function == "layernorm") return 2;
  return norm.function == "norm" ? 1 : 0;
}

std::string sums_name(const Layer& layer, const LayerStatement& norm) {
  return layer.tensors[static_cast<std::size_t>(norm.out)].name + ".sums";
}

Sharding parts_of_rows(const Sharding& rows, std::string_view dim, Reduction reduction) {
  Sharding result{{}, {}, reduction};
  for (const DimLayout& layout : rows.dims) {
    if (layout.dim == dim) {
      result.unreduced = layout.axes;
    } else {
      result.dims.push_back(layout);
    }
  }
  return result;
}

int take_norm_apart(Layer& layer, Layouts& layouts, int statement) {
  const auto at = layer.statements.begin() + statement;
  must(at->kind == StatementKind::norm, "what is taken apart is a norm");
  const int count = sums_per_row(*at);
  const LayerTensor& rows = layer.tensors[static_cast<std::size_t>(at->in[0])];
  LayerTensor sums{sums_name(layer, *at), rows.dims, TensorRole::activation, kSumBytes};
  std::erase(sums.dims, at->over_dim);
  sums.dims.push_back(dim_of_size(layer, count));
  LayerStatement sum = *at;
  sum.kind = StatementKind::sums;
  sum.in = {at->in[0]};
  sum.out = static_cast<int>(layer.tensors.size());
  sum.text = fmt::format("{} = sums of {} over {} of {}", sums.name,
                         count == 1 ? "x^2" : "x and x^2", at->over_dim, rows.name);
  at->kind = StatementKind::normalize;
  at->in.insert(at->in.begin() + 1, sum.out);
  const Sharding plain = whole(sums.dims);
  const int tensor = sum.out;
  layouts.tensors.push_back({plain, false, false, plain, plain});
  layer.tensors.push_back(std::move(sums));
  layer.statements.insert(at, std::move(sum));
  return tensor;
}

}  // namespace shardsim
