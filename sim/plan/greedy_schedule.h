// Linear schedules by simulation: every rank that is free takes the work that a policy prefers
// among what has arrived and what its memory allows.
#pragma once

#include <vector>

#include "plan/schedule_task.h"

namespace shardsim {

struct GreedyPolicy {
  bool forward_first = true;  // of an F and an I that have both arrived
  // A W is held back for a work that is on its way and arrives within this part of its time ...
  double weight_patience = 0;
  bool fair = false;  // ... unless the wait would make this rank the one that has waited longest
  std::vector<int> ahead = {};  // [ranks] micro-batches that may be between F and I
};

// REQUIRES: one chunk per rank. Gives up when a cell would end after `limit`.
FoundSchedule run_greedy(const ScheduleTask& task, const GreedyPolicy& policy, Seconds limit);

}  // namespace shardsim
