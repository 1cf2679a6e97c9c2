// The topology of a run, or one asked for by name: what reading needs beyond single fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "spec/fields.h"
#include "spec/run_spec.h"

namespace shardsim {

inline constexpr int kMostDevices = 1'000'000;  // ids and products of sizes stay inside an int

// Completes run.topology, which read_fields has filled from the tree `root` of a run file: reads
// the short name or file that stands there, names axes, and refuses what does not go together.
void read_topology(const Node& root, RunSpec& run, std::vector<Problem>& problems);

// A topology that is written as a name, as the map that would say the same; nothing when the name
// is no good, which is reported when the tree is read.
std::optional<Node> spelled_out_topology(const Node& name);

}  // namespace shardsim
