// Which points of a search are worth a replay: bounds, the best so far, and what follows for the
// others.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "sweep/result_columns.h"
#include "sweep/sweep_spec.h"

namespace shardsim {

// What is compared: the step, or what it costs; less is better. Nothing when a figure is missing.
std::optional<double> score_of(Objective objective, const PointResult& result, ResultFigure time);

struct BoardEntry {
  std::uint64_t point = 0;
  bool known = false;  // it has a row
  PointStatus status = PointStatus::failed;
  // By its plan; by the ideal engine, where that was asked; replayed.
  std::optional<double> floor = {}, ideal = {}, score = {};
  bool mine = true;  // false: of another shard, known for its floor
};

// The score of the last of the best `top`; infinite while there are fewer.
class Best {
 public:
  explicit Best(int top) : top_(static_cast<std::size_t>(top)) {}
  void add(double score);
  double last() const;

 private:
  std::size_t top_;
  std::priority_queue<double> scores_;  // the worst on top
};

// Whether a bound proves that a point is not among the best. Bounds and replays round differently.
inline bool proven_worse(double bound, double last) {
  return bound * (1 - 1e-9) > last;
}

// Screened entries by floor; ties by number. `keep`: only so many of them, the share rounded up.
// Those of other shards count among that share, and are left out in the end.
std::vector<std::size_t> replay_order(const std::vector<BoardEntry>& entries,
                                      std::optional<double> keep);

// What becomes of the entries in the end: a bound above the last of the best is a proof, whether or
// not the point was replayed; what is left screened was dropped by choice. What else is known of
// them depends on who was ahead of whom, so it is forgotten.
struct Settled {
  std::vector<std::size_t> by_floor;   // these are proven by their plan: no operations are kept
  std::vector<std::size_t> by_ideal;   // these by the ideal engine: no replay is kept
  std::vector<std::size_t> by_choice;  // these are not proven
};
Settled settle(const SearchSpec& search, std::vector<BoardEntry>& entries);

}  // namespace shardsim
