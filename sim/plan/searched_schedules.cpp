#include "plan/searched_schedules.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/greedy_schedule.h"
#include "plan/v_schedules.h"

namespace shardsim {

namespace {

using Orders = std::vector<std::vector<Cell>>;

constexpr double kCells = 3e6;      // simulated in one search
constexpr int kSteps = 6;           // of the period, in which plans are shifted
constexpr double kNearBest = 1.03;  // orders of equal costs this near the best are tried
constexpr std::size_t kMostFollowed = 100;
constexpr double kPatience[] = {0, 0.5, 1};

// The shortest schedule found so far; of equal ones that with the lowest peak.
class Search {
 public:
  Search(const GreedyTask& task, double cells) : task_(task), left_(cells) {
    const double per_rank = task.chunks * task.microbatches * (task.fused ? 2.0 : 3.0);
    cells_ = per_rank * task.ranks;
    const double work =
        task.chunks * task.microbatches * ((task.costs.forward + task.costs.backward) / Seconds{1});
    lowest_ = Seconds{work};
  }

  bool done() const {
    return best_.complete && (left_ < cells_ || best_.makespan <= lowest_ * (1 + 1e-12));
  }

  void trial(const GreedyPolicy& policy) {
    if (done()) return;
    left_ -= cells_;
    const Seconds limit = best_.complete ? best_.makespan * kRounding : Seconds{1e300};
    GreedyResult result = run_greedy(task_, policy, limit * kept_);
    if (!result.complete) return;
    if (kept_ > 1) others_.emplace_back(result.makespan, result.orders);
    const bool shorter = !best_.complete || result.makespan < best_.makespan * (2 - kRounding);
    const bool smaller =
        best_.complete && result.makespan <= best_.makespan * kRounding && result.peak < best_.peak;
    if (shorter || smaller) best_ = std::move(result);
  }

  // Keeps all orders that are not much longer than the best.
  void keep_others() { kept_ = kNearBest; }
  std::vector<Orders> kept() const {
    auto sorted = others_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Orders> orders;
    for (auto& [makespan, order] : sorted) {
      if (makespan > best_.makespan * kNearBest || orders.size() == kMostFollowed) break;
      if (std::find(orders.begin(), orders.end(), order) == orders.end())
        orders.push_back(std::move(order));
    }
    return orders;
  }

  const GreedyTask& task() const { return task_; }
  const GreedyResult& best() const { return best_; }

 private:
  static constexpr double kRounding = 1 + 1e-12;

  GreedyTask task_;
  double left_, cells_ = 0, kept_ = 1;
  Seconds lowest_ = {};
  GreedyResult best_ = {};
  std::vector<std::pair<Seconds, Orders>> others_ = {};
};

// Micro-batches between F and I that a warm-up of `hops` forwards per rank below gives.
std::vector<int> warm_ups(int ranks, int hops) {
  std::vector<int> ahead;
  for (int rank = 0; rank < ranks; ++rank) ahead.push_back(hops * (ranks - rank) - (hops - 1));
  return ahead;
}

// Forwards as soon as there is room for them, in the shape of ZB-H1 or H2; then I; W in the gaps.
void try_linear(Search& search) {
  using enum GreedyWork;
  for (const int hops : {1, 2, 3}) {
    for (const double weight_patience : kPatience) {
      GreedyPolicy policy{.order = {forward0, input0, forward1, input1},
                          .weight_patience = weight_patience,
                          .ahead = warm_ups(search.task().ranks, hops)};
      search.trial(policy);
      policy.order = {input0, forward0, forward1, input1};
      search.trial(policy);
    }
  }
}

// Fixed preferences among the four works of a V.
void try_preferences(Search& search) {
  const GreedyTask& task = search.task();
  const int p = task.ranks;
  std::vector<int> falling;  // as long as a micro-batch is away from each rank
  for (int rank = 0; rank < p; ++rank)
    falling.push_back(std::max(1, task.memory * (2 * p - rank) / (2 * (2 * p + 1))));
  for (const double patience : kPatience) {
    for (const double weight_patience : kPatience) {
      for (const auto& ahead : {std::vector<int>{}, falling}) {
        std::array<GreedyWork, 4> order = {GreedyWork::forward0, GreedyWork::forward1,
                                           GreedyWork::input0, GreedyWork::input1};
        std::rotate(order.begin(), order.begin() + 1, order.end());  // F1 first suits most
        const auto first = order;
        do {
          search.trial({.order = order,
                        .patience = patience,
                        .weight_patience = weight_patience,
                        .ahead = ahead});
          std::next_permutation(order.begin(), order.end());
        } while (order != first);
      }
    }
  }
}

// Waits of micro-batch 0, in parts of the period: before F of the second chunk, before I of it,
// before I of the first, and on every hop of I of the second and of the first.
struct Waits {
  double f1 = 0, i1 = 0, i0 = 0, hop_i1 = 0, hop_i0 = 0;
};

// When the works of micro-batch 0 start if each starts as soon as it can but for these waits;
// micro-batches follow at the rate at which a rank can do them (the building blocks of arXiv
// 2405.15362, section 3).
GreedyPolicy plan_of(const GreedyTask& task, const Waits& waits) {
  const double c = task.costs.p2p / Seconds{1};
  const double f = task.costs.forward / Seconds{1};
  const double i = (task.fused ? task.costs.backward : task.costs.backward_input) / Seconds{1};
  const double w = task.fused ? 0 : task.costs.backward_weight / Seconds{1};
  GreedyPolicy policy{.planned = {}, .period = 2 * (f + i + w)};
  const int last = task.ranks - 1;
  const double hop_i1 = i + c + waits.hop_i1 * policy.period;
  const double hop_i0 = i + c + waits.hop_i0 * policy.period;
  const double f1 = last * (f + c) + f + waits.f1 * policy.period;
  const double i1 = f1 + last * (f + c) + f + waits.i1 * policy.period;
  const double i0 = i1 + last * hop_i1 + i + waits.i0 * policy.period;
  for (int rank = 0; rank < task.ranks; ++rank) {
    for (const double start : {rank * (f + c), f1 + (last - rank) * (f + c),
                               i0 + (last - rank) * hop_i0, i1 + rank * hop_i1})
      policy.planned.push_back(start);
  }
  return policy;
}

void try_plan(Search& search, const GreedyPolicy& plan) {
  for (const double weight_patience : kPatience) {
    GreedyPolicy policy = plan;
    policy.weight_patience = weight_patience;
    for (const double patience : kPatience) {
      policy.patience = patience;
      search.trial(policy);
    }
    policy.strict = true;
    search.trial(policy);
  }
}

void try_plans(Search& search) {
  constexpr double kStep = 1.0 / kSteps;
  constexpr std::pair<int, int> kHops[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}};
  for (const auto& [hop_i1, hop_i0] : kHops) {
    for (int sum = 0; sum <= 3 * (kSteps - 1); ++sum) {  // short waits first
      for (int a = 0; a < kSteps; ++a) {
        for (int b = 0; b < kSteps; ++b) {
          const int c = sum - a - b;
          if (c < 0 || c >= kSteps || search.done()) continue;
          try_plan(search, plan_of(search.task(), {a * kStep, b * kStep, c * kStep, hop_i1 * kStep,
                                                   hop_i0 * kStep}));
        }
      }
    }
  }
}

// Orders that are good where all works take the same time and transfers none.
void try_even_orders(Search& search, double cells) {
  GreedyTask even = search.task();
  even.costs = {Seconds{1}, Seconds{1}, Seconds{1}, Seconds{2}, Seconds{3}, Seconds{0}};
  even.serial = false;
  Search other(even, cells);
  other.keep_others();
  try_preferences(other);
  try_plans(other);
  for (const Orders& orders : other.kept()) {
    GreedyPolicy policy;
    policy.follow = &orders;
    search.trial(policy);
  }
}

struct Wanted {
  int chunks = 1;
  bool fused = false, until_weight = false;
  double room = 1;  // micro-batches on a stage
};

Schedule schedule_of(const GreedyResult& best, const GreedyTask& task) {
  must(best.complete, "room for one micro-batch is enough");
  Schedule schedule{.microbatches = task.microbatches,
                    .chunks = task.chunks,
                    .placement = task.chunks == 1 ? Placement::linear : Placement::v};
  for (const auto& order : best.orders) schedule.programs.push_back({order, {}});
  return schedule;
}

// With half an activation less where that is as short.
Schedule linear(GreedyTask task) {
  Search full(task, kCells / 2);
  try_linear(full);
  task.memory -= 1;
  Search less(task, kCells / 2);
  try_linear(less);
  const bool enough =
      less.best().complete && less.best().makespan <= full.best().makespan * (1 + 1e-12);
  return schedule_of(enough ? less.best() : full.best(), task);
}

Schedule searched(const ScheduleAsk& ask, const Wanted& wanted, const Schedule* hand_made) {
  GreedyTask task{.ranks = ask.ranks,
                  .microbatches = ask.microbatches,
                  .chunks = wanted.chunks,
                  .fused = wanted.fused,
                  .serial = ask.mode == P2pMode::serial,
                  .costs = ask.costs,
                  .until_weight = wanted.until_weight};
  const double room = ask.memory_limit > 0 ? ask.memory_limit : wanted.room;
  task.memory = static_cast<int>(std::floor(2 * wanted.chunks * room + 1e-9));
  if (wanted.chunks == 1) return linear(task);
  Search search(task, kCells);
  Orders orders;
  if (hand_made != nullptr && ask.memory_limit == 0) {
    for (const RankProgram& program : hand_made->programs) orders.push_back(program.cells);
    GreedyPolicy policy;
    policy.follow = &orders;
    search.trial(policy);
  }
  try_preferences(search);
  try_plans(search);
  try_even_orders(search, kCells / 2);
  return schedule_of(search.best(), task);
}

}  // namespace

Schedule zb_auto_1p(const ScheduleAsk& ask) {
  return searched(ask, {.room = static_cast<double>(ask.ranks)}, nullptr);
}

Schedule zb_auto_2p(const ScheduleAsk& ask) {
  return searched(ask, {.room = 2.0 * ask.ranks}, nullptr);
}

Schedule zbv_auto(const ScheduleAsk& ask) {
  const Schedule hand_made = zb_v(ask);
  return searched(ask, {.chunks = 2, .until_weight = true, .room = static_cast<double>(ask.ranks)},
                  &hand_made);
}

Schedule v_half(const ScheduleAsk& ask) {
  return searched(ask, {.chunks = 2, .until_weight = true, .room = ask.ranks / 2 + 1.0}, nullptr);
}

Schedule v_min(const ScheduleAsk& ask) {
  const double room = (ask.ranks + 4) / 3;
  return searched(ask, {.chunks = 2, .until_weight = true, .room = room}, nullptr);
}

Schedule v_1f1b(const ScheduleAsk& ask) {
  const double room = 2 * ask.ranks / 3 + 1.0;
  return searched(ask, {.chunks = 2, .fused = true, .until_weight = true, .room = room}, nullptr);
}

}  // namespace shardsim
