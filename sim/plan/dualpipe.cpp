// DualPipe and DualPipeV: the eight steps of step() in deepseek-ai/DualPipe (dualpipe.py and
// dualpipev.py, revision 3da1bbea), which differ in where the two chunks of a rank lie only.
#include <cstdint>
#include <deque>

#include "plan/rank_builder.h"
#include "plan/v_schedules.h"

namespace shardsim {

namespace {

// The chunk whose micro-batches enter on this rank's side is phase 0, the other phase 1.
struct Phase {
  int stage = 0;
  int first = 0;  // of its micro-batches
};

struct Shape {
  Phase phases[2] = {};
  int rank = 0;
  int distance = 0;  // h: ranks between this one and the end where phase 0 enters
  int depth = 0;     // H: ranks from there to where the pipeline turns
  int main_steps = 0;
};

struct How {
  bool recv = true, send = true, split = false;
};

enum Direction { kForward = 1, kBackward = -1 };

class DualRank {
 public:
  DualRank(const Shape& shape, const Schedule& schedule, bool posts)
      : shape_(shape), schedule_(schedule), posts_(posts) {}

  RankProgram run() {
    const int h = shape_.distance, rest = shape_.depth - 1 - h;
    const bool middle = rest == 0;  // the rank (or two) where the pipeline turns
    for (int i = 0; i < 2 * rest; ++i) forward(0);
    recv(0, kForward);
    for (int i = 0; i <= h; ++i) {
      forward(0, {.recv = false, .send = middle});
      recv(0, kForward);
      forward(1, {.recv = true, .send = !middle || i < h});
      if (!middle) send(0, kForward);
    }
    for (int i = 0; i < rest; ++i) {
      backward(1, {.split = true});
      recv(1, kForward);
      weight();
      forward(1, {.recv = false});
    }
    for (int i = 0; i < shape_.main_steps; ++i) {
      if (i > 0) {
        both(0, 1);
      } else if (middle) {
        first_pair_of_middle();
      } else {
        both(0, 1, false);
      }
      both(1, 0);
    }
    for (int i = 0; i < rest; ++i) {
      backward(1);
      both(1, 0);
    }
    backward_pairs();
    for (int i = 0; i < rest; ++i) {
      weight();
      backward(0, {.split = true});
    }
    for (int i = 0; i <= h; ++i) weight();
    builder_.wait();
    return builder_.take();
  }

 private:
  // Not overlapped, to make the bubble smaller.
  void first_pair_of_middle() {
    forward(0, {.recv = false, .send = false});
    send(1, kForward);
    backward(1, {.send = false});
    send(0, kForward);
    send(1, kBackward);
  }

  // From the middle on with the weight gradients put off.
  void backward_pairs() {
    const int count = shape_.distance + 1;
    const bool odd = shape_.distance % 2 == 1;
    bool split = false;
    for (int i = 0; i < count; ++i) {
      split = split || (i == count / 2 && odd);
      backward(1, {.split = split});
      split = split || (i == count / 2 && !odd);
      backward(0, {.split = split});
    }
  }

  void forward(int phase, const How& how = {}) {
    if (how.recv) recv(phase, kForward);
    builder_.wait();
    const Work work = next_forward(phase);
    builder_.add(work.kind, work.microbatch, work.stage);
    if (how.send) send(phase, kForward);
  }
  void backward(int phase, const How& how = {}) {
    if (how.recv) recv(phase, kBackward);
    builder_.wait();
    Work work = next_backward(phase);
    if (how.split) {
      work.kind = WorkKind::backward_input;
      weights_.push_back({WorkKind::backward_weight, work.microbatch, work.stage});
    }
    builder_.add(work.kind, work.microbatch, work.stage);
    if (how.send) send(phase, kBackward);
  }
  void both(int forward_phase, int backward_phase, bool recv_forward = true) {
    if (recv_forward) recv(forward_phase, kForward);
    recv(backward_phase, kBackward);
    builder_.wait();
    builder_.overlapped(next_forward(forward_phase), next_backward(backward_phase));
    send(forward_phase, kForward);
    send(backward_phase, kBackward);
  }
  void weight() {  // oldest first
    builder_.wait();
    const Work& work = weights_.front();
    builder_.add(work.kind, work.microbatch, work.stage);
    weights_.pop_front();
  }

  Work next_forward(int phase) {
    return {WorkKind::forward, shape_.phases[phase].first + forwards_[phase]++,
            shape_.phases[phase].stage};
  }
  Work next_backward(int phase) {
    return {WorkKind::backward, shape_.phases[phase].first + backwards_[phase]++,
            shape_.phases[phase].stage};
  }

  void recv(int phase, Direction direction) { post(false, phase, -direction); }
  void send(int phase, Direction direction) { post(true, phase, direction); }
  // With the rank of the stage that lies `step` further, if there is one and it is another rank.
  void post(bool send, int phase, int step) {
    const int stage = shape_.phases[phase].stage + step;
    if (!posts_ || stage < 0 || stage >= schedule_.ranks() * schedule_.chunks) return;
    const int peer = schedule_.rank_of(shape_.phases[phase].first, stage);
    if (peer != shape_.rank) builder_.post({send, peer, 'x'});
  }

  Shape shape_;
  const Schedule& schedule_;
  bool posts_;
  RankBuilder builder_ = {};
  int forwards_[2] = {}, backwards_[2] = {};
  std::deque<Work> weights_ = {};
};

}  // namespace

Schedule dualpipe(const ScheduleAsk& ask) {
  const int p = ask.ranks, m = ask.microbatches;
  Schedule schedule{.microbatches = m, .chunks = 1, .placement = Placement::dual};
  schedule.programs.resize(static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank) {
    const bool lower = rank < p / 2;
    const Phase down{rank, 0}, up{p - 1 - rank, m / 2};
    const int distance = lower ? rank : p - 1 - rank;
    const Shape shape{.phases = {lower ? down : up, lower ? up : down},
                      .rank = rank,
                      .distance = distance,
                      .depth = p / 2,
                      .main_steps = m / 2 - p + distance + 1};
    schedule.programs[static_cast<std::size_t>(rank)] =
        DualRank(shape, schedule, ask.mode == P2pMode::blocking).run();
  }
  return schedule;
}

Schedule dualpipev(const ScheduleAsk& ask) {
  const int p = ask.ranks, m = ask.microbatches;
  Schedule schedule{.microbatches = m, .chunks = 2, .placement = Placement::v};
  schedule.programs.resize(static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank) {
    const Shape shape{.phases = {{rank, 0}, {2 * p - 1 - rank, 0}},
                      .rank = rank,
                      .distance = rank,
                      .depth = p,
                      .main_steps = m - 2 * p + rank + 1};
    schedule.programs[static_cast<std::size_t>(rank)] =
        DualRank(shape, schedule, ask.mode == P2pMode::blocking).run();
  }
  return schedule;
}

}  // namespace shardsim
