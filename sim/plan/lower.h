// lower: a prepared run becomes ops. Steps run one after the other on every device: the collectives
// before a statement, the statement, the collectives after it; all layers forward, then backward in
// reverse; micro-batch after micro-batch. Nothing overlaps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/op_graph.h"
#include "ir/plan.h"
#include "plan/lower_collective.h"
#include "plan/prepare.h"
#include "spec/run_spec.h"

namespace shardsim {

struct LowerOptions {
  Grain grain = Grain::flow;
  bool full = false;
};

// Of all that the run sends; ranks of its pipeline are kept apart.
Fold fold_of(const Prepared& run, const LowerOptions& options);

// Throws ConfigError when the graph would be too large.
Lowered lower(const RunSpec& spec, const Prepared& run, const LowerOptions& options);

// The collectives of one layer, in the order of Prepared::choices.
std::vector<CollectiveCall> calls_of(const Prepared& run);

// The head of a report: label and text.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts facts_of(const RunSpec& spec, const Prepared& run);

// What the run takes for granted, for reports.
std::vector<std::string> assumptions_of(const RunSpec& spec, const Prepared& run,
                                        const LowerOptions& options);

}  // namespace shardsim
