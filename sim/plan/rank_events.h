// The clock of a searched pipeline: a rank is asked what to do next when it is free, when something
// arrives for it, and when it asked to be.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "plan/schedule_task.h"

namespace shardsim {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What a rank does next.
struct RankChoice {
  int work = -1;         // below 0: nothing
  double wake = kNever;  // then: when to ask again
};

// What every rank of a search has.
struct RankClock {
  double first = kNever, free_at = 0;  // start of its first work, end of its last
};

class RankEvents {
 public:
  explicit RankEvents(const ScheduleTask& task)
      : serial_(task.serial),
        p2p_(task.costs.p2p / Seconds{1}),
        link_free_(static_cast<std::size_t>(task.ranks) * 2, 0) {
    for (int rank = 0; rank < task.ranks; ++rank) wakes_.emplace(0.0, rank);
  }

  // When what a rank made by `end` is where it is needed; that rank is asked then.
  double deliver(int from, int to, double end) {
    double at = end;
    if (to != from) {
      double& link = link_free_[static_cast<std::size_t>(2 * from + (to > from ? 1 : 0))];
      at = link = (serial_ ? std::max(end, link) : end) + p2p_;
    }
    wakes_.emplace(at, to);
    return at;
  }

  // Asks choose(rank, state, now) and calls perform(rank, state, work, now), which returns the end
  // of the work, until `left` works are done; given up when one ends after `limit`. Fills all of
  // `result` but its orders and sum.
  template <class State, class Choose, class Perform>
  void run(std::vector<State>& ranks, std::size_t left, double limit, FoundSchedule& result,
           Choose choose, Perform perform) {
    double last = 0;
    while (!wakes_.empty() && left > 0) {
      const auto [now, rank] = wakes_.top();
      wakes_.pop();
      State& state = ranks[static_cast<std::size_t>(rank)];
      if (state.free_at > now) continue;
      const RankChoice choice = choose(rank, state, now);
      if (choice.work < 0) {
        if (choice.wake < kNever && choice.wake > now) wakes_.emplace(choice.wake, rank);
        continue;
      }
      state.first = std::min(state.first, now);
      state.free_at = perform(rank, state, choice.work, now);
      ++result.cells;
      if (state.free_at > limit) {
        result = {.cells = result.cells};
        return;
      }
      last = std::max(last, state.free_at);
      wakes_.emplace(state.free_at, rank);
      --left;
    }
    result.complete = left == 0;
    result.makespan = Seconds{last};
    for (const State& state : ranks)
      result.span = std::max(result.span, Seconds{state.free_at - state.first});
  }

 private:
  using Wake = std::pair<double, int>;

  bool serial_;
  double p2p_;
  std::vector<double> link_free_;  // [ranks * 2] up, down
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_ = {};
};

}  // namespace shardsim
