// What a schedule is searched for, and what was found.
#pragma once

#include <limits>
#include <vector>

#include "ir/schedule.h"

namespace shardsim {

// One chunk per rank (linear) or two (V).
struct ScheduleTask {
  int ranks = 1, microbatches = 1, chunks = 1;
  bool fused = false;   // B in one cell
  bool serial = false;  // one transfer at a time from rank to rank
  CellCosts costs = {};
  // Chunk activations that a rank may hold: each counts 2 until I and 1 from there until W, or,
  // with `until_weight`, 2 until W.
  int memory = 2;
  bool until_weight = false;
  int pending = std::numeric_limits<int>::max();  // chunk activations from F to W, besides
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
