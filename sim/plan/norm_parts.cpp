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

// A statistic of every row, one number, named for what is normalised.
int add_statistic(Layer& layer, Layouts& layouts, LayerTensor statistic) {
  const Sharding plain = whole(statistic.dims);
  layouts.tensors.push_back({plain, false, false, plain, plain});
  layer.tensors.push_back(std::move(statistic));
  return static_cast<int>(layer.tensors.size()) - 1;
}

std::string_view summed_text(const LayerStatement& norm) {
  if (takes_maximum(norm)) return "exp(x - max)";
  return sums_per_row(norm) == 1 ? "x^2" : "x and x^2";
}

}  // namespace

int sums_per_row(const LayerStatement& norm) {
  return norm.function == "layernorm" ? 2 : 1;
}

bool takes_maximum(const LayerStatement& norm) {
  return norm.function == "softmax";
}

std::string sums_name(const Layer& layer, const LayerStatement& norm) {
  return layer.tensors[static_cast<std::size_t>(norm.out)].name + ".sums";
}

std::string maxima_name(const Layer& layer, const LayerStatement& norm) {
  return layer.tensors[static_cast<std::size_t>(norm.out)].name + ".max";
}

bool shifts_rows(const Layer& layer, int tensor) {
  return std::any_of(layer.statements.begin(), layer.statements.end(), [&](const auto& st) {
    return st.kind == StatementKind::sums && st.in.size() > 1 && st.in[1] == tensor;
  });
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
  const LayerStatement norm = *at;
  const std::string rows = layer.tensors[static_cast<std::size_t>(norm.in[0])].name;
  std::vector<std::string> dims = layer.tensors[static_cast<std::size_t>(norm.in[0])].dims;
  std::erase(dims, norm.over_dim);
  std::vector<LayerStatement> parts;
  if (takes_maximum(norm)) {
    LayerStatement max = norm;
    max.kind = StatementKind::reduce;
    max.function = "max";
    const std::string name = maxima_name(layer, norm);
    max.text = fmt::format("{} = max over {} of {}", name, norm.over_dim, rows);
    max.out = add_statistic(layer, layouts, {name, dims, TensorRole::activation, kStatisticBytes});
    parts.push_back(std::move(max));
  }
  LayerStatement sum = norm;
  sum.kind = StatementKind::sums;
  sum.in = {norm.in[0]};
  const std::string name = sums_name(layer, norm);
  sum.text =
      fmt::format("{} = sums of {} over {} of {}", name, summed_text(norm), norm.over_dim, rows);
  dims.push_back(dim_of_size(layer, sums_per_row(norm)));
  sum.out = add_statistic(layer, layouts, {name, dims, TensorRole::activation, kStatisticBytes});
  at->kind = StatementKind::normalize;
  at->in.insert(at->in.begin() + 1, sum.out);
  if (!parts.empty()) {
    sum.in.push_back(parts.front().out);
    at->in.push_back(parts.front().out);
  }
  const int sums = sum.out;
  parts.push_back(std::move(sum));
  layer.statements.insert(at, parts.begin(), parts.end());
  return sums;
}

}  // namespace shardsim
