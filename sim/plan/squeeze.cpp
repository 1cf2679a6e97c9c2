#include "plan/squeeze.h"

#include <algorithm>
#include <array>

#include "plan/rank_events.h"

namespace shardsim {

namespace {

constexpr std::size_t kWorks = 6;  // F0 F1 I0 I1 W0 W1: kind and chunk

bool is_forward(std::size_t work) {
  return work < 2;
}
bool is_weight(std::size_t work) {
  return work >= 4;
}

struct Planned {
  std::uint8_t work = 0;
  int microbatch = 0;
};

struct RankState : RankClock {
  std::vector<Planned> plan;                   // in the order of the block repeated
  std::array<std::vector<int>, kWorks> place;  // [micro-batch] where in the plan
  std::array<int, kWorks> next = {};           // micro-batch of each work
  std::size_t head = 0;                        // all before it in the plan are done
  PeakActivations live = {};
};

class Squeeze {
 public:
  Squeeze(const ScheduleTask& task, const BuildingBlock& block, const SqueezePolicy& policy)
      : task_(task),
        policy_(policy),
        stages_(2 * task.ranks),
        takes_{task.costs.forward / Seconds{1},
               (task.fused ? task.costs.backward : task.costs.backward_input) / Seconds{1},
               task.costs.backward_weight / Seconds{1}},
        ranks_(static_cast<std::size_t>(task.ranks)),
        events_(task) {
    const auto slots =
        static_cast<std::size_t>(stages_) * static_cast<std::size_t>(task.microbatches);
    for (auto& arrive : arrive_) arrive.assign(slots, kNever);
    for (int k = 0; k < task.microbatches; ++k) arrive_[0][slot(0, k)] = 0;
    result_.orders.resize(static_cast<std::size_t>(task.ranks));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      lay_out(ranks_[rank], &block.starts[rank * kWorks], block.period);
  }

  FoundSchedule run(double limit) {
    std::size_t works = 0;
    for (const RankState& state : ranks_) works += state.plan.size();
    events_.run(
        ranks_, works, limit, result_,
        [this](int rank, const RankState& state, double now) { return choose(rank, state, now); },
        [this](int rank, RankState& state, int work, double now) {
          return perform(rank, state, static_cast<std::size_t>(work), now);
        });
    return std::move(result_);
  }

 private:
  std::size_t slot(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(task_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  int stage_of(int rank, std::size_t work) const {
    return work % 2 == 0 ? rank : stages_ - 1 - rank;
  }
  double takes(std::size_t work) const { return takes_[work / 2]; }

  void lay_out(RankState& state, const int* starts, int period) const {
    const std::size_t works = task_.fused ? 4 : kWorks;
    std::array<int, kWorks> next = {};
    const auto total = works * static_cast<std::size_t>(task_.microbatches);
    state.plan.reserve(total);
    while (state.plan.size() < total) {
      std::size_t first = kWorks;
      int at = 0;
      for (std::size_t work = 0; work < works; ++work) {
        if (next[work] == task_.microbatches) continue;
        const int start = starts[work] + period * next[work];
        if (first == kWorks || start < at) {
          first = work;
          at = start;
        }
      }
      state.place[first].push_back(static_cast<int>(state.plan.size()));
      state.plan.push_back({static_cast<std::uint8_t>(first), next[first]++});
    }
  }

  double arrival(int rank, const RankState& state, std::size_t work) const {
    const int k = state.next[work];
    if (is_weight(work)) return state.next[work - 2] > k ? 0 : kNever;
    return arrive_[is_forward(work) ? 0 : 1][slot(stage_of(rank, work), k)];
  }

  WorkKind kind(std::size_t work) const {
    if (is_forward(work)) return WorkKind::forward;
    if (is_weight(work)) return WorkKind::backward_weight;
    return task_.fused ? WorkKind::backward : WorkKind::backward_input;
  }

  // Whether a forward can run now and all that is planned before it still fits, in its order.
  bool has_room(int rank, const RankState& state, std::size_t forward) const {
    PeakActivations live = state.live;
    add(live, WorkKind::forward);
    if (!task_.room.holds(live)) return false;
    const auto end = static_cast<std::size_t>(
        state.place[forward][static_cast<std::size_t>(state.next[forward])]);
    if (forward == 0 && end > state.head && !policy_.early.empty() &&
        state.next[0] - state.next[task_.fused ? 2 : 4] >=
            policy_.early[static_cast<std::size_t>(rank)])
      return false;
    for (std::size_t at = state.head; at < end; ++at) {
      const Planned& planned = state.plan[at];
      if (planned.microbatch < state.next[planned.work]) continue;
      add(live, kind(planned.work));
      if (!task_.room.holds(live)) return false;
    }
    return true;
  }

  RankChoice choose(int rank, const RankState& state, double now) const {
    const bool drains = state.next[0] == task_.microbatches && state.next[1] == task_.microbatches;
    std::array<std::pair<int, std::size_t>, kWorks> heads;
    std::size_t count = 0;
    const std::size_t works = task_.fused ? 4 : kWorks;
    for (std::size_t work = 0; work < works; ++work) {
      if (state.next[work] == task_.microbatches) continue;
      const int place = state.place[work][static_cast<std::size_t>(state.next[work])];
      const bool last = is_weight(work) && (policy_.lazy || drains);
      const std::pair<int, std::size_t> head{last ? place + (1 << 28) : place, work};
      std::size_t at = count++;  // kept in order of place
      for (; at > 0 && head < heads[at - 1]; --at) heads[at] = heads[at - 1];
      heads[at] = head;
    }
    double coming = kNever;
    bool blocked = false;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t work = heads[k].second;
      const double at = arrival(rank, state, work);
      if (at == kNever) continue;
      if (is_forward(work) && !has_room(rank, state, work)) {
        blocked = blocked || at <= now;
        continue;
      }
      if (at > now) {
        coming = std::min(coming, at);
        continue;
      }
      const double patience =
          is_weight(work) ? (blocked ? 0 : policy_.weight_patience) : policy_.patience;
      if (coming - now < patience * takes(work)) continue;
      return {static_cast<int>(work), 0};
    }
    return {-1, coming};
  }

  void hand_over(int rank, int stage, int microbatch, bool forward, double end) {
    const int receiver = stage < task_.ranks ? stage : stages_ - 1 - stage;
    arrive_[forward ? 0 : 1][slot(stage, microbatch)] = events_.deliver(rank, receiver, end);
  }

  double perform(int rank, RankState& state, std::size_t work, double now) {
    const int stage = stage_of(rank, work), microbatch = state.next[work]++;
    while (state.head < state.plan.size() &&
           state.plan[state.head].microbatch < state.next[state.plan[state.head].work])
      ++state.head;
    const double end = now + takes(work);
    if (work == 2 || work == 3) result_.sum += Seconds{end};
    auto& order = result_.orders[static_cast<std::size_t>(rank)];
    add(state.live, kind(work));
    order.push_back(cell(kind(work), microbatch, stage));
    if (is_weight(work)) return end;
    if (is_forward(work)) {
      const bool turns = stage + 1 == stages_;
      hand_over(rank, turns ? stage : stage + 1, microbatch, !turns, end);
    } else if (stage > 0) {
      hand_over(rank, stage - 1, microbatch, false, end);
    }
    return end;
  }

  const ScheduleTask& task_;
  const SqueezePolicy& policy_;
  int stages_;
  std::array<double, 3> takes_;
  std::vector<RankState> ranks_;
  std::array<std::vector<double>, 2> arrive_ = {};  // forwards, backwards: [stage, micro-batch]
  RankEvents events_;
  FoundSchedule result_ = {};
};

}  // namespace

FoundSchedule squeeze(const ScheduleTask& task, const BuildingBlock& block,
                      const SqueezePolicy& policy, Seconds limit) {
  return Squeeze(task, block, policy).run(limit / Seconds{1});
}

}  // namespace shardsim
