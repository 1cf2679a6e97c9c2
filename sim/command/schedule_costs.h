// What a cell costs, from the options of `schedule`.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "command/schedule.h"
#include "ir/schedule.h"

namespace shardsim {

struct StatedCosts {
  CellCosts costs;         // as written: of a cell, or of a whole stage
  bool per_stage = false;  // --cost-per stage
  bool overlap_given = false;

  CellCosts of_cell(int chunks) const;
};

// Appends what is wrong to `problems` and what follows from defaults to `assumptions`.
StatedCosts stated_costs(const ScheduleArguments& args, std::vector<std::string>& assumptions,
                         std::vector<Problem>& problems);

}  // namespace shardsim
