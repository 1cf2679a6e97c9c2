// `shardsim collective`: one collective, or several at once, or one over many sizes, beside its
// closed form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct CollectiveArguments {
  std::string kind, topology, bandwidth, latency, chip, mesh, algorithm = "auto";
  std::optional<std::string> bytes, bytes_per_rank, sweep_bytes, over, shift, root, pieces, window;
  std::string grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> beside;
  bool full = false, check = false, quiet = false;
};

// The result: printed, or as JSON. Throw ConfigError with every problem of the arguments,
// and CheckFailed when --check finds a plan that does not deliver.
void collective_command(const CollectiveArguments& args);
Json collective_document(const CollectiveArguments& args);

}  // namespace shardsim
