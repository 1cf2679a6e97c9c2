// `shardsim sweep`, `sweep export` and `merge`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct SweepArguments {
  std::string file, format = "text";
  std::optional<std::string> jobs, db, shard, shards, out;
  std::vector<std::string> sbatch;  // options of it
  bool resume = false, plan = false, quiet = false, slurm = false;
};

struct ExportArguments {
  std::string db;
  std::optional<std::string> point;
  bool csv = false, json = false;
};

struct ReportArguments {
  std::string db, html;
};

struct MergeArguments {
  std::string into, format = "text";
  std::vector<std::string> shards;
};

// Throw ConfigError with every problem of the arguments and the file; see sweep/run_sweep.h and
// sweep/merge.h.
void sweep_command(const SweepArguments& args);
Json sweep_document(const SweepArguments& args);
void export_command(const ExportArguments& args);
void report_command(const ReportArguments& args);
void merge_command(const MergeArguments& args);

}  // namespace shardsim
