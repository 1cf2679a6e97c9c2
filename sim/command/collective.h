// `shardsim collective`: one collective, or several at once, beside its closed form.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

// As written on the command line.
struct CollectiveArguments {
  std::string kind, topology, bandwidth, latency = "0", bytes, bytes_per_rank, algorithm = "auto",
                                         over;
  std::string grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> beside;
  int shift = 1;
  bool full = false;
};

// Prints the result. Throws ConfigError with every problem of the arguments.
void collective_command(const CollectiveArguments& args);

}  // namespace shardsim
