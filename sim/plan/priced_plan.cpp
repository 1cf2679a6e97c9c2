#include "plan/priced_plan.h"

#include <fmt/format.h>

#include <cmath>

namespace shardsim {

std::string move_text(const ShardedCollective& c) {
  const std::string to = c.to_dim.empty() ? "" : " to " + c.to_dim;
  return fmt::format("{} {} over {}{}", to_text(c.kind), c.tensor, fmt::join(c.axes, ", "), to);
}

std::string plan_text(const std::vector<std::string>& before, std::string_view verb,
                      const std::vector<std::string>& after) {
  if (before.empty() && after.empty()) return "nothing moves";
  std::string then;
  if (!after.empty()) then = before.empty() ? fmt::format("{}, then ", verb) : "; then ";
  return fmt::format("{}{}{}", fmt::join(before, ", "), then, fmt::join(after, ", "));
}

std::optional<Bytes> link_bytes(const PriceBook& prices, Seconds price) {
  const std::optional<BytesPerSec> assumed = prices.assumed();
  if (!assumed) return std::nullopt;
  return Bytes{std::round(*assumed * price / Bytes{1} * 1e3) / 1e3};
}

std::string more_text(const PriceBook& prices, Seconds difference, std::string_view than) {
  const std::optional<Bytes> bytes = link_bytes(prices, difference);
  if (!bytes) return fmt::format("costs {} {}", to_text(difference), than);
  return fmt::format("puts {} {} through the busiest link", to_text(*bytes), than);
}

std::string price_text(const PricedPlan& plan) {
  if (plan.link_bytes) return to_text(*plan.link_bytes) + " through the busiest link";
  return to_text(plan.communication + plan.extra_compute);
}

std::string to_text(const PricedPlan& plan) {
  const std::string moves = plan.link_bytes ? price_text(plan) : to_text(plan.communication);
  return fmt::format("{}: {}{}, {} per device; it {}", plan.text, moves,
                     plan.extra_compute > Seconds{}
                         ? fmt::format(" + {} of compute", to_text(plan.extra_compute))
                         : "",
                     to_text(plan.flops), plan.verdict);
}

}  // namespace shardsim
