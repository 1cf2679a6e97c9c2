#include "plan/plain_schedules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "plan/rank_builder.h"

namespace shardsim {

namespace {

// One program per rank from `make(rank, builder)`.
template <class Make>
Schedule one_stage_per_rank(const ScheduleAsk& ask, Make make) {
  Schedule schedule;
  schedule.microbatches = ask.microbatches;
  for (int rank = 0; rank < ask.ranks; ++rank) {
    RankBuilder builder;
    make(rank, builder);
    schedule.programs.push_back(builder.take());
  }
  return schedule;
}

// Step x of every rank: F of x, I of x - input_lag, W of x - weight_lag, as far as they exist.
void lagged(int rank, int microbatches, int input_lag, int weight_lag, RankBuilder& builder) {
  const auto exists = [&](int microbatch) { return microbatch >= 0 && microbatch < microbatches; };
  const int steps = microbatches + std::max(input_lag, weight_lag);
  for (int x = 0; x < steps; ++x) {
    if (exists(x)) builder.forward(x, rank);
    if (exists(x - input_lag)) builder.backward_input(x - input_lag, rank);
    if (exists(x - weight_lag)) builder.backward_weight(x - weight_lag, rank);
  }
}

// Sends and receives of a stage with its neighbours as Megatron-LM's schedules.py posts them
// (forward_backward_pipelining_without_interleaving): one group for each call.
class Neighbours {
 public:
  Neighbours(int rank, int ranks, bool posts, RankBuilder& builder)
      : rank_(rank), ranks_(ranks), posts_(posts), builder_(builder) {}

  void recv_forward() { post(false, rank_ - 1, 'f'); }
  void send_forward() { post(true, rank_ + 1, 'f'); }
  void recv_backward() { post(false, rank_ + 1, 'b'); }
  void send_backward() { post(true, rank_ - 1, 'b'); }

 private:
  void post(bool send, int peer, char channel) {
    if (posts_ && peer >= 0 && peer < ranks_) builder_.post({send, peer, channel});
  }

  int rank_, ranks_;
  bool posts_;
  RankBuilder& builder_;
};

}  // namespace

// GPipe (arXiv 1811.06965): all forwards, then all backwards, both ascending.
Schedule gpipe(const ScheduleAsk& ask) {
  return one_stage_per_rank(ask, [&](int rank, RankBuilder& builder) {
    for (int i = 0; i < ask.microbatches; ++i) builder.forward(i, rank);
    for (int i = 0; i < ask.microbatches; ++i) builder.backward(i, rank);
  });
}

// PipeDream-Flush, or 1F1B (arXiv 2104.04473, section 2.2.1), with the transfers of Megatron-LM.
Schedule one_f_one_b(const ScheduleAsk& ask) {
  return one_stage_per_rank(ask, [&](int rank, RankBuilder& builder) {
    const int m = ask.microbatches;
    const int warm_up = std::min(ask.ranks - 1 - rank, m);
    Neighbours p2p(rank, ask.ranks, ask.mode == P2pMode::blocking, builder);
    for (int i = 0; i < warm_up; ++i) {
      p2p.recv_forward();
      builder.wait();
      builder.forward(i, rank);
      p2p.send_forward();
      builder.wait();
    }
    if (warm_up < m) p2p.recv_forward();
    builder.wait();
    for (int i = warm_up; i < m; ++i) {
      builder.forward(i, rank);
      p2p.send_forward();
      p2p.recv_backward();
      builder.wait();
      builder.backward(i - warm_up, rank);
      p2p.send_backward();
      if (i + 1 < m) p2p.recv_forward();
      builder.wait();
    }
    for (int i = m - warm_up; i < m; ++i) {
      p2p.recv_backward();
      builder.wait();
      builder.backward(i, rank);
      p2p.send_backward();
      builder.wait();
    }
  });
}

// Zero Bubble Pipeline Parallelism (arXiv 2401.10241), figure 3: H1 keeps the memory of 1F1B.
Schedule zb_h1(const ScheduleAsk& ask) {
  return one_stage_per_rank(ask, [&](int rank, RankBuilder& builder) {
    lagged(rank, ask.microbatches, ask.ranks - 1 - rank, ask.ranks - 1, builder);
  });
}

// The same figure: H2 runs ahead twice as far.
Schedule zb_h2(const ScheduleAsk& ask) {
  return one_stage_per_rank(ask, [&](int rank, RankBuilder& builder) {
    lagged(rank, ask.microbatches, 2 * (ask.ranks - 1 - rank), 2 * (ask.ranks - 1), builder);
  });
}

// sail-sg/zero-bubble-pipeline-parallelism, quick-start branch: 1F1B where rank r splits its first
// r backwards and those after its last forward; the first r weight gradients come last, newest
// first.
Schedule zb_h1_light(const ScheduleAsk& ask) {
  return one_stage_per_rank(ask, [&](int rank, RankBuilder& builder) {
    const int m = ask.microbatches;
    const int warm_up = std::min(ask.ranks - 1 - rank, m);
    for (int i = 0; i < warm_up; ++i) builder.forward(i, rank);
    for (int i = 0; i < m; ++i) {
      const int forward = i + warm_up;
      if (forward < m) builder.forward(forward, rank);
      const bool late = i < rank;
      if (rank == 0 || (!late && forward + 1 < m)) {
        builder.backward(i, rank);
        continue;
      }
      builder.backward_input(i, rank);
      if (!late) builder.backward_weight(i, rank);
    }
    for (int i = std::min(rank, m); i-- > 0;) builder.backward_weight(i, rank);
  });
}

}  // namespace shardsim
