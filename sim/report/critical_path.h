// The critical path: from the op that ends last back to the start, always to the dependency that
// ended last. Whoever wants the step shorter has to shorten it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/run.h"

namespace shardsim {

// What an op waited for last: of its dependencies the one that ended last, the first of several.
std::optional<OpId> last_awaited(const OpGraph& graph, const Timeline& timeline, OpId op);

// The ops of the path, from the last to the first.
std::vector<OpId> critical_ops(const OpGraph& graph, const Timeline& timeline);

// Its time by kind, longest first; sums to the step. Waiting: no op of the path ran.
std::vector<KindTime> critical_path(const Run& run);

// What computes of one device class take by kind, in the order of the step.
std::vector<KindTime> compute_kinds(const Run& run, std::uint32_t device);

}  // namespace shardsim
