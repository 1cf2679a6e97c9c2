// `shardsim compare`: what runs wrote, beside each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct CompareArguments {
  std::vector<std::string> paths;  // output directories of `run`, or pages
  std::optional<std::string> out;  // the page to write
  std::string format = "text";
  std::string command;  // the whole command line, for a shell; shown on the page
};

// Prints the table of differences, and writes the page that was asked for. Throws ConfigError for
// what is no output, fewer than two runs or more than six.
void compare_command(const CompareArguments& args);
Json compare_document(const CompareArguments& args);

}  // namespace shardsim
