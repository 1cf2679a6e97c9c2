#include "plan/greedy_schedule.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

namespace shardsim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kWorks = 4;  // GreedyWork

int chunk_of(int work) {
  return work & 1;
}
bool is_forward(int work) {
  return work < 2;
}

struct RankState {
  std::array<int, kWorks> next = {};        // micro-batch of each work
  std::deque<std::pair<int, int>> weights;  // chunk, micro-batch
  double free_at = 0;
  int live = 0;
  bool forward_last = false;
};

// What a rank does next.
struct Choice {
  int work = -1;         // GreedyWork; kWorks: a W
  double wake = kNever;  // nothing: when to ask again
};

class Greedy {
 public:
  Greedy(const GreedyTask& task, const GreedyPolicy& policy)
      : task_(task),
        policy_(policy),
        stages_(task.ranks * task.chunks),
        f_(task.costs.forward / Seconds{1}),
        i_((task.fused ? task.costs.backward : task.costs.backward_input) / Seconds{1}),
        w_(task.costs.backward_weight / Seconds{1}),
        c_(task.costs.p2p / Seconds{1}),
        ranks_(static_cast<std::size_t>(task.ranks)),
        link_free_(static_cast<std::size_t>(task.ranks) * 2, 0) {
    const auto slots =
        static_cast<std::size_t>(stages_) * static_cast<std::size_t>(task.microbatches);
    for (auto& arrive : arrive_) arrive.assign(slots, kNever);
    for (int k = 0; k < task.microbatches; ++k) arrive_[0][slot(0, k)] = 0;
    result_.orders.resize(static_cast<std::size_t>(task.ranks));
  }

  GreedyResult run(double limit) {
    std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
    for (int rank = 0; rank < task_.ranks; ++rank) wakes.emplace(0.0, rank);
    wakes_ = &wakes;
    std::size_t left = static_cast<std::size_t>(stages_) *
                       static_cast<std::size_t>(task_.microbatches) *
                       (task_.fused ? std::size_t{2} : std::size_t{3});
    double last = 0;
    while (!wakes.empty() && left > 0) {
      const auto [now, rank] = wakes.top();
      wakes.pop();
      RankState& state = ranks_[static_cast<std::size_t>(rank)];
      if (state.free_at > now) continue;
      const Choice choice = choose(rank, state, now);
      if (choice.work < 0) {
        if (choice.wake < kNever) wakes.emplace(choice.wake, rank);
        continue;
      }
      const double end = perform(rank, state, choice.work, now);
      if (end > limit) return {};
      last = std::max(last, end);
      state.free_at = end;
      wakes.emplace(end, rank);
      --left;
    }
    result_.complete = left == 0;
    result_.makespan = Seconds{last};
    return std::move(result_);
  }

 private:
  using Wake = std::pair<double, int>;

  std::size_t slot(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(task_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  int stage_of(int rank, int chunk) const { return chunk == 0 ? rank : 2 * task_.ranks - 1 - rank; }
  int rank_of(int stage) const { return stage < task_.ranks ? stage : 2 * task_.ranks - 1 - stage; }

  double arrival(int rank, const RankState& state, int work) const {
    const int microbatch = state.next[static_cast<std::size_t>(work)];
    if (chunk_of(work) >= task_.chunks || microbatch >= task_.microbatches) return kNever;
    return arrive_[is_forward(work) ? 0 : 1][slot(stage_of(rank, chunk_of(work)), microbatch)];
  }

  // Room for its activations. On a first chunk it must not take the last room, which the oldest
  // micro-batch may need on the second, unless something that is held here is freed without.
  bool has_room(int rank, const RankState& state, int work) const {
    const bool first_of_two = task_.chunks > 1 && chunk_of(work) == 0;
    const bool frees = state.next[1] > state.next[3] || !state.weights.empty();
    const int spare = first_of_two && !frees ? 2 : 0;
    if (state.live + 2 + spare > task_.memory) return false;
    if (chunk_of(work) != 0 || policy_.ahead.empty()) return true;
    const int between = state.next[0] - state.next[2];
    return between < policy_.ahead[static_cast<std::size_t>(rank)];
  }

  // The next cell of the order to keep to, when it has arrived.
  Choice followed(int rank, const RankState& state, double now) const {
    const auto at_rank = static_cast<std::size_t>(rank);
    const Work& next = (*policy_.follow)[at_rank][result_.orders[at_rank].size()].work[0];
    if (next.kind == WorkKind::backward_weight) return {kWorks, 0};
    const int chunk = next.stage == stage_of(rank, 0) ? 0 : 1;
    const int work = chunk + (next.kind == WorkKind::forward ? 0 : 2);
    const double at = arrival(rank, state, work);
    return at <= now ? Choice{work, 0} : Choice{-1, at};
  }

  Choice choose(int rank, const RankState& state, double now) const {
    if (policy_.follow != nullptr) {
      const auto at_rank = static_cast<std::size_t>(rank);
      if (result_.orders[at_rank].size() == (*policy_.follow)[at_rank].size()) return {};
      return followed(rank, state, now);
    }
    std::array<int, kWorks> order;
    for (std::size_t k = 0; k < kWorks; ++k) order[k] = static_cast<int>(policy_.order[k]);
    if (!policy_.planned.empty()) {
      const auto plan = [&](int work) {
        const auto k = static_cast<std::size_t>(work);
        return policy_.planned[static_cast<std::size_t>(rank) * kWorks + k] +
               policy_.period * state.next[k];
      };
      order = {0, 1, 2, 3};
      std::sort(order.begin(), order.end(), [&](int a, int b) { return plan(a) < plan(b); });
    }
    if (policy_.alternate) {
      std::stable_partition(order.begin(), order.end(),
                            [&](int work) { return is_forward(work) != state.forward_last; });
    }
    if (policy_.strict) return strict_choice(rank, state, order, now);
    double coming = kNever;  // the first arrival of what is preferred to the work in question
    bool blocked = false;    // a forward has arrived, but has no room
    for (const int work : order) {
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
      const double takes = is_forward(work) ? f_ : i_;
      if (coming - now < policy_.patience * takes) continue;
      return {work, 0};
    }
    const bool weight =
        !state.weights.empty() && (blocked || coming - now >= policy_.weight_patience * w_);
    if (weight) return {kWorks, 0};
    return {-1, coming};
  }

  Choice strict_choice(int rank, const RankState& state, const std::array<int, kWorks>& order,
                       double now) const {
    for (const int work : order) {
      const int k = state.next[static_cast<std::size_t>(work)];
      if (chunk_of(work) >= task_.chunks || k >= task_.microbatches) continue;
      double at = arrival(rank, state, work);
      const bool room = !is_forward(work) || has_room(rank, state, work);
      if (at <= now && room) return {work, 0};
      if (state.weights.empty()) return {-1, at > now ? at : kNever};
      if (!room) return {kWorks, 0};
      const double known = at;
      if (at == kNever)
        at =
            policy_
                .planned[static_cast<std::size_t>(rank) * kWorks + static_cast<std::size_t>(work)] +
            policy_.period * k;
      if (at - now >= policy_.weight_patience * w_) return {kWorks, 0};
      return {-1, known};
    }
    return {state.weights.empty() ? -1 : kWorks, kNever};
  }

  // Hands the result of a work to the stage that waits for it.
  void hand_over(int rank, int stage, int microbatch, bool forward, double end) {
    const int receiver = rank_of(stage);
    double at = end;
    if (receiver != rank) {
      double& link = link_free_[static_cast<std::size_t>(2 * rank + (receiver > rank ? 1 : 0))];
      at = (task_.serial ? std::max(end, link) : end) + c_;
      link = at;
    }
    arrive_[forward ? 0 : 1][slot(stage, microbatch)] = at;
    wakes_->emplace(at, receiver);
  }

  double perform(int rank, RankState& state, int work, double now) {
    auto& order = result_.orders[static_cast<std::size_t>(rank)];
    if (work == kWorks) {
      const auto [chunk, microbatch] = state.weights.front();
      state.weights.pop_front();
      state.live -= task_.until_weight ? 2 : 1;
      order.push_back(cell(WorkKind::backward_weight, microbatch, stage_of(rank, chunk)));
      return now + w_;
    }
    const int chunk = chunk_of(work), stage = stage_of(rank, chunk);
    const int microbatch = state.next[static_cast<std::size_t>(work)]++;
    state.forward_last = is_forward(work);
    const double end = now + (is_forward(work) ? f_ : i_);
    if (is_forward(work)) {
      state.live += 2;
      result_.peak = std::max(result_.peak, state.live);
      order.push_back(cell(WorkKind::forward, microbatch, stage));
      const bool turns = stage + 1 == stages_;
      hand_over(rank, turns ? stage : stage + 1, microbatch, !turns, end);
      return end;
    }
    order.push_back(
        cell(task_.fused ? WorkKind::backward : WorkKind::backward_input, microbatch, stage));
    if (task_.fused) {
      state.live -= 2;
    } else {
      state.live -= task_.until_weight ? 0 : 1;
      state.weights.emplace_back(chunk, microbatch);
    }
    if (stage > 0) hand_over(rank, stage - 1, microbatch, false, end);
    return end;
  }

  const GreedyTask& task_;
  const GreedyPolicy& policy_;
  int stages_;
  double f_, i_, w_, c_;
  std::vector<RankState> ranks_;
  std::vector<double> link_free_;                   // [ranks * 2] down, up
  std::array<std::vector<double>, 2> arrive_ = {};  // forwards, backwards: [stage, micro-batch]
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>>* wakes_ = nullptr;
  GreedyResult result_ = {};
};

}  // namespace

GreedyResult run_greedy(const GreedyTask& task, const GreedyPolicy& policy, Seconds limit) {
  return Greedy(task, policy).run(limit / Seconds{1});
}

}  // namespace shardsim
