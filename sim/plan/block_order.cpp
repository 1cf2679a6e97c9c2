#include "plan/block_order.h"

#include <numeric>

#include "base/must.h"

namespace shardsim {

double causal_imbalance(BlockOrder order, int devices) {
  return order == BlockOrder::zigzag ? 1 : 2 - 1.0 / devices;
}

std::vector<int> positions(BlockOrder order, int length, int devices) {
  std::vector<int> result(static_cast<std::size_t>(length));
  std::iota(result.begin(), result.end(), 0);
  if (order == BlockOrder::in_order) return result;
  must(length % (2 * devices) == 0, "zigzag pieces are equal");
  const int piece = length / (2 * devices);
  for (int row = 0; row < length; ++row) {
    const int device = row / (2 * piece);
    const bool second = row / piece % 2 == 1;
    const int number = second ? 2 * devices - 1 - device : device;
    result[static_cast<std::size_t>(row)] = number * piece + row % piece;
  }
  return result;
}

}  // namespace shardsim
