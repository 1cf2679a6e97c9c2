// A point, done: loaded, prepared, screened by the ideal engine or replayed, and measured.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "plan/alone_times.h"
#include "plan/lower.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/run.h"
#include "sweep/points.h"
#include "sweep/result_columns.h"

namespace shardsim {

// What the command layer hands down: a prepared and lowered run, replayed by SimGrid.
using Simulate = std::function<Run(const RunSpec&, const Prepared&, Lowered, Grain)>;

// How far a point is taken: prepared; its floor; where screening is on, lowered and its ideal time;
// replayed.
enum class Depth : std::uint8_t { check, screen, replay };

// What a run of a sweep is written as: reads back as the same run from any directory.
std::string run_yaml(const Node& run);

class Evaluator {
 public:
  Evaluator(const SweepSpec& spec, const Candidates& candidates, Simulate simulate)
      : spec_(spec),
        candidates_(candidates),
        simulate_(std::move(simulate)),
        alone_(replay_ideal) {}

  // Never throws for what is wrong with the point (its status says so), only Interrupted.
  // `check`: ok means that it can be prepared. `limit`: a score; a point whose ideal time is proven
  // worse is not replayed, and stays screened.
  PointResult evaluate(std::uint64_t point, Depth depth,
                       double limit = std::numeric_limits<double>::infinity());

 private:
  void simulate(const RunSpec& run, const Candidate& candidate, Depth depth, double limit,
                PointResult& result);
  bool take_bound(const Lowered& lowered, double limit, PointResult& result) const;
  bool lacks_objective(const RunSpec& run, PointResult& result) const;
  bool refuse(const Candidate& candidate, bool all, PointResult& result) const;

  const SweepSpec& spec_;
  const Candidates& candidates_;
  Simulate simulate_;
  PlanMemo plans_;
  AloneTimes alone_;
};

}  // namespace shardsim
