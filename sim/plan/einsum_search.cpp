#include <algorithm>
#include <set>
#include <utility>

#include "plan/einsum_candidates.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostTried = 64;     // combinations; of more, those that a bound leaves, or
constexpr std::size_t kMostBounded = 400;  // of still more, one axis at a time is changed
constexpr std::size_t kAllOrders = 4;      // axes whose every order is tried

// From the first options on, the best option of one axis after the other, until nothing is cheaper.
std::vector<EinsumCandidate> descend(EinsumPlanner& p, std::vector<std::size_t> picks) {
  std::vector<EinsumCandidate> tried;
  try_picks(p, picks, tried);
  for (bool better = true; better;) {
    better = false;
    for (std::size_t a = 0; a < p.axes.size(); ++a) {
      for (std::size_t o = 0; o < p.axes[a].options.size(); ++o) {
        std::vector<std::size_t> other = picks;
        other[a] = o;
        if (p.axes[a].allowed[o]) try_picks(p, other, tried);
        const EinsumCandidate& now = tried[best_of(tried)];
        if (now.refused.empty()) p.limit = now.price();
      }
      const std::vector<std::size_t>& best = tried[best_of(tried)].picks;
      better = better || best != picks;
      picks = best;
    }
  }
  p.limit.reset();
  return tried;
}

std::vector<std::vector<std::size_t>> combinations(const EinsumPlanner& p) {
  std::vector<std::vector<std::size_t>> all = {{}};
  for (const AxisChoice& axis : p.axes) {
    std::vector<std::vector<std::size_t>> longer;
    for (const std::vector<std::size_t>& picks : all) {
      for (std::size_t o = 0; o < axis.options.size(); ++o) {
        if (!axis.allowed[o]) continue;
        longer.push_back(picks);
        longer.back().push_back(o);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// The operands under these picks with the axes of every dim in every order. Dims share no axis, so
// the orders of all axes together give all of them.
std::vector<std::array<Sharding, 2>> all_orders(const EinsumPlanner& p,
                                                const std::vector<std::size_t>& picks) {
  std::vector<std::array<Sharding, 2>> result;
  std::vector<std::size_t> order(p.axes.size());
  for (std::size_t a = 0; a < order.size(); ++a) order[a] = a;
  std::set<std::string> cut;
  std::size_t cutting = 0;
  for (std::size_t a = 0; a < picks.size(); ++a) {
    const std::string& option = p.axes[a].options[picks[a]];
    if (option.empty()) continue;
    cut.insert(option);
    ++cutting;
  }
  const bool several = cut.size() < cutting;  // some dim has more than one axis
  do {
    std::array<Sharding, 2> operands = p.given;
    for (Sharding& operand : operands) {
      for (DimLayout& dim : operand.dims) {
        dim.axes.clear();
        for (const std::size_t a : order) {
          if (p.axes[a].options[picks[a]] == dim.dim) dim.axes.push_back(p.axes[a].axis);
        }
      }
    }
    if (std::find(result.begin(), result.end(), operands) == result.end()) {
      result.push_back(std::move(operands));
    }
  } while (several && std::next_permutation(order.begin(), order.end()));
  return result;
}

// Branch and bound: in the order of their bounds, until a bound exceeds the least price.
void try_bounded(EinsumPlanner& p, const std::vector<std::vector<std::size_t>>& all,
                 std::vector<EinsumCandidate>& tried) {
  std::vector<Sketch> open;
  for (const std::vector<std::size_t>& picks : all) {
    for (const std::array<Sharding, 2>& operands : all_orders(p, picks)) {
      Sketch s = sketch(p, picks, operands);
      if (!too_dear(p, s)) open.push_back(std::move(s));
    }
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const Sketch& a, const Sketch& b) { return a.bound() < b.bound(); });
  for (Sketch& s : open) {
    if (too_dear(p, s)) break;
    const auto known = [&](const EinsumCandidate& c) { return c.operands == s.candidate.operands; };
    if (std::any_of(tried.begin(), tried.end(), known)) continue;
    auto candidate = evaluate(p, std::move(s));
    if (!candidate) continue;
    const bool counts = candidate->refused.empty();
    if (counts && (!p.limit || candidate->price() < *p.limit)) p.limit = candidate->price();
    tried.push_back(*std::move(candidate));
  }
}

}  // namespace

// All combinations of allowed options: each priced where they are few, as a reader may want to see
// them; on meshes of more than two axes, with a free hand, in every order of the axes.
std::vector<EinsumCandidate> candidates(EinsumPlanner& p) {
  std::size_t count = 1;
  std::vector<std::size_t> first;
  for (const AxisChoice& axis : p.axes) {
    count *= static_cast<std::size_t>(std::count(axis.allowed.begin(), axis.allowed.end(), true));
    const auto open = std::find(axis.allowed.begin(), axis.allowed.end(), true);
    first.push_back(static_cast<std::size_t>(open - axis.allowed.begin()));
  }
  const bool few = free_hand(p) && p.axes.size() <= kAllOrders;
  const bool orders = few && p.axes.size() > 2;
  const bool bounded = few && count <= kMostBounded;
  std::vector<EinsumCandidate> tried;
  if (count <= kMostTried) {
    for (const auto& picks : combinations(p)) try_picks(p, picks, tried);
    if (!orders) return tried;
    const EinsumCandidate& best = tried[best_of(tried)];
    if (best.refused.empty()) p.limit = best.price();
  } else if (!bounded) {
    tried = descend(p, std::move(first));
  }
  if (bounded) {
    try_bounded(p, combinations(p), tried);
  } else if (orders) {
    const EinsumCandidate best = tried[best_of(tried)];
    if (best.refused.empty()) p.limit = best.price();
    try_bounded(p, {best.picks}, tried);
  }
  p.limit.reset();
  return tried;
}

// Less price; then, within a tie, fewer FLOPs, fewer bytes, earlier.
std::size_t best_of(const std::vector<EinsumCandidate>& tried) {
  const auto refused = [](const EinsumCandidate& c) { return !c.refused.empty(); };
  const bool none = std::all_of(tried.begin(), tried.end(), refused);
  const auto open = [&](const EinsumCandidate& c) { return none || !refused(c); };
  Seconds least;
  bool any = false;
  for (const EinsumCandidate& c : tried) {
    if (open(c) && (!any || c.price() < least)) least = c.price();
    any = any || open(c);
  }
  std::size_t best = tried.size();
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const EinsumCandidate& c = tried[i];
    if (!open(c) || c.price() > least * (1 + kSamePrice)) continue;
    const bool first = best == tried.size();
    if (first || std::pair(c.flops, c.bytes) < std::pair(tried[best].flops, tried[best].bytes)) {
      best = i;
    }
  }
  return best;
}

bool same_price(const EinsumCandidate& a, const EinsumCandidate& b) {
  return std::max(a.price(), b.price()) <= std::min(a.price(), b.price()) * (1 + kSamePrice);
}

}  // namespace shardsim
