// read: a tree of Nodes into a RunSpec, as the table of fields says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/fields.h"
#include "spec/table.h"

namespace shardsim {

// Reads `root`, a whole file of the kind "run", "chip", "model", "block" or "sweep". Appends a
// problem for every unknown or missing key and for every value that is not what its field's type
// says; values that are good are stored all the same.
void read_fields(std::string_view file, const Node& root, RunSpec& into, Problems& problems);

// One value that is no map, as its field's type says; nothing, and a problem, when it is not so.
// `name`: as the user reads it.
std::optional<decltype(Value::data)> read_value(const Field& field, const NodeEntry& entry,
                                                const std::string& name, Problems& problems);

// The same of a map, or a list of maps, into `into`, with all that is in it.
void read_maps(const Field& field, const NodeEntry& entry, const std::string& name, RunSpec& into,
               Problems& problems);

}  // namespace shardsim
