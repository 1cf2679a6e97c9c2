#include "plan/gather.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/file.h"
#include "plan/gather_parts.h"

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

using Sends = std::vector<std::uint32_t>;

int phase_of(const Pipeline& pipeline, std::size_t stage) {
  return pipeline.phases.empty() ? static_cast<int>(stage) : pipeline.phases[stage];
}

// Representative ranks and their places in a list.
class Ranks {
 public:
  explicit Ranks(const CollectivePlan& plan)
      : plan_(plan), all_(plan.representatives()), slot_(static_cast<std::size_t>(plan.ranks())) {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      slot_[static_cast<std::size_t>(all_[r])] = static_cast<std::uint32_t>(r);
    }
  }
  const std::vector<int>& all() const { return all_; }
  // The place of the representative of a rank.
  std::uint32_t slot(int rank) const {
    return slot_[static_cast<std::size_t>(plan_.representative(rank))];
  }

 private:
  const CollectivePlan& plan_;
  std::vector<int> all_;
  std::vector<std::uint32_t> slot_;  // [ranks]
};

// One pipeline in one stage: writes its steps, and knows what must have ended for a rank to hold
// all of its bundle.
class Stage {
 public:
  // `before` is the stage before, `ahead` the same stage of the piece before; nullptr: none.
  Stage(CollectivePlan& plan, const Ranks& ranks, const Pipeline& pipeline, std::size_t stage,
        Walk walk, bool merged, const Stage* before, const Stage* ahead = nullptr)
      : plan_(plan),
        ranks_(ranks),
        pipeline_(pipeline),
        stage_(stage),
        axis_(pipeline.order[stage]),
        size_(plan.sizes[static_cast<std::size_t>(axis_)]),
        walk_(walk),
        before_(before),
        ahead_(ahead) {
    for (std::size_t s = 0; s < stage; ++s) spread_ |= 1u << pipeline.order[s];
    if (walk != Walk::exchange) {
      lanes_.push_back({walk == Walk::to_ends ? 1 : pipeline.direction, none()});
    }
    if (walk == Walk::to_ends) lanes_.push_back({-1, none()});
    merged_ = merged && walk == Walk::to_ends;
  }

  // Begins when this send has ended instead of rank by rank.
  void start_after(std::uint32_t send) { start_ = send; }

  int steps() const {
    if (walk_ == Walk::exchange || merged_) return 1;
    return pipeline_.steps < 0 ? size_ - 1 : pipeline_.steps;
  }

  void step(int step, int phase) {
    if (walk_ == Walk::exchange) return exchange(phase);
    for (Lane& lane : lanes_) {
      if (merged_) {
        all_at_once(lane, phase);
        continue;
      }
      Sends now = lane.latest;
      for (std::size_t r = 0; r < ranks_.all().size(); ++r) {
        const int rank = ranks_.all()[r];
        if (!passes_on(rank, lane.direction, step)) continue;
        Send send = new_send(rank, shifted(plan_.sizes, rank, axis_, lane.direction), phase);
        send.chunks.origin = shifted(plan_.sizes, rank, axis_, -lane.direction * (step - 1));
        send.share = plan_.share_of(send.chunks);
        send.hop_along(axis_, lane.direction);
        now[r] = step == 1 ? plan_.add(send, ready(rank))
                           : plan_.add(send, Waits(arrived(lane, rank), lane.latest[r]).span());
      }
      lane.latest = std::move(now);
    }
  }

  // What brought the bundle to a rank, and the rank's own last sends.
  Sends done(int rank) const {
    if (walk_ == Walk::exchange) return {join_[ranks_.slot(rank)]};
    Sends result;
    for (const Lane& lane : lanes_) {
      for (const std::uint32_t w : {arrived(lane, rank), lane.latest[ranks_.slot(rank)]}) {
        const bool known = std::find(result.begin(), result.end(), w) != result.end();
        if (w != kNone && !known) result.push_back(w);
      }
    }
    return result;
  }

 private:
  struct Lane {
    int direction = 1;
    Sends latest;  // [representatives] that left them
  };

  Sends none() const { return Sends(ranks_.all().size(), kNone); }

  Sends ready(int rank) const {
    Sends result;
    if (start_ != kNone) {
      result.push_back(start_);
    } else if (before_ != nullptr) {
      result = before_->done(rank);
    }
    if (ahead_ == nullptr) return result;
    const Sends port = ahead_->done(rank);
    result.insert(result.end(), port.begin(), port.end());
    return result;
  }

  int coordinate(int rank) const {
    return rank_coordinates(plan_.sizes, rank)[static_cast<std::size_t>(axis_)];
  }

  // Whether in this step a rank has a bundle to pass on, and somebody to pass it to.
  bool passes_on(int rank, int direction, int step) const {
    if (walk_ == Walk::around) return true;
    const int at = coordinate(rank);
    const int origin = at - direction * (step - 1);
    const int to = at + direction;
    return origin >= 0 && origin < size_ && to >= 0 && to < size_;
  }

  // The latest send into a rank on a lane.
  std::uint32_t arrived(const Lane& lane, int rank) const {
    if (walk_ == Walk::to_ends) {
      const int behind = coordinate(rank) - lane.direction;
      if (behind < 0 || behind >= size_) return kNone;
    }
    return lane.latest[ranks_.slot(shifted(plan_.sizes, rank, axis_, -lane.direction))];
  }

  Send new_send(int from, int to, int phase) const {
    Send send{.from = from, .to = to, .chunks = {.origin = from, .piece = pipeline_.piece}};
    send.chunks.spread = spread_;
    send.phase = phase;
    send.stage = phase_of(pipeline_, stage_);
    return send;
  }

  // Each rank of a line passes on the bundles of all behind it, and its own, when those have come.
  void all_at_once(Lane& lane, int phase) {
    const std::size_t count = ranks_.all().size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t r = lane.direction > 0 ? i : count - 1 - i;
      const int rank = ranks_.all()[r];
      if (!passes_on(rank, lane.direction, 1)) continue;
      const int at = coordinate(rank);
      Send send = new_send(rank, shifted(plan_.sizes, rank, axis_, lane.direction), phase);
      send.chunks.origins = lane.direction > 0 ? at + 1 : size_ - at;
      send.chunks.run = 1u << axis_;
      if (lane.direction > 0) send.chunks.origin = shifted(plan_.sizes, rank, axis_, -at);
      send.share = plan_.share_of(send.chunks);
      send.hop_along(axis_, lane.direction);
      Sends waits = ready(rank);
      const std::uint32_t behind = arrived(lane, rank);
      if (behind != kNone) waits.push_back(behind);
      lane.latest[r] = plan_.add(send, waits);
    }
  }

  // Every bundle straight to every other rank of the axis, and a join of all that a rank sent and
  // received.
  void exchange(int phase) {
    const auto first = static_cast<std::uint32_t>(plan_.sends.size());
    const auto count = static_cast<std::uint32_t>(ranks_.all().size());
    for (int d = 1; d < size_; ++d) {
      for (const int rank : ranks_.all()) {
        Send send = new_send(rank, shifted(plan_.sizes, rank, axis_, d), phase);
        send.share = plan_.share_of(send.chunks);
        plan_.add(send, ready(rank));
      }
    }
    const bool last = stage_ + 1 == pipeline_.order.size();
    if (last && pipeline_.piece + 1 == static_cast<int>(plan_.piece_share.size())) return;
    for (const int rank : ranks_.all()) {
      Sends waits;
      for (int d = 1; d < size_; ++d) {
        const std::uint32_t round = first + static_cast<std::uint32_t>(d - 1) * count;
        const std::uint32_t in = round + ranks_.slot(shifted(plan_.sizes, rank, axis_, -d));
        const std::uint32_t out = round + ranks_.slot(rank);
        waits.push_back(in);
        if (out != in) waits.push_back(out);
      }
      join_.push_back(plan_.add(new_send(rank, rank, phase), waits));
    }
  }

  CollectivePlan& plan_;
  const Ranks& ranks_;
  const Pipeline& pipeline_;
  std::size_t stage_;
  int axis_;
  int size_;
  Walk walk_;
  const Stage* before_;
  const Stage* ahead_;
  bool merged_ = false;
  std::uint32_t start_ = kNone;
  std::uint32_t spread_ = 0;
  std::vector<Lane> lanes_;
  Sends join_;  // [representatives] of an exchange
};

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
  Phases(CollectivePlan& plan, const PlanFrame& frame, std::span<const Pipeline> pipelines)
      : plan_(plan), frame_(frame), pipelines_(pipelines), ranks_(plan), made_(pipelines.size()) {}

  int count() const {
    int result = 0;
    for (const Pipeline& p : pipelines_)
      result = std::max(result, phase_of(p, p.order.size() - 1) + 1);
    return result;
  }

  void add(int phase) {
    if (!turns_.empty() && phases_meet(frame_, pipelines_))
      start_ = end_of(turns_, ranks_, Send{.phase = step_ - 1, .stage = phase - 1}, plan_);
    take_turns(phase);
    int steps = 0;
    for (const Turn& turn : turns_) steps = std::max(steps, turn.last());
    for (int step = 1; step <= steps; ++step, ++step_) {
      throw_if_interrupted();
      for (const Turn& turn : turns_)
        if (step >= turn.first && step <= turn.last())
          turn.stage->step(step - turn.first + 1, step_);
    }
  }

 private:
  void take_turns(int phase) {
    turns_.clear();
    std::map<std::pair<int, int>, Turn> latest;  // by axis and direction
    for (std::size_t p = 0; p < pipelines_.size(); ++p) {
      const Pipeline& pipeline = pipelines_[p];
      const std::size_t s = made_[p].size();
      if (s == pipeline.order.size() || phase_of(pipeline, s) != phase) continue;
      const int axis = pipeline.order[s];
      const auto ahead = latest.find({axis, pipeline.direction});
      const bool first = ahead == latest.end();
      made_[p].push_back(std::make_unique<Stage>(
          plan_, ranks_, pipeline, s, walk_along(frame_, axis), frame_.merged,
          s == 0 ? nullptr : made_[p].back().get(), first ? nullptr : ahead->second.stage));
      made_[p].back()->start_after(start_);
      const Turn turn{made_[p].back().get(), first ? 1 : ahead->second.last() + 1};
      turns_.push_back(turn);
      latest.insert_or_assign({axis, pipeline.direction}, turn);
    }
  }

  CollectivePlan& plan_;
  const PlanFrame& frame_;
  std::span<const Pipeline> pipelines_;
  const Ranks ranks_;
  std::vector<std::vector<std::unique_ptr<Stage>>> made_;  // [pipelines][stages]
  std::vector<Turn> turns_;                                // of the latest phase
  std::uint32_t start_ = kNone;                            // join that it begins after
  int step_ = 0;                                           // of all phases
};

}  // namespace

CollectivePlan gather_in_steps(const PlanFrame& frame, std::span<const Pipeline> pipelines) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  const std::size_t count = send_count(plan, frame, pipelines);
  plan.reserve(count, 2 * count);
  // Room for the second half of an all-reduce: what is not touched costs nothing.
  plan.sends.reserve(2 * count);
  Phases phases(plan, frame, pipelines);
  for (int phase = 0; phase < phases.count(); ++phase) phases.add(phase);
  return plan;
}

CollectivePlan gather_in_pieces(const PlanFrame& frame, const std::vector<std::vector<int>>& units,
                                int direction) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  plan.pipelined = true;
  const Ranks ranks(plan);
  std::vector<int> order;
  for (const std::vector<int>& unit : units) order.insert(order.end(), unit.begin(), unit.end());
  std::vector<Pipeline> pipelines;
  for (std::size_t p = 0; p < frame.piece_share.size(); ++p) {
    pipelines.push_back({static_cast<int>(p), order, direction});
  }
  std::vector<std::unique_ptr<Stage>> ahead;
  int phase = 0;
  for (const Pipeline& pipeline : pipelines) {
    throw_if_interrupted();
    std::vector<std::unique_ptr<Stage>> stages;
    for (const std::vector<int>& unit : units) {
      for (const int axis : unit) {
        const std::size_t s = stages.size();
        const Stage* before = s == 0 ? nullptr : stages.back().get();
        // The ports of a unit are free when the piece before has left its last axis.
        const bool enters = axis == unit.front() && !ahead.empty();
        const Stage* port = enters ? ahead[s + unit.size() - 1].get() : nullptr;
        stages.push_back(std::make_unique<Stage>(plan, ranks, pipeline, s, walk_along(frame, axis),
                                                 false, before, port));
        for (int step = 1; step <= stages.back()->steps(); ++step) {
          stages.back()->step(step, phase++);
        }
      }
    }
    ahead = std::move(stages);
  }
  return plan;
}

}  // namespace shardsim
