// One way to compute a statement while it is compared with others: what moves before and after it,
// in words, and what that and the compute cost.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "ir/sharded_layer.h"
#include "plan/price.h"
#include "plan/reshard.h"

namespace shardsim {

struct PlanCandidate {
  std::vector<std::string> before, after;
  Seconds communication, compute;
  Flops flops;
  Bytes bytes;

  Seconds price() const { return communication + compute; }
};

// The moves of a reshard, `texts` being `before` or `after` of the candidate.
void add_moves(const ReshardPlan& plan, std::vector<std::string>& texts, PlanCandidate& c);

// By price, then by bytes.
bool costs_less(const PlanCandidate& a, const PlanCandidate& b);

// Of the candidates, the first of which is taken.
std::vector<PricedPlan> priced_plans(const PriceBook& prices, std::span<const PlanCandidate> tried,
                                     std::string_view verb);

}  // namespace shardsim
