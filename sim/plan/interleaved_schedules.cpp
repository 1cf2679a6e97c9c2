#include "plan/interleaved_schedules.h"

#include <algorithm>
#include <vector>

#include "plan/rank_builder.h"

namespace shardsim {

namespace {

struct Turn {
  int microbatch = 0;
  int chunk = 0;
};

// The order of a rank's forwards: groups of N micro-batches, all of a group on chunk 0, then all on
// chunk 1, and so on. Backwards take the same order with the chunks reversed.
std::vector<Turn> turns(const ScheduleAsk& ask, int group) {
  std::vector<Turn> order;
  order.reserve(static_cast<std::size_t>(ask.microbatches) * static_cast<std::size_t>(ask.chunks));
  for (int first = 0; first < ask.microbatches; first += group) {
    const int last = std::min(first + group, ask.microbatches);
    for (int chunk = 0; chunk < ask.chunks; ++chunk)
      for (int i = first; i < last; ++i) order.push_back({i, chunk});
  }
  return order;
}

// The works of one rank by their place in the order of forwards or backwards.
struct RankTurns {
  const std::vector<Turn>& order;
  const ScheduleAsk& ask;
  int rank;

  int total() const { return static_cast<int>(order.size()); }
  int chunk(int k, bool forward) const {
    const int chunk = order[static_cast<std::size_t>(k)].chunk;
    return forward ? chunk : ask.chunks - 1 - chunk;
  }
  Work work(WorkKind kind, int k) const {
    return {kind, order[static_cast<std::size_t>(k)].microbatch,
            chunk(k, kind == WorkKind::forward) * ask.ranks + rank};
  }
};

template <class Make>
Schedule wrapped_schedule(const ScheduleAsk& ask, int group, Make make) {
  Schedule schedule{
      .microbatches = ask.microbatches, .chunks = ask.chunks, .placement = Placement::wrap};
  const std::vector<Turn> order = turns(ask, group);
  for (int rank = 0; rank < ask.ranks; ++rank) {
    RankBuilder builder;
    make(RankTurns{order, ask, rank}, builder);
    schedule.programs.push_back(builder.take());
  }
  return schedule;
}

int group_of(const ScheduleAsk& ask) {
  return ask.group > 0 ? ask.group : ask.ranks;
}

// The transfers that Megatron-LM posts around the k-th forward and backward
// (forward_backward_pipelining_with_interleaving, overlap_p2p_comm off).
class MegatronP2p {
 public:
  MegatronP2p(const RankTurns& turns, RankBuilder& builder) : turns_(turns), builder_(builder) {}

  void send_forward(int k) {
    const int p = turns_.ask.ranks;
    if (!last_rank() || turns_.chunk(k, true) + 1 < turns_.ask.chunks)
      post(true, (turns_.rank + 1) % p, 'f');
  }
  // What the forward after the k-th needs. The first rank gets it from the last, which is p - 1
  // places behind.
  void recv_forward_after(int k) {
    const int p = turns_.ask.ranks;
    if (turns_.rank == 0) {
      if (k < p - 1 || turns_.chunk(k - (p - 1), true) == turns_.ask.chunks - 1) return;
    }
    recv_forward();
  }
  void recv_forward() { post(false, (turns_.rank + turns_.ask.ranks - 1) % turns_.ask.ranks, 'f'); }

  void send_backward(int k) {
    const int p = turns_.ask.ranks;
    if (turns_.rank > 0 || turns_.chunk(k, false) > 0) post(true, (turns_.rank + p - 1) % p, 'b');
  }
  void recv_backward_after(int k) {
    const int p = turns_.ask.ranks;
    if (last_rank()) {
      if (k < p - 1 || turns_.chunk(k - (p - 1), false) == 0) return;
    }
    recv_backward();
  }
  void recv_backward() { post(false, (turns_.rank + 1) % turns_.ask.ranks, 'b'); }

  bool last_rank() const { return turns_.rank + 1 == turns_.ask.ranks; }

 private:
  void post(bool send, int peer, char channel) {
    if (turns_.ask.mode == P2pMode::blocking && turns_.ask.ranks > 1) builder_.post({send, peer, channel});
  }

  const RankTurns& turns_;
  RankBuilder& builder_;
};

void add(const Work& work, RankBuilder& builder) {
  builder.add(work.kind, work.microbatch, work.stage);
}

// Warm-up of Megatron-LM and PyTorch: `hops` forwards more for every rank that lies further from
// the last.
int warm_up(const RankTurns& turns, int group, int hops, int more = 0) {
  return std::min(hops * (turns.ask.ranks - 1 - turns.rank) + (turns.ask.chunks - 1) * group + more,
                  turns.total());
}

void interleaved_rank(const RankTurns& turns, int group, RankBuilder& builder) {
  const int total = turns.total();
  const int w = warm_up(turns, group, 2);
  MegatronP2p p2p(turns, builder);
  if (turns.rank > 0) p2p.recv_forward();
  builder.wait();
  for (int k = 0; k < w; ++k) {
    add(turns.work(WorkKind::forward, k), builder);
    p2p.send_forward(k);
    if (k + 1 < total) p2p.recv_forward_after(k);
    if (k + 1 == w && w < total && !p2p.last_rank()) p2p.recv_backward();
    builder.wait();
  }
  for (int k = 0; k + w < total; ++k) {
    add(turns.work(WorkKind::forward, k + w), builder);
    add(turns.work(WorkKind::backward, k), builder);
    p2p.send_forward(k + w);
    if (k + w + 1 < total) p2p.recv_forward_after(k + w);
    p2p.send_backward(k);
    p2p.recv_backward_after(k);
    builder.wait();
  }
  if (w == total && !p2p.last_rank()) p2p.recv_backward();
  builder.wait();
  for (int k = total - w; k < total; ++k) {
    add(turns.work(WorkKind::backward, k), builder);
    p2p.send_backward(k);
    if (k + 1 < total) p2p.recv_backward_after(k);
    builder.wait();
  }
}

}  // namespace

int rounds_group(int ranks, int microbatches) {
  const int rounds = std::max(1, microbatches / ranks);
  return microbatches % rounds == 0 ? microbatches / rounds : 0;
}

// Megatron-LM (arXiv 2104.04473, section 2.2.2; core/pipeline_parallel/schedules.py).
Schedule interleaved(const ScheduleAsk& ask) {
  return wrapped_schedule(ask, group_of(ask), [&](const RankTurns& turns, RankBuilder& builder) {
    interleaved_rank(turns, group_of(ask), builder);
  });
}

// PyTorch's ScheduleInterleaved1F1B: the same with m / (m / p) micro-batches per group.
Schedule interleaved_flex(const ScheduleAsk& ask) {
  ScheduleAsk with = ask;
  with.group = rounds_group(ask.ranks, ask.microbatches);
  return interleaved(with);
}

// Megatron-LM with overlap_moe_expert_parallel_comm: one forward more in the warm-up, so that every
// pair is of different micro-batches and runs as one cell.
Schedule interleaved_moe_overlap(const ScheduleAsk& ask) {
  const int group = group_of(ask);
  return wrapped_schedule(ask, group, [&](const RankTurns& turns, RankBuilder& builder) {
    const int total = turns.total();
    const int w = warm_up(turns, group, 2, 1);
    for (int k = 0; k < w; ++k) add(turns.work(WorkKind::forward, k), builder);
    for (int k = 0; k + w < total; ++k) {
      builder.overlapped(turns.work(WorkKind::forward, k + w), turns.work(WorkKind::backward, k));
    }
    for (int k = total - w; k < total; ++k) add(turns.work(WorkKind::backward, k), builder);
  });
}

// PyTorch's ScheduleInterleavedZeroBubble: one hop of warm-up per rank, I instead of B, and a W
// (oldest first) after every I but the first r.
Schedule interleaved_zero_bubble(const ScheduleAsk& ask) {
  const int group = rounds_group(ask.ranks, ask.microbatches);
  return wrapped_schedule(ask, group, [&](const RankTurns& turns, RankBuilder& builder) {
    const int total = turns.total();
    const int w = warm_up(turns, group, 1);
    for (int k = 0; k < w; ++k) add(turns.work(WorkKind::forward, k), builder);
    int weights = 0;
    for (int k = 0; k < total; ++k) {
      if (k + w < total) add(turns.work(WorkKind::forward, k + w), builder);
      add(turns.work(WorkKind::backward_input, k), builder);
      if (k >= turns.rank) add(turns.work(WorkKind::backward_weight, weights++), builder);
    }
    while (weights < total) add(turns.work(WorkKind::backward_weight, weights++), builder);
  });
}

// Breadth-First Pipeline Parallelism (arXiv 2211.05953) as PyTorch's ScheduleLoopedBFS runs it:
// backward micro-batches descend.
Schedule looped_bfs(const ScheduleAsk& ask) {
  return wrapped_schedule(ask, ask.microbatches, [&](const RankTurns& turns, RankBuilder& builder) {
    for (int k = 0; k < turns.total(); ++k) add(turns.work(WorkKind::forward, k), builder);
    for (int chunk = ask.chunks; chunk-- > 0;)
      for (int i = ask.microbatches; i-- > 0;) builder.backward(i, chunk * ask.ranks + turns.rank);
  });
}

}  // namespace shardsim
