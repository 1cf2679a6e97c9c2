// Plans of a statement in words: what moves, what it costs, and how much more than the one taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/sharded_layer.h"
#include "plan/price.h"

namespace shardsim {

// "all-gather A over X".
std::string move_text(const ShardedCollective& c);
// "slice B over X; then all-reduce C over X", "multiply, then all-reduce C over X", "nothing
// moves": what happens before and after the verb.
std::string plan_text(const std::vector<std::string>& before, std::string_view verb,
                      const std::vector<std::string>& after);

// The bytes that a price stands for where no bandwidth is known.
std::optional<Bytes> link_bytes(const PriceBook& prices, Seconds price);
// "costs 293.6 us more", "puts 56 B less through the busiest link"; `than`: "more" or "less".
std::string more_text(const PriceBook& prices, Seconds difference, std::string_view than);

// "all-gather A over X: 587.2 us; it costs 293.6 us more".
std::string to_text(const PricedPlan& plan);
// "587.2 us", or without a bandwidth "56 B through the busiest link".
std::string price_text(const PricedPlan& plan);

}  // namespace shardsim
