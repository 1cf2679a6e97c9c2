// `shardsim list` and `shardsim example`: the tables, as they are.
#pragma once

#include <string>

namespace shardsim {

// Throws ConfigError for a name that is no table, or no format.
void list_command(const std::string& what, const std::string& format);
void example_command(const std::string& name);

}  // namespace shardsim
