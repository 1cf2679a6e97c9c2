// read: a tree of Nodes into a RunSpec, as the table of fields says.
#pragma once

#include <string_view>

#include "spec/fields.h"
#include "spec/table.h"

namespace shardsim {

// Reads `root`, a whole file of the kind "run", "chip", "model" or "block". Appends a problem for
// every unknown or missing key and for every value that is not what its field's type says; values
// that are good are stored all the same.
void read_fields(std::string_view file, const Node& root, RunSpec& into, Problems& problems);

}  // namespace shardsim
