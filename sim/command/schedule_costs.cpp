#include "command/schedule_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "command/arguments.h"

namespace shardsim {

namespace {

Seconds time_of(const char* option, const std::optional<std::string>& given,
                std::vector<Problem>& problems) {
  return given ? quantity(option, *given, parse_seconds, problems) : Seconds{};
}

void require_backward(const ScheduleArguments& args, std::vector<Problem>& problems) {
  const bool halves = args.backward_input && args.backward_weight;
  const bool any_half = args.backward_input || args.backward_weight;
  if (args.backward ? !any_half : halves) return;
  std::string found = "none";
  if (args.backward) {
    found = "both";
  } else if (any_half) {
    found = args.backward_input ? "no --backward-weight" : "no --backward-input";
  }
  problems.push_back(
      {argument_pos("schedule", args.kinds.front()),
       "expected --backward, or --backward-input and --backward-weight, found " + found,
       "for example --backward 2ms, of which each half is 1 ms"});
}

void check_overlapped(const ScheduleArguments& args, const CellCosts& costs,
                      std::vector<Problem>& problems) {
  const Seconds least = std::max(costs.forward, costs.backward);
  if (!args.overlapped || costs.overlapped >= least) return;
  problems.push_back(
      {argument_pos("--overlapped", *args.overlapped),
       fmt::format("expected at least {}, the longer of forward and backward, found {}",
                   to_text(least), to_text(costs.overlapped)),
       "it is the time of a forward and a backward that run together"});
}

}  // namespace

CellCosts StatedCosts::of_cell(int chunks) const {
  if (!per_stage) return costs;
  CellCosts cell = costs;  // transfers are as large as before
  for (Seconds* part : {&cell.forward, &cell.backward_input, &cell.backward_weight, &cell.backward,
                        &cell.overlapped})
    *part = *part / chunks;
  return cell;
}

StatedCosts stated_costs(const ScheduleArguments& args, std::vector<std::string>& assumptions,
                         std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  StatedCosts stated;
  CellCosts& costs = stated.costs;
  if (!args.forward) {
    problems.push_back({argument_pos("schedule", args.kinds.front()),
                        "expected --forward, found none", "for example --forward 1ms"});
  }
  require_backward(args, problems);
  costs.forward = time_of("--forward", args.forward, problems);
  costs.backward = time_of("--backward", args.backward, problems);
  costs.backward_input = time_of("--backward-input", args.backward_input, problems);
  costs.backward_weight = time_of("--backward-weight", args.backward_weight, problems);
  costs.overlapped = time_of("--overlapped", args.overlapped, problems);
  costs.p2p = quantity("--p2p", args.p2p, parse_seconds, problems);
  if (args.cost_per && *args.cost_per != "op" && *args.cost_per != "stage") {
    const std::vector<std::string> names = {"op", "stage"};
    problems.push_back({argument_pos("--cost-per", *args.cost_per),
                        fmt::format("expected what costs are of, found \"{}\"", *args.cost_per),
                        suggestion(*args.cost_per, names)});
  }
  stated.per_stage = args.cost_per == "stage";
  stated.overlap_given = args.overlapped.has_value();
  if (problems.size() != before) return stated;
  if (args.backward) {
    costs.backward_input = costs.backward_weight = costs.backward / 2;
    assumptions.push_back("the two halves of a backward, I and W, take half of it each");
  } else {
    costs.backward = costs.backward_input + costs.backward_weight;
  }
  if (!args.overlapped) costs.overlapped = costs.forward + costs.backward;
  check_overlapped(args, costs, problems);
  return stated;
}

}  // namespace shardsim
