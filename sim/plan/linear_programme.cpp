#include "plan/linear_programme.h"

#include <algorithm>
#include <cstddef>

#include "base/must.h"

namespace shardsim {

namespace {

constexpr double kNothing = 1e-11;  // what rounding leaves of 0

using Row = std::vector<double>;  // [the limit, slacks, variables]

// Whether row a, over its value in column `in`, comes before row b: by limit, then by slack, so
// that no corner comes twice (the lexicographic rule of Dantzig, Orden and Wolfe 1955).
bool tighter(const Row& a, const Row& b, std::size_t in, std::size_t slacks) {
  for (std::size_t c = 0; c <= slacks; ++c) {
    const double left = a[c] / a[in], right = b[c] / b[in];
    if (left != right) return left < right;
  }
  return false;
}

void subtract(const Row& pivot, std::size_t in, Row& from) {
  const double factor = from[in];
  if (factor == 0) return;
  for (std::size_t c = 0; c < from.size(); ++c) from[c] -= factor * pivot[c];
}

}  // namespace

std::vector<double> maximise(const std::vector<std::vector<double>>& rows,
                             const std::vector<double>& limits,
                             const std::vector<double>& objective) {
  const std::size_t slacks = rows.size(), first = 1 + slacks;
  std::vector<Row> table;
  std::vector<std::size_t> basis;  // [rows] the column that each row gives the value of
  for (std::size_t r = 0; r < slacks; ++r) {
    Row row(first, 0.0);
    row[0] = limits[r];
    row[1 + r] = 1;
    row.insert(row.end(), rows[r].begin(), rows[r].end());
    table.push_back(std::move(row));
    basis.push_back(1 + r);
  }
  Row gain(first, 0.0);
  gain.insert(gain.end(), objective.begin(), objective.end());
  while (true) {
    const auto in =
        static_cast<std::size_t>(std::max_element(gain.begin() + 1, gain.end()) - gain.begin());
    if (gain[in] <= kNothing) break;
    std::size_t out = slacks;
    for (std::size_t r = 0; r < slacks; ++r) {
      if (table[r][in] <= kNothing) continue;
      if (out == slacks || tighter(table[r], table[out], in, slacks)) out = r;
    }
    must(out < slacks, "the objective is bounded");
    const double pivot = table[out][in];
    for (double& value : table[out]) value /= pivot;
    for (std::size_t r = 0; r < slacks; ++r)
      if (r != out) subtract(table[out], in, table[r]);
    subtract(table[out], in, gain);
    basis[out] = in;
  }
  std::vector<double> x(objective.size());
  for (std::size_t r = 0; r < slacks; ++r)
    if (basis[r] >= first) x[basis[r] - first] = std::max(0.0, table[r][0]);
  return x;
}

}  // namespace shardsim
