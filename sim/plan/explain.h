// explain: what the sharding engine decided, with shapes, bytes, prices and reasons; nothing is
// simulated. Cases and collectives: JAX Scaling Book ch. 3; prices: the closed forms of
// algorithms.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/explanation.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "plan/cost.h"
#include "plan/prepare.h"
#include "spec/run_spec.h"

namespace shardsim {

// What an argument is explained on.
struct ExplainSetting {
  Cluster cluster;  // no axes: one device
  Mesh mesh;
  std::vector<NamedDim> dims;
  std::string dtype = "bf16";
  std::string order = "row-major";  // or innermost-first: the first mesh axis is minor
  std::string on_ambiguity;         // error, choose, or empty: as a run file without it
  std::string idle_axes = "leave";  // or use
  bool priced = false;              // a bandwidth is known
  std::string chip;                 // of a statement: its name and
  std::optional<ChipRates> rates;   // what it computes at; none: no seconds
  bool default_network = true;      // a torus with one axis per mesh axis, because none was given
};

Explanation explain_run(const RunSpec& spec, const Prepared& run);

// One statement, forward and backward, with the layouts that stand in it. Returns an incomplete
// explanation when it appends problems.
Explanation explain_statement(const Statement& statement, const ExplainSetting& setting,
                              std::vector<Problem>& problems);

// Which block of an array every device holds.
Explanation explain_array(const ArrayExpr& array, const ExplainSetting& setting);

// The steps from one layout to another. Appends problems when the two are not of one array, or when
// `to` has partial sums that `from` lacks.
Explanation explain_reshard(const ArrayExpr& from, const ArrayExpr& to,
                            const ExplainSetting& setting, std::vector<Problem>& problems);

// Keeps the steps of one pass ("forward", "backward", "both") and of the statement that makes
// `made` (empty: all).
void keep_steps(Explanation& explanation, const std::string& pass, const std::string& made);

}  // namespace shardsim
