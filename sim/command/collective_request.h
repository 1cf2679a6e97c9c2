// What `shardsim collective` is asked for, from its arguments.
#pragma once

#include <string>
#include <vector>

#include "command/collective.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

namespace shardsim {

// What was read, for every size.
struct CollectiveReading {
  const EngineRow* engine = nullptr;
  std::vector<CollectiveRequest> requests;        // [sizes]
  std::vector<std::vector<std::string>> reasons;  // [sizes][calls]
  std::vector<std::string> remarks;  // on V, for sizes that need it: what was added to it, pieces
                                     // of less than a byte
};

// Throws ConfigError with every problem of the arguments, and when there would be too many
// operations.
CollectiveReading read_collective(const CollectiveArguments& args);

}  // namespace shardsim
