#include "plan/axis_phases.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/linear_programme.h"

namespace shardsim {

namespace {

using Orders = std::vector<std::vector<int>>;

constexpr std::size_t kMostPieces = 256;  // that are weighed against each other
constexpr std::size_t kMorePhases = 4;    // than axes
constexpr double kSmallestShare = 1e-9;

std::vector<int> counted(std::size_t count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

// Empty when there are too many.
Orders all_orders(std::size_t axes) {
  Orders result;
  std::vector<int> order = counted(axes);
  do {
    if (result.size() == kMostPieces) return {};
    result.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

// Every choice of as many phases as there are axes.
Orders choices(std::size_t phases, std::size_t axes) {
  Orders result;
  std::vector<bool> taken(phases, false);
  std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(axes), true);
  do {
    result.emplace_back();
    for (std::size_t p = 0; p < phases; ++p)
      if (taken[p]) result.back().push_back(static_cast<int>(p));
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return result;
}

struct Axes {
  std::vector<int> sizes;
  std::vector<double> rates;

  bool operator<(const Axes& other) const {
    return std::tie(sizes, rates) < std::tie(other.sizes, other.rates);
  }
};

// The least time of all: every axis busy all the time.
double bound(const Axes& axes) {
  double ranks = 1;
  for (const int size : axes.sizes) ranks *= size;
  return (ranks - 1) / std::accumulate(axes.rates.begin(), axes.rates.end(), 0.0);
}

// Turns the problem round: the largest array in a sum of phases that is the bound, so that
// gathering nothing is allowed. Variables: the pieces' shares, then the lengths of the phases.
struct Programme {
  std::vector<std::vector<double>> rows;  // phase by phase, its axes; then the sum of the phases
  std::vector<double> limits, objective;

  Programme(const Axes& axes, const PhasedPieces& pieces, std::size_t phases)
      : rows(phases * axes.sizes.size() + 1, std::vector<double>(pieces.size() + phases)),
        limits(rows.size()),
        objective(pieces.size() + phases) {
    const std::size_t k = axes.sizes.size();
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      double before = 1;
      for (std::size_t s = 0; s < k; ++s) {
        const auto a = static_cast<std::size_t>(pieces[p].order[s]);
        const auto phase = static_cast<std::size_t>(pieces[p].phases[s]);
        rows[phase * k + a][p] = (axes.sizes[a] - 1) * before / axes.rates[a] / bound(axes);
        before *= axes.sizes[a];
      }
      objective[p] = 1;
    }
    for (std::size_t row = 0; row + 1 < rows.size(); ++row) rows[row][pieces.size() + row / k] = -1;
    std::fill(rows.back().begin() + static_cast<std::ptrdiff_t>(pieces.size()), rows.back().end(),
              1.0);
    limits.back() = 1;
  }
};

struct Weighed {
  PhasedPieces pieces;
  double gathered = 0;  // in the time of the bound; 1: all of it
};

Weighed weighed(const Axes& axes, const Orders& orders, std::size_t phases) {
  PhasedPieces all;
  for (const std::vector<int>& order : orders)
    for (const std::vector<int>& when : choices(phases, order.size())) all.push_back({order, when});
  const Programme programme(axes, all, phases);
  const std::vector<double> x = maximise(programme.rows, programme.limits, programme.objective);
  Weighed result;
  for (std::size_t p = 0; p < all.size(); ++p) result.gathered += x[p];
  double sum = 0;
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (x[p] < kSmallestShare * result.gathered) continue;
    result.pieces.push_back(all[p]);
    result.pieces.back().share = x[p];
    sum += x[p];
  }
  for (PhasedPiece& piece : result.pieces) piece.share /= sum;
  return result;
}

std::vector<PhasedPieces> weighed_gathers(const Axes& axes) {
  const std::size_t k = axes.sizes.size();
  const Orders rotated = rotated_orders(k);
  Orders all = all_orders(k);
  if (all.empty()) all = rotated;
  Weighed last = weighed(axes, rotated, k);
  std::vector<PhasedPieces> result = {last.pieces};
  for (std::size_t phases = k; phases <= k + kMorePhases; ++phases) {
    if (last.gathered > 1 - kSmallestShare) break;
    if (all.size() * choices(phases, k).size() > kMostPieces) break;
    const Weighed next = weighed(axes, all, phases);
    if (next.gathered < last.gathered * (1 + kSmallestShare)) continue;
    result.push_back(next.pieces);
    last = next;
  }
  return result;
}

}  // namespace

std::vector<std::vector<int>> rotated_orders(std::size_t axes) {
  std::vector<std::vector<int>> result(axes);
  for (std::size_t j = 0; j < axes; ++j)
    for (std::size_t s = 0; s < axes; ++s) result[j].push_back(static_cast<int>((j + s) % axes));
  return result;
}

const std::vector<PhasedPieces>& phased_gathers(std::span<const int> sizes,
                                                std::span<const double> rates) {
  thread_local std::map<Axes, std::vector<PhasedPieces>> known;
  const Axes axes{{sizes.begin(), sizes.end()}, {rates.begin(), rates.end()}};
  const auto at = known.find(axes);
  return at != known.end() ? at->second : known.emplace(axes, weighed_gathers(axes)).first->second;
}

}  // namespace shardsim
