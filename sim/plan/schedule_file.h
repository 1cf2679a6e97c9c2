// Schedules that users write.
//
//   # a comment, to the end of the line            orders:
//   placement: linear  # so is this                  - F0.0 F1.0 B0.0 B1.0
//   F0.0 F1.0 B0.0 B1.0                              - F0.1 B0.1 F1.1 B1.1
//   F0.1 B0.1 F1.1 B1.1                            placement: linear
//
// A text has one line for each rank; YAML (.yaml, .yml, .json) the list `orders`. The placement may
// be left out where it follows from the cells.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/schedule.h"

namespace shardsim {

// The schedule of a file, named `file:PATH`. Appends what is wrong with it (grammar, works,
// placement, deadlocks), each problem at its place in the file.
Schedule read_schedule_file(const std::string& path, std::vector<Problem>& problems);

// The text of such a file.
std::string schedule_file_text(const Schedule& schedule);

}  // namespace shardsim
