// The hand-made ZB-V (arXiv 2401.10241, section 5).
#include <algorithm>

#include "plan/rank_builder.h"
#include "plan/v_schedules.h"

namespace shardsim {

namespace {

// Adds works of one chunk, each kind counting its own micro-batches; those past m are left out.
class Chunk {
 public:
  Chunk(int stage, int microbatches, RankBuilder& builder)
      : stage_(stage), microbatches_(microbatches), builder_(builder) {}

  void forward() { add(WorkKind::forward, forwards); }
  void input() { add(WorkKind::backward_input, inputs); }
  void weight() { add(WorkKind::backward_weight, weights); }

  int forwards = 0, inputs = 0, weights = 0;

 private:
  void add(WorkKind kind, int& count) {
    if (count < microbatches_) builder_.add(kind, count, stage_);
    ++count;
  }

  int stage_, microbatches_;
  RankBuilder& builder_;
};

void zb_v_rank(int rank, int p, int microbatches, RankBuilder& builder) {
  Chunk down(rank, microbatches, builder), up(2 * p - 1 - rank, microbatches, builder);
  const int n = std::max(microbatches, 2 * p - 1);  // fewer leave holes
  for (int i = 0; i < 2 * (p - rank) - 1; ++i) down.forward();
  for (int i = 0; i < rank; ++i) {
    up.forward();
    down.forward();
  }
  const auto whole = [](Chunk& chunk) {
    chunk.input();
    chunk.weight();
  };
  for (int i = 0; i < p - rank; ++i) {
    up.forward();
    whole(up);
  }
  while (up.forwards < down.forwards || down.forwards < n) {
    if (down.forwards < n) down.forward();
    whole(down);
    up.forward();
    whole(up);
  }
  for (int i = 0; i < rank; ++i) {
    down.input();
    up.input();
  }
  for (int i = 0; i < p - rank; ++i) whole(down);
  while (up.weights < up.inputs) up.weight();
  while (down.weights < down.inputs) down.weight();
}

}  // namespace

Schedule zb_v(const ScheduleAsk& ask) {
  Schedule schedule{.microbatches = ask.microbatches, .chunks = 2, .placement = Placement::v};
  for (int rank = 0; rank < ask.ranks; ++rank) {
    RankBuilder builder;
    zb_v_rank(rank, ask.ranks, ask.microbatches, builder);
    schedule.programs.push_back(builder.take());
  }
  return schedule;
}

}  // namespace shardsim
