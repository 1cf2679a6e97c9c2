// Schedules by simulation: every rank that is free takes the work that a policy prefers among what
// has arrived and what its memory allows.
#pragma once

#include <array>
#include <vector>

#include "ir/schedule.h"

namespace shardsim {

// What is to be scheduled: one chunk per rank (linear) or two (V).
struct GreedyTask {
  int ranks = 1, microbatches = 1, chunks = 1;
  bool fused = false;   // B in one cell
  bool serial = false;  // one transfer at a time from rank to rank
  CellCosts costs = {};
  // Chunk activations that a rank may hold: each counts 2 until I and 1 from there until W, or,
  // with `until_weight`, 2 until W.
  int memory = 2;
  bool until_weight = false;
};

// Works of a chunk, in the order of a policy's list.
enum class GreedyWork : std::uint8_t { forward0, forward1, input0, input1 };

struct GreedyPolicy {
  std::array<GreedyWork, 4> order = {GreedyWork::input0, GreedyWork::input1, GreedyWork::forward1,
                                     GreedyWork::forward0};
  // A work of lower rank, or a W, is held back for one that is on its way and arrives within this
  // part of its own time.
  double patience = 0, weight_patience = 0;
  // [ranks] micro-batches that may be between F and I on the first chunk.
  std::vector<int> ahead = {};
  // [ranks * 4] when each work of micro-batch 0 is planned, and how long until the next one's; what
  // is planned first is preferred. Empty: `order`.
  std::vector<double> planned = {};
  double period = 0;
  bool strict = false;  // never run a work before one that is planned earlier
  // Orders to keep to, whatever the memory; nullptr: none.
  const std::vector<std::vector<Cell>>* follow = nullptr;
  bool alternate = false;  // after a forward prefer a backward, and the other way round
};

struct GreedyResult {
  bool complete = false;  // false: given up at `limit`, or stuck for want of memory
  Seconds makespan = {};
  int peak = 0;  // largest count of the task's memory
  std::vector<std::vector<Cell>> orders = {};
};

// Gives up when a cell would end after `limit`.
GreedyResult run_greedy(const GreedyTask& task, const GreedyPolicy& policy, Seconds limit);

}  // namespace shardsim
