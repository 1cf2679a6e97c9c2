// One pipeline along one axis, as the writers of gather plans step by step make it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/collective_plan.h"
#include "plan/gather.h"
#include "plan/gather_parts.h"

namespace shardsim {

using Sends = std::vector<std::uint32_t>;

inline int phase_of(const Pipeline& pipeline, std::size_t stage) {
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
  // A rank begins when its part of the stages `after` and the send `start`, if any, have ended.
  Stage(CollectivePlan& plan, const Ranks& ranks, const Pipeline& pipeline, std::size_t stage,
        Walk walk, bool merged, std::vector<const Stage*> after, std::uint32_t start = kNone)
      : plan_(plan),
        ranks_(ranks),
        pipeline_(pipeline),
        stage_(stage),
        axis_(pipeline.order[stage]),
        size_(plan.sizes[static_cast<std::size_t>(axis_)]),
        walk_(walk),
        after_(std::move(after)),
        start_(start) {
    for (std::size_t s = 0; s < stage; ++s) spread_ |= 1u << pipeline.order[s];
    if (walk != Walk::exchange) {
      lanes_.push_back({walk == Walk::to_ends ? 1 : pipeline.direction, none()});
    }
    if (walk == Walk::to_ends) lanes_.push_back({-1, none()});
    merged_ = merged && walk == Walk::to_ends;
  }

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
    if (start_ != kNone) result.push_back(start_);
    for (const Stage* stage : after_) {
      const Sends done = stage->done(rank);
      result.insert(result.end(), done.begin(), done.end());
    }
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
    send.chunks.pieces = pipeline_.pieces;
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
    const int next = pipeline_.piece + pipeline_.pieces;
    if (last && next == static_cast<int>(plan_.piece_share.size())) return;
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
  Pipeline pipeline_;
  std::size_t stage_;
  int axis_;
  int size_;
  Walk walk_;
  std::vector<const Stage*> after_;
  std::uint32_t start_;
  bool merged_ = false;
  std::uint32_t spread_ = 0;
  std::vector<Lane> lanes_;
  Sends join_;  // [representatives] of an exchange
};

}  // namespace shardsim
