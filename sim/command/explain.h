// `shardsim explain`: what a run file, a statement, an array or a reshard comes to; nothing is
// simulated. The argument decides: a file that exists or ends in .yaml; "A -> B" a reshard; "C = …"
// a statement; "A[…]" an array.
#pragma once

#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line; empty: not given.
struct ExplainArguments {
  std::string subject, mesh, dims, dtype, topology, bandwidth, latency, chip, device_order,
      on_ambiguity, idle_axes, pass, statement;
  std::string format = "text";
  std::vector<std::string> set;
};

// The explanation: printed, or as JSON. Throw ConfigError with every problem of the arguments or of
// the file.
void explain_command(const ExplainArguments& args);
Json explain_document(const ExplainArguments& args);

}  // namespace shardsim
