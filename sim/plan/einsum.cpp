#include "plan/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plan/einsum_candidates.h"
#include "plan/priced_plan.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostListed = 12;

using Names = std::vector<std::string>;

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names new_axes(const Sharding& before, const Sharding& after) {
  Names axes;
  for (const DimLayout& dim : after.dims) {
    for (const std::string& axis : dim.axes) {
      if (before.dim_of_axis(axis) == nullptr) axes.push_back(axis);
    }
  }
  return axes;
}

std::string text_of(const EinsumPlanner& p, const EinsumCandidate& c) {
  Names before, after;
  for (const std::size_t i : {0u, 1u}) {
    const Names sliced = new_axes(p.given[i], c.operands[i]);
    if (!sliced.empty()) {
      before.push_back(fmt::format("slice {} over {}", p.name(i), fmt::join(sliced, ", ")));
    }
    for (const ShardedCollective& move : c.in[i].steps) before.push_back(move_text(move));
  }
  for (const ShardedCollective& move : c.after.steps) after.push_back(move_text(move));
  if (!c.diagonal.empty()) {
    return fmt::format("{}{}multiply the diagonal blocks over {}", fmt::join(before, ", "),
                       before.empty() ? "" : "; then ", fmt::join(c.diagonal, ", "));
  }
  return plan_text(before, "multiply", after);
}

std::string pin_of(const EinsumPlanner& p, const EinsumCandidate& c) {
  if (!c.idle.empty()) return c.idle;
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    if (!p.axes[a].allowed[c.picks[a]]) return p.axes[a].forbids;
  }
  return "";
}

// What decided between two plans of one price.
std::string tie_text(const EinsumCandidate& c, const EinsumCandidate& taken) {
  if (c.flops > taken.flops) {
    return fmt::format("with more FLOPs ({} instead of {}), which decides", to_text(c.flops),
                       to_text(taken.flops));
  }
  if (c.bytes > taken.bytes) {
    return fmt::format(
        "with as many FLOPs but more bytes (V together {} instead of {}), which "
        "decides",
        to_text(c.bytes), to_text(taken.bytes));
  }
  return "with as many FLOPs and bytes: the first of the two in the order of options is taken";
}

// Why it is not the one taken.
std::string verdict(const EinsumPlanner& p, const EinsumCandidate& c,
                    const EinsumCandidate& taken) {
  if (!c.refused.empty()) return "is refused: " + c.refused;
  const std::string pin = pin_of(p, c);
  std::string difference;
  if (same_price(c, taken)) {
    difference = pin.empty() ? "costs the same, " + tie_text(c, taken) : "costs the same";
  } else if (c.price() < taken.price()) {
    difference = more_text(p.pricing, taken.price() - c.price(), "less");
  } else {
    difference = more_text(p.pricing, c.price() - taken.price(), "more");
  }
  return pin.empty() ? difference : fmt::format("{}; not taken: {}", difference, pin);
}

// EinsumCandidates that differ from the one taken on one axis, presets or not.
void try_neighbours(EinsumPlanner& p, const std::vector<std::size_t>& picks,
                    std::vector<EinsumCandidate>& tried) {
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    for (std::size_t o = 0; o < p.axes[a].options.size(); ++o) {
      std::vector<std::size_t> other = picks;
      other[a] = o;
      if (other != picks && !allowed(p, other)) try_picks(p, other, tried);
    }
  }
}

void list_plans(EinsumPlanner& p, std::size_t taken, std::vector<EinsumCandidate>& tried) {
  const EinsumCandidate best = tried[taken];
  tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(taken));
  for (const EinsumCandidate& c : tried) {
    if (!c.refused.empty() || !same_price(c, best) || c.flops != best.flops) continue;
    const std::string text = text_of(p, c);
    if (text != text_of(p, best) && !has(p.plan.ties, text)) p.plan.ties.push_back(text);
  }
  try_neighbours(p, best.picks, tried);
  std::stable_sort(
      tried.begin(), tried.end(),
      [](const EinsumCandidate& a, const EinsumCandidate& b) { return a.price() < b.price(); });
  if (tried.size() >= kMostListed) tried.resize(kMostListed - 1);
  Seconds least = best.compute;
  for (const EinsumCandidate& c : tried) {
    if (c.diagonal.empty()) least = std::min(least, c.compute);
  }
  const auto row = [&](const EinsumCandidate& c, std::string why) {
    return PricedPlan{
        text_of(p, c), c.communication, std::max(Seconds{}, c.compute - least), c.flops,
        c.bytes,       std::move(why),  link_bytes(p.pricing, c.communication)};
  };
  p.plan.plans.push_back(row(best, "taken"));
  for (const EinsumCandidate& c : tried) p.plan.plans.push_back(row(c, verdict(p, c, best)));
}

// "X cuts B of Y1 and D of Wq".
std::string cut_text(const EinsumPlanner& p, const AxisChoice& choice) {
  const AxisView& v = choice.view;
  if (v.in(0) && v.in(1)) {
    return fmt::format("{} cuts {} of {} and {} of {}", choice.axis, v.dim[0], p.name(0), v.dim[1],
                       p.name(1));
  }
  const std::size_t i = v.in(0) ? 0 : 1;
  return fmt::format("{} cuts the {}dim {} of {} only", choice.axis,
                     v.kind[i] == DimClass::contracted ? "contracted " : "", v.dim[i], p.name(i));
}

int case_of(const EinsumPlanner& p, const std::string& axis) {
  for (const AxisCase& c : p.plan.cases) {
    if (c.axis == axis) return c.number;
  }
  return 1;
}

// Why operands move, axis by axis.
void explain_moves(EinsumPlanner& p) {
  for (const AxisChoice& choice : p.axes) {
    for (const std::size_t i : {0u, 1u}) {
      const std::string* from = p.given[i].dim_of_axis(choice.axis);
      const std::string* to = p.plan.operands[i].dim_of_axis(choice.axis);
      if (from == nullptr) continue;
      std::string what = "is gathered";
      if (to != nullptr && *to != *from) what = fmt::format("moves from {} to {}", *from, *to);
      if (to != nullptr && *to == *from) {
        if (*p.given[i].find(*from) == *p.plan.operands[i].find(*from)) continue;
        what = fmt::format("changes its blocks of {}", *from);
      }
      std::string because = p.plan.plans.size() > 1
                                ? fmt::format("the cheapest of {} plans", p.plan.plans.size())
                                : std::string("nothing else fits");
      if (pinned(p, i, choice.axis)) because = p.in(i).pin_text;
      p.plan.gatherings.push_back(
          {static_cast<int>(i), choice.axis, case_of(p, choice.axis),
           fmt::format("{}; {} {}: {}", cut_text(p, choice), p.name(i), what, because)});
    }
  }
}

void check_unreduced(EinsumPlanner& p) {
  for (const std::size_t i : {0u, 1u}) {
    const Sharding& other = p.given[1 - i];
    for (const std::string& axis : p.given[i].unreduced) {
      const bool twice = has(other.unreduced, axis);
      if (!twice && other.dim_of_axis(axis) == nullptr) continue;
      if (twice) {
        p.plan.errors.push_back(
            fmt::format("{} and {} are both partial sums over {}: the sum of their products over "
                        "the devices is not the product of their sums",
                        p.name(i), p.name(1 - i), axis));
        return;
      }
      p.plan.errors.push_back(
          fmt::format("{0} is a partial sum over {1}: expected {2} whole over {1}, found {2}{3}",
                      p.name(i), axis, p.name(1 - i), to_text(other)));
    }
  }
}

EinsumPlanner planner(const Layer& layer, PriceBook& pricing, const Einsum& einsum) {
  EinsumPlanner p{layer, pricing, einsum, {einsum.in[0].layout, einsum.in[1].layout}, {}, {}, {}};
  p.plan.cases = axis_cases(pricing.mesh(), einsum);
  check_unreduced(p);
  if (!p.plan.errors.empty()) {
    for (Sharding& layout : p.given) layout.unreduced.clear();
  }
  for (const MeshAxis& axis : pricing.mesh().axes) {
    AxisChoice choice = choice_of(p, axis.name);
    if (!choice.options.empty()) p.axes.push_back(std::move(choice));
  }
  return p;
}

// Axes that no layout here uses: a plan that does is never taken, but listed where it is cheaper.
void list_idle(const EinsumPlanner& p, const EinsumCandidate& taken,
               std::vector<EinsumCandidate>& tried) {
  const Einsum& e = p.einsum;
  if (!free_hand(p) || e.freedom != ReshardFreedom::used_axes || !taken.refused.empty()) return;
  Names idle;
  for (const MeshAxis& axis : p.mesh().axes) {
    const auto used = [&](const Sharding& layout) {
      return layout.dim_of_axis(axis.name) != nullptr || has(layout.unreduced, axis.name);
    };
    if (axis.size > 1 && !used(p.given[0]) && !used(p.given[1]) && !used(*e.wish)) {
      idle.push_back(axis.name);
    }
  }
  if (idle.empty()) return;
  Einsum free = e;
  free.freedom = free.in[0].freedom = free.in[1].freedom = ReshardFreedom::any;
  EinsumPlanner all = planner(p.layer, p.pricing, free);
  std::vector<EinsumCandidate> others = candidates(all);
  EinsumCandidate& best = others[best_of(others)];
  if (same_price(best, taken) || best.price() > taken.price()) return;
  best.idle = fmt::format("it uses {}, which the statement leaves idle (idle_axes: use takes it)",
                          fmt::join(idle, ", "));
  tried.push_back(std::move(best));
}

}  // namespace

EinsumPlan plan_einsum(const Layer& layer, PriceBook& pricing, const Einsum& einsum) {
  EinsumPlanner p = planner(layer, pricing, einsum);
  std::vector<EinsumCandidate> tried = candidates(p);
  const std::size_t taken = best_of(tried);
  p.plan.operands = tried[taken].operands;
  p.plan.out = tried[taken].out;
  list_idle(p, tried[taken], tried);
  list_plans(p, taken, tried);
  explain_moves(p);
  return std::move(p.plan);
}

}  // namespace shardsim
