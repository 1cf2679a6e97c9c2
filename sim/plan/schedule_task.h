// What a schedule is searched for, and what was found.
#pragma once

#include <vector>

#include "ir/peak_activations.h"
#include "ir/schedule.h"

namespace shardsim {

// One chunk per rank (linear) or two (V).
struct ScheduleTask {
  int ranks = 1, microbatches = 1, chunks = 1;
  bool fused = false;   // B in one cell
  bool serial = false;  // one transfer at a time from rank to rank
  CellCosts costs = {};
  ActivationRoom room = {};  // of chunk activations, on each rank
};

using Orders = std::vector<std::vector<Cell>>;  // [ranks]

struct FoundSchedule {
  bool complete = false;  // false: given up at a limit, or stuck for want of memory
  Seconds makespan = {};
  Seconds sum =
      {};  // of the ends of all backwards: of equal makespans, the lower is nearer a shorter one
  Seconds span = {};  // the longest of a rank, from its first cell to its last
  double cells = 0;   // simulated
  Orders orders = {};
};

}  // namespace shardsim
