// `shardsim run` and `shardsim check`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/lower.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/json.h"
#include "report/run.h"
#include "spec/run_spec.h"

namespace shardsim {

// As written on the command line.
struct RunArguments {
  std::string file, out, grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> set;
  std::string tokens;   // of a training, "15e12"; empty: none is asked for
  std::string compare;  // "overlap": three runs beside each other; empty: one run
  std::string svg;      // file of a picture; empty: none
  bool full = false, check = false, trace = false, what_if = false;
  bool gantt = false;   // print the picture although nobody looks at a terminal
  bool quiet = false;   // results only
  std::string command;  // the whole command line, for a shell; shown on pages
};

// A prepared run, lowered and replayed.
struct Simulation {
  LowerOptions lowering;
  const EngineRow* engine = nullptr;
  std::optional<double> tokens;  // of a training
};
Run simulate(const RunSpec& spec, const Prepared& prepared, const Simulation& how);
// The second half of it.
Run replay(const RunSpec& spec, const Prepared& prepared, Lowered lowered, const Simulation& how);

// Writes the reports, prints the table. Throws ConfigError, or std::runtime_error when a file
// cannot be written (checked before the simulation, too).
void run_command(const RunArguments& args);
// summary.json; nothing is written. Throws ConfigError, and CheckFailed when --check
// finds a plan that does not deliver.
Json run_document(const RunArguments& args);

// Loads and prepares; prints that the file is fine. Throws ConfigError.
void check_command(const RunArguments& args);
// What it says, as figures.
Json check_document(const RunArguments& args);

}  // namespace shardsim
