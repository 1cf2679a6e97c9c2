#include "plan/searched_schedules.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/greedy_schedule.h"
#include "plan/v_schedules.h"
#include "plan/v_search.h"

namespace shardsim {

namespace {

constexpr double kRounding = 1 + 1e-12;
constexpr double kCells = 1.5e6;  // simulated for a linear schedule

struct Wanted {
  int chunks = 1;
  bool fused = false, until_weight = false;
  double room = 1;  // micro-batches on a stage
};

// Micro-batches between F and I that a warm-up of `hops` forwards per rank below gives.
std::vector<int> warm_ups(int ranks, int hops) {
  std::vector<int> ahead;
  for (int rank = 0; rank < ranks; ++rank) ahead.push_back(hops * (ranks - rank) - (hops - 1));
  return ahead;
}

// Forwards as soon as there is room for them, in the shape of ZB-H1 or H2; then I; W in the gaps.
FoundSchedule linear(const ScheduleTask& task) {
  FoundSchedule best;
  double left = kCells;
  for (const int hops : {1, 2, 3}) {
    for (const double weight_patience : {0.0, 0.5, 1.0}) {
      for (const bool forward_first : {true, false}) {
        if (best.complete && left < 0) return best;
        const GreedyPolicy policy{forward_first, weight_patience, warm_ups(task.ranks, hops)};
        FoundSchedule found =
            run_greedy(task, policy, best.complete ? best.makespan * kRounding : Seconds{1e300});
        left -= found.cells;
        if (!found.complete) continue;
        const bool shorter = !best.complete || found.makespan * kRounding < best.makespan;
        if (shorter || found.peak < best.peak) best = std::move(found);
      }
    }
  }
  return best;
}

// With half an activation less where that is as short.
FoundSchedule linear_or_smaller(ScheduleTask task) {
  FoundSchedule full = linear(task);
  task.memory -= 1;
  FoundSchedule less = linear(task);
  const bool enough = less.complete && less.makespan <= full.makespan * kRounding;
  return enough ? less : full;
}

Schedule searched(const ScheduleAsk& ask, const Wanted& wanted, const Orders& known) {
  ScheduleTask task{.ranks = ask.ranks,
                    .microbatches = ask.microbatches,
                    .chunks = wanted.chunks,
                    .fused = wanted.fused,
                    .serial = ask.mode == P2pMode::serial,
                    .costs = ask.costs,
                    .until_weight = wanted.until_weight};
  const double room = ask.memory_limit > 0 ? ask.memory_limit : wanted.room;
  task.memory = static_cast<int>(std::floor(2 * wanted.chunks * room + 1e-9));
  const FoundSchedule best = wanted.chunks == 1 ? linear_or_smaller(task) : search_v(task, known);
  must(best.complete, "room for one micro-batch is enough");
  Schedule schedule{.microbatches = task.microbatches,
                    .chunks = task.chunks,
                    .placement = task.chunks == 1 ? Placement::linear : Placement::v};
  for (const auto& order : best.orders) schedule.programs.push_back({order, {}});
  return schedule;
}

}  // namespace

Schedule zb_auto_1p(const ScheduleAsk& ask) {
  return searched(ask, {.room = static_cast<double>(ask.ranks)}, {});
}

Schedule zb_auto_2p(const ScheduleAsk& ask) {
  return searched(ask, {.room = 2.0 * ask.ranks}, {});
}

Schedule zbv_auto(const ScheduleAsk& ask) {
  Orders hand_made;
  if (ask.memory_limit == 0)
    for (const RankProgram& program : zb_v(ask).programs) hand_made.push_back(program.cells);
  return searched(ask, {.chunks = 2, .until_weight = true, .room = static_cast<double>(ask.ranks)},
                  hand_made);
}

Schedule v_half(const ScheduleAsk& ask) {
  return searched(ask, {.chunks = 2, .until_weight = true, .room = ask.ranks / 2 + 1.0}, {});
}

Schedule v_min(const ScheduleAsk& ask) {
  const double room = (ask.ranks + 4) / 3;
  return searched(ask, {.chunks = 2, .until_weight = true, .room = room}, {});
}

Schedule v_1f1b(const ScheduleAsk& ask) {
  const double room = 2 * ask.ranks / 3 + 1.0;
  return searched(ask, {.chunks = 2, .fused = true, .until_weight = true, .room = room}, {});
}

}  // namespace shardsim
