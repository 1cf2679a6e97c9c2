// The command line: arguments in, a command done. Every command reads its arguments, calls the
// stages in data order (load, prepare, lower, replay, measure, report) and prints; those that
// answer with figures also hand them over, for callers inside the program.
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "report/json.h"

namespace shardsim {

// The arguments are no command (exit status 2); what() says why, in several lines.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Does what the arguments (without the program's name) say. Throws UsageError, and what the
// command throws.
void do_command(std::span<const std::string> arguments);

// What the same arguments print with --format json. Writes and prints nothing. UsageError for
// commands without such a result and for --help.
Json command_document(std::span<const std::string> arguments);

}  // namespace shardsim
