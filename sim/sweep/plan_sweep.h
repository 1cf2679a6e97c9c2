// `sweep --plan`: how many points there are, which rules leave candidates out, what the program
// refuses, and how long the rest will take.
//
// The time is told from samples: points evenly spread are screened, those of them with the lowest
// floors replayed. How far a replay is above its floor says up to which floor a search replays, and
// the sample how many points are below that. Nothing takes long: a replay that does is given up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/json.h"
#include "sweep/evaluate.h"
#include "sweep/points.h"

namespace shardsim {

struct SweepPlan {
  PointList list;
  std::vector<std::string> rules;
  std::size_t looked_at = 0;                   // points that were prepared, evenly spread
  std::map<std::string, std::size_t> invalid;  // of those: by problem
  std::size_t screened = 0;                    // of the valid ones
  std::size_t unfit = 0;                       // of those: break a constraint before a replay
  double screen_s = 0;                         // screening one of them took on average, on one core
  std::size_t timed = 0;                       // points that were replayed
  bool gave_up = false;                        // the last of them took longer than it may here
  double point_s = 0;                          // one of them took on average, on one core
  double screens = 0, replays = 0;             // of the whole sweep, estimated
};

inline constexpr std::size_t kLookedAt = 200;

SweepPlan plan_sweep(const SweepSpec& spec, const Candidates& candidates, const Simulate& simulate,
                     bool quiet);

std::string plan_text(const SweepSpec& spec, const SweepPlan& plan, int jobs);
Json plan_json(const SweepSpec& spec, const SweepPlan& plan, int jobs);

}  // namespace shardsim
