// `shardsim tornado`: which figure of the hardware matters to a run. Every one is made smaller and
// larger by a share, one at a time; the run is then planned and replayed anew, so that algorithms
// may be chosen otherwise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct TornadoArguments {
  std::string file, by = "10%", grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> set;
  bool full = false, quiet = false;
};

// Throw ConfigError with every problem of the arguments, or else of the file.
void tornado_command(const TornadoArguments& args);
Json tornado_document(const TornadoArguments& args);

}  // namespace shardsim
