// `shardsim phases`: a list of timed phases on streams, replayed.
#pragma once

#include <string>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct PhaseArguments {
  std::string file, out, format = "text";
};

// Throws ConfigError, or std::runtime_error when a file cannot be written.
void phases_command(const PhaseArguments& args);
Json phases_document(const PhaseArguments& args);

}  // namespace shardsim
