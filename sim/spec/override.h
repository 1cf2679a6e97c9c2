// --set path=value on the tree of a run file.
#pragma once

#include "spec/fields.h"
#include "spec/load.h"

namespace shardsim {

// Puts the value, read as YAML, at its place in the tree; maps on the way are made, and a
// topology's short name becomes a map. Whether the path means anything is found when the tree is
// read.
void apply(const Override& change, Node& root, std::vector<Problem>& problems);

}  // namespace shardsim
