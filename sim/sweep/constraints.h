// Constraints of a search, held against what a point comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "sweep/points.h"
#include "sweep/result_columns.h"
#include "sweep/store.h"

namespace shardsim {

// Why a point does not meet the constraints.
struct BrokenConstraint {
  std::string reason;               // for its row
  std::optional<Problem> no_value;  // the formula has none there (a division by zero): a mistake
};

// The first that does not hold, as far as the figures are known; with `all`, one whose figures are
// not known does not hold either. Nothing: none.
std::optional<BrokenConstraint> broken_constraint(const SweepSpec& spec,
                                                  const Candidates& candidates,
                                                  const Candidate& candidate,
                                                  const PointResult& result, bool all);

// The places in the sweep file where constraints have no value for points of the store, which have
// failed by that; each once, with the first of its points.
std::vector<Problem> constraint_mistakes(const SweepSpec& spec, const Candidates& candidates,
                                         const Store& store);

// "needs 92.3 GiB of 74.51 GiB", "at least" as long as it is not measured; empty: not known.
std::string memory_need_text(const PointResult& result);
// What it needs over what there is.
std::optional<double> memory_need(const PointResult& result);

}  // namespace shardsim
