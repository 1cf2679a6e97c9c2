// `shardsim list` and `shardsim example`: the tables, as they are.
#pragma once

#include <string>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct ListArguments {
  std::string what, format = "text";
};

// Throw ConfigError for a name that is no table, or no format.
void list_command(const ListArguments& args);
Json list_document(const ListArguments& args);
void example_command(const std::string& name);

}  // namespace shardsim
