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
constexpr double kWorth = 0.5;  // of a forward, that half an activation has to gain
constexpr Seconds kNever{1e300};
constexpr double kCells = 1.5e6;  // simulated for a linear schedule

struct Wanted {
  int chunks = 1;
  bool fused = false;
  ActivationRoom room = {};
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
      for (const bool forward_first : {true, false}) {
        for (const double weight_patience : {0.0, 0.5, 1.0})
          trial({forward_first, weight_patience, false, ahead}, shape);
        trial({forward_first, 1.0, true, ahead}, shape);
      }
    }
    std::stable_sort(shapes.begin(), shapes.end(), [&](const Candidate& a, const Candidate& b) {
      return better(a.found, b.found);
    });
    for (Candidate& shape : shapes)
      while (shape.found.complete && step(shape)) continue;
    const auto best = std::min_element(
        shapes.begin(), shapes.end(),
        [&](const Candidate& a, const Candidate& b) { return better(a.found, b.found); });
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
    if (!better(found, at.found)) return false;
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
    if (better(hand_made, best)) best = std::move(hand_made);
  }
  best = improved(task, best.orders, kImproved);
  ScheduleTask smaller = task;
  smaller.room.weighted -= 1;
  FoundSchedule less = LinearSearch(smaller).run();
  if (less.complete) less = improved(smaller, less.orders, kImproved);
  if (less.complete && less.makespan <= best.makespan * kRounding &&
      less.span <= best.span * kRounding + task.costs.forward * kWorth)
    best = std::move(less);
  return trimmed(task, best.orders, kTrimmed);
}

Orders orders_of(const Schedule& schedule) {
  Orders orders;
  for (const RankProgram& program : schedule.programs) orders.push_back(program.cells);
  return orders;
}

// Room for so many micro-batches on a stage.
ActivationRoom stated_room(int chunks, double microbatches) {
  const auto fit = [&](int counted) {
    return static_cast<int>(std::floor(counted * microbatches + 1e-9));
  };
  if (chunks == 1) return {.weighted = fit(2)};
  return {.until_weight = fit(chunks)};
}

Schedule searched(const ScheduleAsk& ask, const Wanted& wanted, const std::vector<Orders>& known) {
  ScheduleTask task{.ranks = ask.ranks,
                    .microbatches = ask.microbatches,
                    .chunks = wanted.chunks,
                    .fused = wanted.fused,
                    .serial = ask.mode == P2pMode::serial,
                    .costs = ask.costs,
                    .room = wanted.room};
  if (ask.memory_limit > 0) task.room = stated_room(wanted.chunks, ask.memory_limit);
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
  return searched(ask, {.room = {.weighted = 2 * ask.ranks}}, hand_made(ask));
}

Schedule zb_auto_2p(const ScheduleAsk& ask) {
  const int p = ask.ranks;
  return searched(ask, {.room = {.until_weight = 3 * p - 1, .weighted = 4 * p}}, hand_made(ask));
}

Schedule zbv_auto(const ScheduleAsk& ask) {
  return searched(ask, {.chunks = 2, .room = {.until_weight = 2 * ask.ranks}},
                  {orders_of(zb_v(ask))});
}

Schedule v_half(const ScheduleAsk& ask) {
  return searched(ask, {.chunks = 2, .room = {.until_weight = 2 * (ask.ranks / 2 + 1)}}, {});
}

Schedule v_min(const ScheduleAsk& ask) {
  const int p = ask.ranks, until_weight = 2 * ((p + 4) / 3);
  const int weighted = 2 * ((2 * p + 6) / 3);
  return searched(ask, {.chunks = 2, .room = {.until_weight = until_weight, .weighted = weighted}},
                  {});
}

Schedule v_1f1b(const ScheduleAsk& ask) {
  const int until_weight = 2 * (2 * ask.ranks / 3 + 1);
  return searched(ask, {.chunks = 2, .fused = true, .room = {.until_weight = until_weight}}, {});
}

}  // namespace shardsim
