// A tree of nodes as YAML text.
#pragma once

#include <string>

#include "spec/fields.h"

namespace shardsim {

// Reads back as the same tree: keys in their order, one a line; lists and maps without maps in them
// on one line; texts in quotes where YAML would read them otherwise. Comments and aliases are gone.
std::string yaml_text(const Node& root);

// A value on one line: [x, y], {kind: ring}.
std::string flow_text(const Node& value);

}  // namespace shardsim
