#include "plan/algorithm_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardsim {

bool gathers(Collective kind) {
  return kind == Collective::all_gather || kind == Collective::reduce_scatter ||
         kind == Collective::all_reduce;
}

double rounds(Collective kind) {
  return kind == Collective::all_reduce ? 2.0 : 1.0;
}

std::string only_gathers(const CollectiveAsk& ask) {
  if (gathers(ask.kind)) return "";
  return fmt::format("it is for all-gather, reduce-scatter and all-reduce, not {}",
                     to_text(ask.kind));
}

bool star(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
    return axis.wiring == Wiring::star && axis.level == net.axes[0].level;
  });
}

bool levels(const GroupNet& net) {
  return net.axes.front().level != net.axes.back().level;
}

PlanFrame frame(std::string_view name, const GroupNet& net, const std::vector<int>& fold,
                std::vector<double> piece_share) {
  PlanFrame made{std::string(name), net.sizes(), fold, std::move(piece_share)};
  for (const GroupAxis& axis : net.axes) made.walk.push_back(walk_of(axis.wiring));
  return made;
}

CollectivePlan from_gather(Collective kind, const Gather& gather) {
  if (kind == Collective::all_gather) return gather(1);
  const CollectivePlan scatter = mirror(gather(-1));
  if (kind == Collective::reduce_scatter) return scatter;
  return sequence(scatter, gather(1));
}

std::string times(Collective kind, std::string_view formula) {
  return kind == Collective::all_reduce ? fmt::format("2 * [{}]", formula) : std::string(formula);
}

double sends_once(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * (net.ranks() - 1);
}

}  // namespace shardsim
