// Plans in which distances double or halve from step to step.
//
// Off powers of two the excess ranks are folded in and out: of the first 2 * excess ranks, each
// even one hands what it has to its odd neighbour, the odd ones and the rest (the *cores*, a power
// of two) exchange, and the even ones get the result (Thakur, Rabenseifner, Gropp 2005).
//
//   ranks 0..5, 4 cores:  0 -> 1, 2 -> 3;  cores 1 3 4 5 exchange at distances 1 and 2;  1 -> 0, 3
//   -> 2
//
// A pair exchanges once both are ready. On powers of two, rank -> rank XOR constant maps a plan
// onto itself: one rank's sends stand for all.
#pragma once

#include <vector>

#include "ir/collective_plan.h"
#include "plan/gather.h"

namespace shardsim {

struct Cores {
  explicit Cores(int ranks);
  int rank(int core) const { return core < excess ? 2 * core + 1 : core + excess; }
  // The ranks of cores [0, core), with their excess neighbours.
  int first(int core) const { return core < excess ? 2 * core : core + excess; }

  int count = 1;  // the largest power of two that is at most `ranks`
  int steps = 0;  // log2 of it
  int excess = 0;
};

// Step j: every core swaps all shards that it has with the core at distance 2^j.
CollectivePlan doubling_gather(const PlanFrame& frame);
// Step j: every core swaps its partial sum of the whole array with the core at distance 2^j.
CollectivePlan doubling_all_reduce(const PlanFrame& frame);
// The array is cut in as many pieces as there are cores; they halve what they add up, and double
// what they gather (Rabenseifner's algorithm).
CollectivePlan halving_all_reduce(const PlanFrame& frame);
// No bytes: in round j every rank tells the one 2^j further along an axis; axis after axis.
CollectivePlan dissemination(const PlanFrame& frame);

}  // namespace shardsim
