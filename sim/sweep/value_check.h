// Values of a sweep file that no run can have, whatever the others are: they are told once, where
// they stand, instead of making every point that has them invalid.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "spec/fields.h"
#include "spec/table.h"

namespace shardsim {

// Refuses `value` of the field `path`, which has this row: what its type does not take, names that
// do not exist (of chips, models, networks and their kinds, schedules, algorithms), and files that
// cannot be read. What depends on other fields is left to the points.
void check_axis_value(const Field& row, const std::string& path, const Node& value,
                      std::vector<Problem>& problems);

// Refuses a field whose last key is a name that does not exist: of a collective or a preset.
void check_axis_key(const Field& row, const std::string& path, const SourcePos& pos,
                    std::vector<Problem>& problems);

// The same of what the base of a sweep has in such fields, but for those that are varied.
void check_base_names(const Node& base, const std::function<bool(const std::string&)>& is_varied,
                      std::vector<Problem>& problems);

}  // namespace shardsim
