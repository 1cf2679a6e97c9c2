// A sweep, carried out: points handed to workers, results into the store.
//
// With `search:` every point is screened first, by its plan (plan/step_floor.h); then points are
// lowered in the order of their floors, until the floor of the next is above what the best take,
// and replayed unless the ideal engine says the same of them. Which points are replayed in the end
// depends on nothing but the sweep: those of which neither bound is above the time of the last of
// the best (a worker that was ahead of that has done something for nothing, which is not kept).
#pragma once

#include <cstdint>
#include <string>

#include "sweep/evaluate.h"
#include "sweep/points.h"
#include "sweep/store.h"

namespace shardsim {

struct Shard {
  int index = 0;  // from 0
  int count = 1;
};

struct SweepOptions {
  std::string db;
  int jobs = 1;
  bool resume = false;
  Shard shard;
  bool quiet = false;
};

// What a database says of its sweep, and that this one says it: throws ConfigError.
std::map<std::string, std::string> facts_of(const SweepSpec& spec, const PointList& list,
                                            const Shard& shard);
void require_same(const Store& store, const std::map<std::string, std::string>& facts);

// Throws ConfigError, std::runtime_error (a full disk), and Interrupted after Ctrl-C: all that was
// done is stored. The store comes back with every point of the shard settled.
Store run_sweep(const SweepSpec& spec, const Candidates& candidates, const PointList& list,
                const SweepOptions& options, const Simulate& simulate);

}  // namespace shardsim
