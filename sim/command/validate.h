// `shardsim validate`: the formula ledger, evaluated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/figures.h"

namespace shardsim {

// As written on the command line.
struct ValidateArguments {
  std::optional<std::string> out, only, rows;
  std::string format = "text";
  bool list = false, regime = false, quiet = false;
};

// Prints what the rows came to; writes files with --out. Throws ConfigError for rows that are wrong
// or have no value, CheckFailed when the program or a record is not as it must be.
void validate_command(const ValidateArguments& args);

// A command of the program, carried out for a figure: nothing is printed or written. Files of the
// source tree are found from any directory.
Outcome execute_command(std::vector<std::string> words);

}  // namespace shardsim
