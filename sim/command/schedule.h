// `shardsim schedule`: pipeline schedules alone, one or several beside each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

// As written on the command line.
struct ScheduleArguments {
  std::vector<std::string> kinds;
  std::optional<std::string> stages, microbatches, chunks, group, memory_limit;
  std::optional<std::string> forward, backward, backward_input, backward_weight, overlapped;
  std::string p2p = "0", p2p_mode = "async", format = "text";
  std::optional<std::string> cost_per, export_file, out, html, svg;
  std::string command;  // the whole command line, for a shell; shown on the page
};

// Prints the result, or returns it. Throws ConfigError with every problem of the arguments.
void schedule_command(const ScheduleArguments& args);
Json schedule_document(const ScheduleArguments& args);

}  // namespace shardsim
