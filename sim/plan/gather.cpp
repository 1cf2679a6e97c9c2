#include "plan/gather.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "base/file.h"
#include "plan/gather_stage.h"

namespace shardsim {

CollectivePlan empty_plan(const PlanFrame& frame, Collective kind) {
  CollectivePlan plan;
  plan.kind = kind;
  plan.algorithm = frame.algorithm;
  plan.sizes = frame.sizes;
  plan.fold = frame.fold;
  plan.piece_share = frame.piece_share;
  return plan;
}

Walk walk_of(Wiring wiring) {
  switch (wiring) {
    case Wiring::line:
      return Walk::to_ends;
    case Wiring::star:
    case Wiring::full_mesh:
      return Walk::exchange;
    default:
      return Walk::around;
  }
}

namespace {

Walk walk_along(const PlanFrame& frame, int axis) {
  return frame.walk.empty() ? Walk::around : frame.walk[static_cast<std::size_t>(axis)];
}

}  // namespace

namespace {

std::size_t send_count(const CollectivePlan& plan, const PlanFrame& frame,
                       std::span<const Pipeline> pipelines) {
  std::size_t steps = 0;
  for (const Pipeline& p : pipelines) {
    for (const int axis : p.order) {
      const bool merged = frame.merged && walk_along(frame, axis) == Walk::to_ends;
      const int size = plan.sizes[static_cast<std::size_t>(axis)];
      steps += static_cast<std::size_t>(merged ? 2 : p.steps < 0 ? size - 1 : p.steps);
    }
  }
  return steps * plan.representatives().size();
}

}  // namespace

namespace {

// Whether pieces that take the axes in other orders wait for one another between phases. The ranks
// of a line are done at different times; those done early would disturb pieces that are still on
// the links of their next axis.
bool phases_meet(const PlanFrame& frame, std::span<const Pipeline> pipelines) {
  const bool lines =
      std::find(frame.walk.begin(), frame.walk.end(), Walk::to_ends) != frame.walk.end();
  if (!pipelines.front().phases.empty()) return true;
  return lines && pipelines.front().order != pipelines.back().order;
}

// A stage that is under way, from step `first` of its phase on.
struct Turn {
  Stage* stage;
  int first;

  int last() const { return first + stage->steps() - 1; }
};

// A join of everything that the stages of a phase sent.
std::uint32_t end_of(std::span<const Turn> turns, const Ranks& ranks, const Send& join,
                     CollectivePlan& plan) {
  Sends waits;
  for (const Turn& turn : turns) {
    for (const int rank : ranks.all()) {
      const Sends done = turn.stage->done(rank);
      waits.insert(waits.end(), done.begin(), done.end());
    }
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  return plan.add(join, waits);
}

// Writes pipelines phase by phase; those on the ports of one axis take turns.
class Phases {
 public:
  // Where the first phase begins.
  struct Begin {
    const Stage* after = nullptr;
    std::uint32_t start = kNone;  // a send
    int step = 0;                 // of the plan
    std::size_t stage = 0;        // of the pipelines
  };

  Phases(CollectivePlan& plan, const Ranks& ranks, const PlanFrame& frame,
         std::span<const Pipeline> pipelines, const Begin& begin)
      : plan_(plan),
        ranks_(ranks),
        frame_(frame),
        pipelines_(pipelines),
        begin_(begin),
        step_(begin.step),
        made_(pipelines.size()) {
    if (begin.after != nullptr) after_ = {begin.after};
    start_ = begin.start;
  }

  void add() {
    int count = 0;
    for (const Pipeline& p : pipelines_)
      count = std::max(count, phase_of(p, p.order.size() - 1) + 1);
    for (int phase = static_cast<int>(begin_.stage); phase < count; ++phase) add(phase);
  }

  // A join of all that the latest phase sent.
  std::uint32_t end() {
    const int stage = plan_.sends.back().stage;
    return end_of(turns_, ranks_, Send{.phase = step_ - 1, .stage = stage}, plan_);
  }
  int step() const { return step_; }

 private:
  void add(int phase) {
    if (!turns_.empty() && phases_meet(frame_, pipelines_)) {
      start_ = end();
      meet_ = true;
    }
    take_turns(phase);
    int last = 0;
    for (const Turn& turn : turns_) last = std::max(last, turn.last());
    for (int step = 1; step <= last; ++step, ++step_) {
      throw_if_interrupted();
      for (const Turn& turn : turns_)
        if (step >= turn.first && step <= turn.last())
          turn.stage->step(step - turn.first + 1, step_);
    }
  }

  void take_turns(int phase) {
    turns_.clear();
    std::map<std::pair<int, int>, Turn> latest;  // by axis and direction
    for (std::size_t p = 0; p < pipelines_.size(); ++p) {
      const Pipeline& pipeline = pipelines_[p];
      const std::size_t s = begin_.stage + made_[p].size();
      if (s == pipeline.order.size() || phase_of(pipeline, s) != phase) continue;
      const int axis = pipeline.order[s];
      const auto ahead = latest.find({axis, pipeline.direction});
      const bool first = ahead == latest.end();
      std::vector<const Stage*> after;
      if (!meet_) after = made_[p].empty() ? after_ : Stages{made_[p].back().get()};
      if (!first) after.push_back(ahead->second.stage);
      const bool starts = meet_ || made_[p].empty();
      made_[p].push_back(std::make_unique<Stage>(plan_, ranks_, pipeline, s,
                                                 walk_along(frame_, axis), frame_.merged,
                                                 std::move(after), starts ? start_ : kNone));
      const Turn turn{made_[p].back().get(), first ? 1 : ahead->second.last() + 1};
      turns_.push_back(turn);
      latest.insert_or_assign({axis, pipeline.direction}, turn);
    }
  }

  using Stages = std::vector<const Stage*>;

  CollectivePlan& plan_;
  const Ranks& ranks_;
  const PlanFrame& frame_;
  std::span<const Pipeline> pipelines_;
  const Begin begin_;
  int step_;
  std::vector<std::vector<std::unique_ptr<Stage>>> made_;  // [pipelines][stages]
  std::vector<Turn> turns_;                                // of the latest phase
  Stages after_;                 // what a pipeline's first stage waits for
  std::uint32_t start_ = kNone;  // and a send
  bool meet_ = false;            // it is the end of a phase of these
};

}  // namespace

CollectivePlan gather_in_steps(const PlanFrame& frame, std::span<const Pipeline> pipelines) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  const std::size_t count = send_count(plan, frame, pipelines);
  plan.reserve(count, 2 * count);
  // Room for the second half of an all-reduce: what is not touched costs nothing.
  plan.sends.reserve(2 * count);
  const Ranks ranks(plan);
  Phases(plan, ranks, frame, pipelines, {}).add();
  return plan;
}

namespace {

// Pipelines inside as part `part` of the pieces, behind the axes that are passed before.
std::vector<Pipeline> behind(const std::vector<int>& before, std::span<const Pipeline> inside,
                             int part) {
  std::vector<Pipeline> result;
  const auto stages = static_cast<int>(before.size());
  for (Pipeline lane : inside) {
    lane.piece += part * static_cast<int>(inside.size());
    lane.order.insert(lane.order.begin(), before.begin(), before.end());
    for (int& phase : lane.phases) phase += stages;
    if (!lane.phases.empty()) {
      std::vector<int> first(before.size());
      std::iota(first.begin(), first.end(), 0);
      lane.phases.insert(lane.phases.begin(), first.begin(), first.end());
    }
    result.push_back(std::move(lane));
  }
  return result;
}

}  // namespace

CollectivePlan gather_in_pieces(const PlanFrame& frame, const std::vector<std::vector<int>>& units,
                                std::span<const Pipeline> inside, int direction) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  plan.pipelined = true;
  const Ranks ranks(plan);
  std::vector<int> order;
  for (const std::vector<int>& unit : units) order.insert(order.end(), unit.begin(), unit.end());
  const int parts = std::max(1, static_cast<int>(inside.size()));
  std::vector<std::unique_ptr<Stage>> ahead;
  std::uint32_t left = kNone;  // the end of the piece before, inside
  Phases::Begin next;
  next.stage = order.size();
  const int count = static_cast<int>(frame.piece_share.size()) / parts;
  for (int p = 0; p < count; ++p) {
    throw_if_interrupted();
    Pipeline pipeline{p * parts, order, direction};
    pipeline.pieces = parts;
    const std::vector<Pipeline> lanes = behind(order, inside, p);
    if (!lanes.empty()) pipeline.order = lanes.front().order;
    std::vector<std::unique_ptr<Stage>> stages;
    for (const std::vector<int>& unit : units) {
      for (const int axis : unit) {
        const std::size_t s = stages.size();
        std::vector<const Stage*> after;
        if (s > 0) after.push_back(stages.back().get());
        // The ports of a unit are free when the piece before has left its last axis.
        const bool enters = axis == unit.front() && !ahead.empty();
        if (enters) after.push_back(ahead[s + unit.size() - 1].get());
        stages.push_back(std::make_unique<Stage>(plan, ranks, pipeline, s, walk_along(frame, axis),
                                                 false, std::move(after)));
        for (int step = 1; step <= stages.back()->steps(); ++step)
          stages.back()->step(step, next.step++);
      }
    }
    if (!lanes.empty()) {
      next.after = stages.back().get();
      next.start = left;
      Phases within(plan, ranks, frame, lanes, next);
      within.add();
      next.step = within.step();
      if (p + 1 < count) left = within.end();
    }
    ahead = std::move(stages);
  }
  return plan;
}

}  // namespace shardsim
