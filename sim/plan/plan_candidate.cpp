#include "plan/plan_candidate.h"

#include <algorithm>
#include <tuple>

#include "plan/priced_plan.h"

namespace shardsim {
namespace {

std::string verdict(const PriceBook& prices, const PlanCandidate& c, const PlanCandidate& taken) {
  const bool more = c.price() >= taken.price();
  return more ? more_text(prices, c.price() - taken.price(), "more")
              : more_text(prices, taken.price() - c.price(), "less");
}

}  // namespace

void add_moves(const ReshardPlan& plan, std::vector<std::string>& texts, PlanCandidate& c) {
  for (const ShardedCollective& move : plan.steps) texts.push_back(move_text(move));
  c.communication += plan.price;
  c.bytes += plan.bytes;
}

bool costs_less(const PlanCandidate& a, const PlanCandidate& b) {
  return std::tuple(a.price(), a.bytes) < std::tuple(b.price(), b.bytes);
}

std::vector<PricedPlan> priced_plans(const PriceBook& prices, std::span<const PlanCandidate> tried,
                                     std::string_view verb) {
  Seconds least = tried.front().compute;
  for (const PlanCandidate& c : tried) least = std::min(least, c.compute);
  std::vector<PricedPlan> plans;
  for (const PlanCandidate& c : tried) {
    plans.push_back({plan_text(c.before, verb, c.after), c.communication, c.compute - least,
                     c.flops, c.bytes, plans.empty() ? "taken" : verdict(prices, c, tried.front()),
                     link_bytes(prices, c.communication)});
  }
  return plans;
}

}  // namespace shardsim
