// `sweep --plan`: how many points there are, which rules leave candidates out, what the program
// refuses, and how long the rest will take.
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
  std::size_t timed = 0;                       // valid points that were carried out
  double point_s = 0;                          // one of them took on average, on one core
  double screen_s = 0;                         // its screening; 0: none
};

inline constexpr std::size_t kLookedAt = 200;

SweepPlan plan_sweep(const SweepSpec& spec, const Candidates& candidates, const Simulate& simulate);

std::string plan_text(const SweepSpec& spec, const SweepPlan& plan, int jobs);
Json plan_json(const SweepSpec& spec, const SweepPlan& plan, int jobs);

}  // namespace shardsim
