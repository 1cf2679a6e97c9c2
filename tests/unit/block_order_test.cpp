// Orders of the rows of a sequence: every row once, and the scores that a causal mask leaves each
// device, counted.
#include "plan/block_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace shardsim;

namespace {

// Scores of every device: a row sees what is before it and half of itself.
std::vector<double> scores(const std::vector<int>& order, int devices) {
  std::vector<double> result(static_cast<std::size_t>(devices));
  const std::size_t each = order.size() / result.size();
  for (std::size_t row = 0; row < order.size(); ++row) result[row / each] += order[row] + 0.5;
  return result;
}

TEST_CASE("an order of blocks has every row once, and the busiest device has the stated excess") {
  for (const BlockOrder order : {BlockOrder::in_order, BlockOrder::zigzag}) {
    for (int devices = 1; devices <= 8; ++devices) {
      for (const int piece : {1, 3}) {
        CAPTURE(static_cast<int>(order));
        CAPTURE(devices);
        CAPTURE(piece);
        const int length = 2 * devices * piece;
        const std::vector<int> rows = positions(order, length, devices);
        CHECK(std::set<int>(rows.begin(), rows.end()).size() == static_cast<std::size_t>(length));
        CHECK(*std::min_element(rows.begin(), rows.end()) == 0);
        CHECK(*std::max_element(rows.begin(), rows.end()) == length - 1);
        const std::vector<double> each = scores(rows, devices);
        double all = 0;
        for (const double one : each) all += one;
        CHECK(*std::max_element(each.begin(), each.end()) / (all / devices) ==
              doctest::Approx(causal_imbalance(order, devices)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("zigzag: device i has piece i and piece 2n-1-i") {
  CHECK(positions(BlockOrder::zigzag, 8, 2) == std::vector<int>{0, 1, 6, 7, 2, 3, 4, 5});
  CHECK(causal_imbalance(BlockOrder::in_order, 4) == doctest::Approx(1.75).epsilon(1e-12));
}

}  // namespace
