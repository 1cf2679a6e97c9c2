// load: the tree of a run file that is already there, RunSpec out.
#pragma once

#include <string>

#include "spec/fields.h"
#include "spec/run_spec.h"

namespace shardsim {

// `name` is the run's when the tree gives none. Throws ConfigError with all problems of all files.
RunSpec load_run(const Node& root, const std::string& name);

}  // namespace shardsim
