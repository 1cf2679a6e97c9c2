// Fields by their dotted path, as --set and sweeps write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/fields.h"
#include "spec/table.h"

namespace shardsim {

// The row of a run file that a path means: "cluster.topology.levels.ib.size" is
// cluster.topology.levels.[].size. nullptr: none, or a map that has only fields in it.
const Field* run_field(std::string_view path);

// "did you mean parallel.tp?", or nothing.
std::string nearest_run_field(std::string_view path);

// Appends what is wrong with a value of the field, and with what is in it. Names of files and of
// tables are checked by others.
void check_value(const Field& field, const std::string& name, const Node& value,
                 Problems& problems);

// A number for formulas: of a quantity in its base unit, true is 1; nothing of other texts.
std::optional<double> number_of(const Field* field, const Node& value);

}  // namespace shardsim
