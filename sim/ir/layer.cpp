#include "ir/layer.h"

#include <algorithm>

#include "base/must.h"
#include "base/same_name.h"

namespace shardsim {

int Layer::dim_size(std::string_view name) const {
  const auto it = std::find_if(dims.begin(), dims.end(),
                               [&](const NamedDim& dim) { return same_name(dim.name, name); });
  must(it != dims.end(), "every dim of a layer has a size");
  return it->size;
}

int Layer::tensor(std::string_view name) const {
  const auto it = std::find_if(tensors.begin(), tensors.end(),
                               [&](const LayerTensor& t) { return same_name(t.name, name); });
  return it == tensors.end() ? -1 : static_cast<int>(it - tensors.begin());
}

std::vector<int> Layer::dim_sizes(int tensor) const {
  std::vector<int> sizes;
  for (const std::string& dim : tensors[static_cast<std::size_t>(tensor)].dims) {
    sizes.push_back(dim_size(dim));
  }
  return sizes;
}

double Layer::elements(int tensor) const {
  double product = 1;
  for (const int size : dim_sizes(tensor)) product *= size;
  return product;
}

double Layer::parameters() const {
  double sum = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role == TensorRole::parameter) sum += elements(static_cast<int>(i));
  }
  return sum;
}

}  // namespace shardsim
