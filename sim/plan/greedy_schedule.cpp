#include "plan/greedy_schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

namespace shardsim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
enum WorkId : int { kForward, kInput, kWeight, kWorks };

struct RankState {
  std::array<int, kWorks> next = {};   // micro-batch of each work
  double first = kNever, free_at = 0;  // start of its first work, end of its last
  int live = 0;
};

// What a rank does next.
struct Choice {
  int work = -1;
  double wake = kNever;  // nothing: when to ask again
};

class Greedy {
 public:
  Greedy(const ScheduleTask& task, const GreedyPolicy& policy)
      : task_(task),
        policy_(policy),
        takes_{task.costs.forward / Seconds{1}, task.costs.backward_input / Seconds{1},
               task.costs.backward_weight / Seconds{1}},
        c_(task.costs.p2p / Seconds{1}),
        ranks_(static_cast<std::size_t>(task.ranks)),
        link_free_(static_cast<std::size_t>(task.ranks) * 2, 0) {
    const auto slots =
        static_cast<std::size_t>(task.ranks) * static_cast<std::size_t>(task.microbatches);
    for (auto& arrive : arrive_) arrive.assign(slots, kNever);
    for (int k = 0; k < task.microbatches; ++k) arrive_[kForward][slot(0, k)] = 0;
    result_.orders.resize(static_cast<std::size_t>(task.ranks));
  }

  FoundSchedule run(double limit) {
    for (int rank = 0; rank < task_.ranks; ++rank) wakes_.emplace(0.0, rank);
    int left = task_.ranks * task_.microbatches * kWorks;
    double last = 0;
    while (!wakes_.empty() && left > 0) {
      const auto [now, rank] = wakes_.top();
      wakes_.pop();
      RankState& state = ranks_[static_cast<std::size_t>(rank)];
      if (state.free_at > now) continue;
      const Choice choice = choose(rank, state, now);
      if (choice.work < 0) {
        if (choice.wake < kNever) wakes_.emplace(choice.wake, rank);
        continue;
      }
      state.free_at = perform(rank, state, choice.work, now);
      ++result_.cells;
      if (state.free_at > limit) return {.cells = result_.cells};
      last = std::max(last, state.free_at);
      wakes_.emplace(state.free_at, rank);
      --left;
    }
    result_.complete = left == 0;
    result_.makespan = Seconds{last};
    for (const RankState& state : ranks_)
      result_.span = std::max(result_.span, Seconds{state.free_at - state.first});
    return std::move(result_);
  }

 private:
  using Wake = std::pair<double, int>;

  std::size_t slot(int rank, int microbatch) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(task_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }

  double arrival(int rank, const RankState& state, int work) const {
    const int microbatch = state.next[static_cast<std::size_t>(work)];
    if (microbatch >= task_.microbatches) return kNever;
    return arrive_[static_cast<std::size_t>(work)][slot(rank, microbatch)];
  }

  bool has_room(int rank, const RankState& state) const {
    return state.live + 2 <= task_.memory &&
           state.next[kForward] - state.next[kWeight] < task_.pending &&
           state.next[kForward] - state.next[kInput] <
               policy_.ahead[static_cast<std::size_t>(rank)];
  }

  Choice choose(int rank, const RankState& state, double now) const {
    double coming = kNever;  // the first arrival of an F or I that could run
    bool blocked = false;    // an F has arrived, but has no room
    for (const int work :
         {policy_.forward_first ? kForward : kInput, policy_.forward_first ? kInput : kForward}) {
      const double at = arrival(rank, state, work);
      if (at == kNever) continue;
      if (work == kForward && !has_room(rank, state)) {
        blocked = blocked || at <= now;
        continue;
      }
      if (at <= now) return {work, 0};
      coming = std::min(coming, at);
    }
    const bool weight = state.next[kWeight] < state.next[kInput] &&
                        (blocked || coming - now >= policy_.weight_patience * takes_[kWeight]);
    return weight ? Choice{kWeight, 0} : Choice{-1, coming};
  }

  // Hands the result of a work to the rank that waits for it.
  void hand_over(int rank, int receiver, int microbatch, int work, double end) {
    double at = end;
    if (receiver != rank) {
      double& link = link_free_[static_cast<std::size_t>(2 * rank + (receiver > rank ? 1 : 0))];
      at = link = (task_.serial ? std::max(end, link) : end) + c_;
    }
    arrive_[static_cast<std::size_t>(work)][slot(receiver, microbatch)] = at;
    wakes_.emplace(at, receiver);
  }

  double perform(int rank, RankState& state, int work, double now) {
    constexpr WorkKind kKinds[] = {WorkKind::forward, WorkKind::backward_input,
                                   WorkKind::backward_weight};
    const auto id = static_cast<std::size_t>(work);
    const int microbatch = state.next[id]++;
    const double end = now + takes_[id];
    state.first = std::min(state.first, now);
    result_.orders[static_cast<std::size_t>(rank)].push_back(cell(kKinds[id], microbatch, rank));
    if (work != kForward) {
      state.live -= 1;
      if (work == kInput && rank > 0) hand_over(rank, rank - 1, microbatch, kInput, end);
      return end;
    }
    state.live += 2;
    const bool last = rank + 1 == task_.ranks;
    hand_over(rank, last ? rank : rank + 1, microbatch, last ? kInput : kForward, end);
    return end;
  }

  const ScheduleTask& task_;
  const GreedyPolicy& policy_;
  std::array<double, kWorks> takes_;
  double c_;
  std::vector<RankState> ranks_;
  std::vector<double> link_free_;                   // [ranks * 2] up, down
  std::array<std::vector<double>, 2> arrive_ = {};  // F, I: [rank, micro-batch]
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_ = {};
  FoundSchedule result_ = {};
};

}  // namespace

FoundSchedule run_greedy(const ScheduleTask& task, const GreedyPolicy& policy, Seconds limit) {
  return Greedy(task, policy).run(limit / Seconds{1});
}

}  // namespace shardsim
