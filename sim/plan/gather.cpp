#include "plan/gather.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/must.h"

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

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

// Up to two sends to wait for, kNone and repetition left out.
struct Waits {
  Waits(std::uint32_t a, std::uint32_t b) {
    if (a != kNone) sends[count++] = a;
    if (b != kNone && b != a) sends[count++] = b;
  }
  std::span<const std::uint32_t> span() const { return {sends.data(), count}; }

  std::array<std::uint32_t, 2> sends = {};
  std::size_t count = 0;
};

}  // namespace

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
        Walk walk, const Stage* before, const Stage* ahead = nullptr)
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
  }

  int steps() const {
    if (walk_ == Walk::exchange) return 1;
    return pipeline_.steps < 0 ? size_ - 1 : pipeline_.steps;
  }

  void step(int step, int phase) {
    if (walk_ == Walk::exchange) return exchange(phase);
    for (Lane& lane : lanes_) {
      Sends now = lane.latest;
      for (std::size_t r = 0; r < ranks_.all().size(); ++r) {
        const int rank = ranks_.all()[r];
        if (!passes_on(rank, lane.direction, step)) continue;
        Send send = new_send(rank, shifted(plan_.sizes, rank, axis_, lane.direction), phase);
        send.chunks.origin = shifted(plan_.sizes, rank, axis_, -lane.direction * (step - 1));
        send.share = plan_.share_of(send.chunks);
        send.axis = axis_;
        send.direction = lane.direction;
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
    Sends result = before_ == nullptr ? Sends{} : before_->done(rank);
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
    send.stage = static_cast<int>(stage_);
    return send;
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
  std::uint32_t spread_ = 0;
  std::vector<Lane> lanes_;
  Sends join_;  // [representatives] of an exchange
};

Walk walk_along(const PlanFrame& frame, int axis) {
  return frame.walk.empty() ? Walk::around : frame.walk[static_cast<std::size_t>(axis)];
}

}  // namespace

namespace {

std::size_t send_count(const CollectivePlan& plan, std::span<const Pipeline> pipelines) {
  std::size_t steps = 0;
  for (const Pipeline& p : pipelines) {
    for (const int axis : p.order) {
      const int size = plan.sizes[static_cast<std::size_t>(axis)];
      steps += static_cast<std::size_t>(p.steps < 0 ? size - 1 : p.steps);
    }
  }
  return steps * plan.representatives().size();
}

}  // namespace

CollectivePlan gather_in_steps(const PlanFrame& frame, std::span<const Pipeline> pipelines) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  const Ranks ranks(plan);
  std::size_t stages = 0;
  for (const Pipeline& p : pipelines) stages = std::max(stages, p.order.size());
  std::vector<std::vector<std::unique_ptr<Stage>>> made(pipelines.size());
  int phase = 0;
  plan.reserve(send_count(plan, pipelines), 2 * send_count(plan, pipelines));
  for (std::size_t s = 0; s < stages; ++s) {
    int steps = 0;
    for (std::size_t p = 0; p < pipelines.size(); ++p) {
      const Stage* before = s == 0 ? nullptr : made[p].back().get();
      const Walk walk = walk_along(frame, pipelines[p].order[s]);
      made[p].push_back(std::make_unique<Stage>(plan, ranks, pipelines[p], s, walk, before));
      steps = std::max(steps, made[p].back()->steps());
    }
    for (int step = 1; step <= steps; ++step) {
      throw_if_interrupted();
      for (const auto& pipeline : made) {
        if (step <= pipeline.back()->steps()) pipeline.back()->step(step, phase);
      }
      ++phase;
    }
  }
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
                                                 before, port));
        for (int step = 1; step <= stages.back()->steps(); ++step) {
          stages.back()->step(step, phase++);
        }
      }
    }
    ahead = std::move(stages);
  }
  return plan;
}

namespace {

// One send that every rank makes, described relative to the sender: the chunk of the rank at
// `offsets` behind it (in the pipeline's direction), in stage `stage`, as step `step` of that ring.
struct Item {
  std::size_t pipeline = 0;
  std::size_t stage = 0;
  int step = 1;
  std::vector<int> offsets;          // per group axis, of the origin, behind the sender
  std::uint32_t brought_by = kNone;  // the item that brings the chunk to the sender; kNone: its own
};

// All items, in the order (pipeline, stage, offsets).
std::vector<Item> all_items(std::span<const int> sizes, std::span<const Pipeline> pipelines) {
  std::vector<Item> items;
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    // Chunks that a rank holds before the stage, and the item that brought each.
    std::vector<std::pair<std::vector<int>, std::uint32_t>> held = {
        {std::vector<int>(sizes.size(), 0), kNone}};
    for (std::size_t stage = 0; stage < pipelines[p].order.size(); ++stage) {
      const auto axis = static_cast<std::size_t>(pipelines[p].order[stage]);
      auto next = held;
      for (const auto& [offsets, source] : held) {
        std::uint32_t brought_by = source;
        for (int step = 1; step < sizes[axis]; ++step) {
          if (items.size() % 4096 == 0) throw_if_interrupted();
          Item item{p, stage, step, offsets, brought_by};
          item.offsets[axis] = step - 1;
          brought_by = static_cast<std::uint32_t>(items.size());
          items.push_back(item);
          std::vector<int> arrived = offsets;
          arrived[axis] = step;
          next.emplace_back(std::move(arrived), brought_by);
        }
      }
      held = std::move(next);
    }
  }
  return items;
}

// The order in which the ports of one rank send the items; all ranks do the same at the same time.
std::vector<std::uint32_t> greedy_order(const std::vector<Item>& items,
                                        std::span<const Pipeline> pipelines,
                                        std::span<const double> duration,
                                        std::span<const int> port_of_item, int ports) {
  using Key = std::tuple<std::size_t, int, int, std::uint32_t>;  // stage, step, distance, item
  using Ready = std::priority_queue<Key, std::vector<Key>, std::greater<>>;
  using Event = std::pair<double, std::uint32_t>;  // end, item
  std::vector<Ready> ready(static_cast<std::size_t>(ports));
  std::vector<bool> busy(static_cast<std::size_t>(ports), false);
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<std::vector<std::uint32_t>> followers(items.size());
  std::vector<std::uint32_t> order;
  const auto offer = [&](std::uint32_t i) {
    int distance = 0;
    for (const int axis : pipelines[items[i].pipeline].order) {
      distance += items[i].offsets[static_cast<std::size_t>(axis)];
    }
    ready[static_cast<std::size_t>(port_of_item[i])].emplace(items[i].stage, items[i].step,
                                                             distance, i);
  };
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].brought_by == kNone) {
      offer(i);
    } else {
      followers[items[i].brought_by].push_back(i);
    }
  }
  double now = 0;
  while (true) {
    for (std::size_t port = 0; port < ready.size(); ++port) {
      if (busy[port] || ready[port].empty()) continue;
      const std::uint32_t i = std::get<3>(ready[port].top());
      ready[port].pop();
      busy[port] = true;
      order.push_back(i);
      events.emplace(now + duration[i], i);
    }
    if (events.empty()) break;
    now = events.top().first;
    // Chunks that end together up to rounding free their ports together.
    while (!events.empty() && events.top().first <= now * (1 + 1e-12)) {
      const std::uint32_t i = events.top().second;
      events.pop();
      busy[static_cast<std::size_t>(port_of_item[i])] = false;
      for (const std::uint32_t f : followers[i]) offer(f);
    }
  }
  must(order.size() == items.size(), "every chunk is sent");
  return order;
}

// Writes the items into a plan, in the order in which the ports send them.
class AsItArrives {
 public:
  AsItArrives(CollectivePlan& plan, const std::vector<Item>& items,
              std::span<const Pipeline> pipelines)
      : plan_(plan),
        items_(items),
        pipelines_(pipelines),
        ranks_(plan.representatives()),
        slot_(static_cast<std::size_t>(plan.ranks())),
        first_(items.size(), kNone) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      slot_[static_cast<std::size_t>(ranks_[r])] = static_cast<std::uint32_t>(r);
    }
  }

  // The sends of item i, one per representative rank; `before` is the item that its port sends just
  // before, or kNone.
  void add(std::uint32_t i, std::uint32_t before, int phase) {
    first_[i] = static_cast<std::uint32_t>(plan_.sends.size());
    for (const int rank : ranks_) {
      Send send = send_of(items_[i], rank);
      send.phase = phase;
      const std::uint32_t own = before == kNone ? kNone : sent(before, rank);
      plan_.add(send, Waits(arrival(items_[i], rank), own).span());
    }
  }

 private:
  const Pipeline& pipeline_of(const Item& item) const { return pipelines_[item.pipeline]; }

  std::uint32_t sent(std::uint32_t item, int rank) const {
    return first_[item] + slot_[static_cast<std::size_t>(plan_.representative(rank))];
  }

  // The send that brought the item's chunk to `rank`; kNone when it is its own.
  std::uint32_t arrival(const Item& item, int rank) const {
    if (item.brought_by == kNone) return kNone;
    const Pipeline& pipeline = pipeline_of(item);
    const int axis = pipeline.order[items_[item.brought_by].stage];
    return sent(item.brought_by, shifted(plan_.sizes, rank, axis, -pipeline.direction));
  }

  Send send_of(const Item& item, int rank) const {
    const Pipeline& pipeline = pipeline_of(item);
    Send send;
    send.from = rank;
    send.axis = pipeline.order[item.stage];
    send.direction = pipeline.direction;
    send.to = shifted(plan_.sizes, rank, send.axis, pipeline.direction);
    send.chunks = {.origin = rank, .piece = pipeline.piece};
    for (const int a : pipeline.order) {
      const int behind = item.offsets[static_cast<std::size_t>(a)];
      send.chunks.origin =
          shifted(plan_.sizes, send.chunks.origin, a, -pipeline.direction * behind);
    }
    send.share = plan_.share_of(send.chunks);
    return send;
  }

  CollectivePlan& plan_;
  const std::vector<Item>& items_;
  std::span<const Pipeline> pipelines_;
  std::vector<int> ranks_;
  std::vector<std::uint32_t> slot_;   // [ranks] index among the representatives
  std::vector<std::uint32_t> first_;  // [items] the send of the first representative
};

}  // namespace

CollectivePlan gather_as_it_arrives(const PlanFrame& frame, std::span<const Pipeline> pipelines,
                                    std::span<const double> seconds_per_share,
                                    std::span<const int> ports) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  const std::vector<Item> items = all_items(plan.sizes, pipelines);
  std::vector<double> duration(items.size());
  std::vector<int> port(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Pipeline& pipeline = pipelines[items[i].pipeline];
    const auto axis = static_cast<std::size_t>(pipeline.order[items[i].stage]);
    const ChunkSet one{.origin = 0, .piece = pipeline.piece};
    duration[i] = plan.share_of(one) * seconds_per_share[axis];
    port[i] = static_cast<int>(axis) * 2 + (pipeline.direction < 0 && ports[axis] == 2 ? 1 : 0);
  }
  const int port_count = 2 * static_cast<int>(plan.sizes.size());
  AsItArrives sends(plan, items, pipelines);
  std::vector<std::uint32_t> previous(static_cast<std::size_t>(port_count), kNone);  // item by port
  int phase = 0;
  for (const std::uint32_t i : greedy_order(items, pipelines, duration, port, port_count)) {
    throw_if_interrupted();
    std::uint32_t& before = previous[static_cast<std::size_t>(port[i])];
    sends.add(i, before, phase++);
    before = i;
  }
  return plan;
}

std::vector<double> balanced_shares(std::span<const int> sizes, std::span<const double> rates) {
  const std::size_t k = sizes.size();
  double ranks = 1, rate_sum = 0;
  for (std::size_t i = 0; i < k; ++i) {
    ranks *= sizes[i];
    rate_sum += rates[i];
  }
  // rows: axis i, columns: order j; right-hand side (N - 1) * rate_i / sum of rates.
  std::vector<std::vector<double>> m(k, std::vector<double>(k + 1));
  for (std::size_t j = 0; j < k; ++j) {
    double before = 1;
    for (std::size_t s = 0; s < k; ++s) {
      const std::size_t i = (j + s) % k;
      m[i][j] = (sizes[i] - 1) * before;
      before *= sizes[i];
    }
    m[j][k] = (ranks - 1) * rates[j] / rate_sum;
  }
  for (std::size_t c = 0; c < k; ++c) {  // Gauss-Jordan with row pivoting
    std::size_t pivot = c;
    for (std::size_t r = c; r < k; ++r) {
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    }
    if (std::abs(m[pivot][c]) < 1e-12) return {};
    std::swap(m[c], m[pivot]);
    for (std::size_t r = 0; r < k; ++r) {
      if (r == c) continue;
      const double f = m[r][c] / m[c][c];
      for (std::size_t x = c; x <= k; ++x) m[r][x] -= f * m[c][x];
    }
  }
  std::vector<double> shares(k);
  for (std::size_t j = 0; j < k; ++j) {
    shares[j] = m[j][k] / m[j][j];
    if (shares[j] < 0) return {};
  }
  return shares;
}

}  // namespace shardsim
