#include "plan/greedy_schedule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/rank_events.h"

namespace shardsim {

namespace {

enum WorkId : int { kForward, kInput, kWeight, kWorks };

struct RankState : RankClock {
  std::array<int, kWorks> next = {};  // micro-batch of each work
  PeakActivations live = {};
  double waited = 0;  // since its first work
};

class Greedy {
 public:
  Greedy(const ScheduleTask& task, const GreedyPolicy& policy)
      : task_(task),
        policy_(policy),
        takes_{task.costs.forward / Seconds{1}, task.costs.backward_input / Seconds{1},
               task.costs.backward_weight / Seconds{1}},
        ranks_(static_cast<std::size_t>(task.ranks)),
        events_(task) {
    const auto slots =
        static_cast<std::size_t>(task.ranks) * static_cast<std::size_t>(task.microbatches);
    for (auto& arrive : arrive_) arrive.assign(slots, kNever);
    for (int k = 0; k < task.microbatches; ++k) arrive_[kForward][slot(0, k)] = 0;
    result_.orders.resize(static_cast<std::size_t>(task.ranks));
  }

  FoundSchedule run(double limit) {
    const int works = task_.ranks * task_.microbatches * kWorks;
    events_.run(
        ranks_, static_cast<std::size_t>(works), limit, result_,
        [this](int rank, const RankState& state, double now) { return choose(rank, state, now); },
        [this](int rank, RankState& state, int work, double now) {
          return perform(rank, state, work, now);
        });
    return std::move(result_);
  }

 private:
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
    PeakActivations live = state.live;
    add(live, WorkKind::forward);
    return task_.room.holds(live) &&
           live.until_input <= policy_.ahead[static_cast<std::size_t>(rank)];
  }

  RankChoice choose(int rank, const RankState& state, double now) const {
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
                        (blocked || coming - now >= policy_.weight_patience * takes_[kWeight] ||
                         (policy_.fair && state.waited + (coming - state.free_at) > longest_wait_));
    return weight ? RankChoice{kWeight, 0} : RankChoice{-1, coming};
  }

  // Hands the result of a work to the rank that waits for it.
  void hand_over(int rank, int receiver, int microbatch, int work, double end) {
    arrive_[static_cast<std::size_t>(work)][slot(receiver, microbatch)] =
        events_.deliver(rank, receiver, end);
  }

  double perform(int rank, RankState& state, int work, double now) {
    constexpr WorkKind kKinds[] = {WorkKind::forward, WorkKind::backward_input,
                                   WorkKind::backward_weight};
    const auto id = static_cast<std::size_t>(work);
    const int microbatch = state.next[id]++;
    const double end = now + takes_[id];
    if (state.first < now) state.waited += now - state.free_at;
    longest_wait_ = std::max(longest_wait_, state.waited);
    result_.orders[static_cast<std::size_t>(rank)].push_back(cell(kKinds[id], microbatch, rank));
    add(state.live, kKinds[id]);
    if (work != kForward) {
      if (work == kInput && rank > 0) hand_over(rank, rank - 1, microbatch, kInput, end);
      return end;
    }
    const bool last = rank + 1 == task_.ranks;
    hand_over(rank, last ? rank : rank + 1, microbatch, last ? kInput : kForward, end);
    return end;
  }

  const ScheduleTask& task_;
  const GreedyPolicy& policy_;
  std::array<double, kWorks> takes_;
  double longest_wait_ = 0;  // of a rank
  std::vector<RankState> ranks_;
  std::array<std::vector<double>, 2> arrive_ = {};  // F, I: [rank, micro-batch]
  RankEvents events_;
  FoundSchedule result_ = {};
};

}  // namespace

FoundSchedule run_greedy(const ScheduleTask& task, const GreedyPolicy& policy, Seconds limit) {
  return Greedy(task, policy).run(limit / Seconds{1});
}

}  // namespace shardsim
