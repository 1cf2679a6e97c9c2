#include "plan/searched_schedules.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/greedy_schedule.h"
#include "plan/order_improvement.h"
#include "plan/plain_schedules.h"
#include "plan/schedule_choice.h"
#include "plan/v_schedules.h"
#include "plan/v_search.h"

namespace shardsim {

namespace {

constexpr double kRounding = 1 + 1e-12;
constexpr double kImproved = 2e6, kTrimmed = 1e7;  // evaluated for one
constexpr double kWorth = 0.5;             // of a forward, that half an activation has to gain
constexpr double kWorthUntilWeight = 0.1;  // ... more of them until W
constexpr Seconds kNever{1e300};
constexpr double kCells = 1.5e6;  // simulated for a linear schedule

struct Wanted {
  int chunks = 1;
  bool fused = false, until_weight = false;
  double room = 1;  // micro-batches on a stage
};

// Micro-batches between F and I that a warm-up of `hops` forwards per rank below gives.
std::vector<int> warm_up(int ranks, double hops) {
  std::vector<int> ahead;
  for (int rank = 0; rank < ranks; ++rank)
    ahead.push_back(static_cast<int>(std::ceil(hops * (ranks - 1 - rank))) + 1);
  return ahead;
}

// ... and one that lasts until the first gradient is back, but for a part of a forward.
std::vector<int> round_trip(const ScheduleTask& task, double part) {
  std::vector<int> ahead;
  for (int rank = 0; rank < task.ranks; ++rank) {
    const int below = task.ranks - 1 - rank;
    const CellCosts& costs = task.costs;
    const Seconds trip =
        costs.forward * (below + 1) + (costs.backward_input + costs.p2p * 2) * below;
    const double forwards =
        costs.forward > Seconds{0} ? trip / costs.forward : static_cast<double>(task.microbatches);
    ahead.push_back(static_cast<int>(
        std::clamp(std::floor(forwards + part), 1.0, static_cast<double>(task.microbatches))));
  }
  return ahead;
}

// Forwards as soon as there is room for them, in the shape of ZB-H1 or H2, or of what the costs
// leave idle; then I; W in the gaps.
class LinearSearch {
 public:
  explicit LinearSearch(const ScheduleTask& task) : task_(task) {}

  FoundSchedule run() {
    std::vector<Candidate> shapes;
    for (const auto& ahead :
         {warm_up(task_.ranks, 1), warm_up(task_.ranks, 2), round_trip(task_, 0),
          round_trip(task_, 0.5), warm_up(task_.ranks, 1.75), warm_up(task_.ranks, 3)}) {
      Candidate& shape = shapes.emplace_back();
      for (const double weight_patience : {0.0, 0.5, 1.0})
        for (const bool forward_first : {true, false})
          trial({forward_first, weight_patience, ahead}, shape);
    }
    std::stable_sort(shapes.begin(), shapes.end(), [&](const Candidate& a, const Candidate& b) {
      return better(task_, a.found, b.found);
    });
    for (Candidate& shape : shapes)
      while (shape.found.complete && step(shape)) continue;
    const auto best = std::min_element(
        shapes.begin(), shapes.end(),
        [&](const Candidate& a, const Candidate& b) { return better(task_, a.found, b.found); });
    return std::move(best->found);
  }

 private:
  struct Candidate {
    FoundSchedule found = {};
    GreedyPolicy policy = {};
  };

  // Takes what the policy makes where it is better than `at` and no longer than the shortest.
  bool trial(const GreedyPolicy& policy, Candidate& at) {
    if (shortest_ < kNever && left_ < 0) return false;
    FoundSchedule found = run_greedy(task_, policy, shortest_ * kRounding);
    left_ -= found.cells;
    if (!better(task_, found, at.found)) return false;
    shortest_ = std::min(shortest_, found.makespan);
    at = {std::move(found), policy};
    return true;
  }

  // One micro-batch more or less run ahead on a rank.
  bool step(Candidate& at) {
    bool any = false;
    for (std::size_t rank = 0; rank < at.policy.ahead.size(); ++rank) {
      for (const int change : {-1, 1}) {
        GreedyPolicy policy = at.policy;
        policy.ahead[rank] += change;
        any = trial(policy, at) || any;
      }
    }
    return any;
  }

  const ScheduleTask& task_;
  double left_ = kCells;
  Seconds shortest_ = kNever;
};

// The best of those simulated, and of the hand-made ones that fit. Half an activation less where
// that is as short and no rank waits much longer for it: as the authors' schedules do.
FoundSchedule linear(const ScheduleTask& task, const std::vector<Orders>& known) {
  FoundSchedule best = LinearSearch(task).run();
  for (const Orders& orders : known) {
    if (!fits(task, orders)) continue;
    FoundSchedule hand_made = improved(task, orders, 0);
    if (better(task, hand_made, best)) best = std::move(hand_made);
  }
  best = improved(task, best.orders, kImproved);
  // Takes what is found with less room where it is as short.
  const auto prefer = [&](const ScheduleTask& smaller, double worth) {
    FoundSchedule less = LinearSearch(smaller).run();
    if (less.complete) less = improved(smaller, less.orders, kImproved);
    if (!less.complete || less.makespan > best.makespan * kRounding ||
        less.span > best.span * kRounding + task.costs.forward * worth)
      return false;
    best = std::move(less);
    return true;
  };
  ScheduleTask smaller = task;
  smaller.memory -= 1;
  if (!prefer(smaller, kWorth)) smaller.memory += 1;
  smaller.pending = std::max(1, 3 * task.memory / 4 - 1);
  prefer(smaller, kWorthUntilWeight);
  return trimmed(task, best.orders, kTrimmed);
}

Orders orders_of(const Schedule& schedule) {
  Orders orders;
  for (const RankProgram& program : schedule.programs) orders.push_back(program.cells);
  return orders;
}

Schedule searched(const ScheduleAsk& ask, const Wanted& wanted, const std::vector<Orders>& known) {
  ScheduleTask task{.ranks = ask.ranks,
                    .microbatches = ask.microbatches,
                    .chunks = wanted.chunks,
                    .fused = wanted.fused,
                    .serial = ask.mode == P2pMode::serial,
                    .costs = ask.costs,
                    .until_weight = wanted.until_weight};
  const double room = ask.memory_limit > 0 ? ask.memory_limit : wanted.room;
  task.memory = static_cast<int>(std::floor(2 * wanted.chunks * room + 1e-9));
  const FoundSchedule best = wanted.chunks == 1 ? linear(task, known) : search_v(task, known);
  must(best.complete, "room for one micro-batch is enough");
  Schedule schedule{.microbatches = task.microbatches,
                    .chunks = task.chunks,
                    .placement = task.chunks == 1 ? Placement::linear : Placement::v};
  for (const auto& order : best.orders) schedule.programs.push_back({order, {}});
  return schedule;
}

std::vector<Orders> hand_made(const ScheduleAsk& ask) {
  return {orders_of(zb_h1(ask)), orders_of(zb_h2(ask))};
}

}  // namespace

Schedule zb_auto_1p(const ScheduleAsk& ask) {
  return searched(ask, {.room = static_cast<double>(ask.ranks)}, hand_made(ask));
}

Schedule zb_auto_2p(const ScheduleAsk& ask) {
  return searched(ask, {.room = 2.0 * ask.ranks}, hand_made(ask));
}

Schedule zbv_auto(const ScheduleAsk& ask) {
  return searched(ask, {.chunks = 2, .until_weight = true, .room = static_cast<double>(ask.ranks)},
                  {orders_of(zb_v(ask))});
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
