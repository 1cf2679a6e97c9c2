// Gathers in which every chunk goes on as it arrives, and the shares that keep unlike axes busy.
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/must.h"
#include "plan/gather.h"
#include "plan/gather_parts.h"

namespace shardsim {

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
    send.hop_along(pipeline.order[item.stage], pipeline.direction);
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

namespace {

// Every rank sends all that a pipeline takes along an axis at once.
CollectivePlan gather_merged(const PlanFrame& frame, std::span<const Pipeline> pipelines) {
  CollectivePlan plan = empty_plan(frame, Collective::all_gather);
  plan.unordered = true;
  const std::vector<int> ranks = plan.representatives();
  for (const Pipeline& pipeline : pipelines) {
    std::uint32_t spread = 0;
    for (const int axis : pipeline.order) {
      for (const int rank : ranks) {
        Send send{.from = rank, .chunks = {.origin = rank, .spread = spread}};
        send.to = shifted(plan.sizes, rank, axis, pipeline.direction);
        send.chunks.piece = pipeline.piece;
        send.share = (plan.sizes[static_cast<std::size_t>(axis)] - 1) * plan.share_of(send.chunks);
        send.hop_along(axis, pipeline.direction);
        plan.add(send, {});
      }
      spread |= 1u << axis;
    }
  }
  return plan;
}

}  // namespace

CollectivePlan gather_as_it_arrives(const PlanFrame& frame, std::span<const Pipeline> pipelines,
                                    std::span<const double> seconds_per_share,
                                    std::span<const int> ports) {
  if (frame.merged) return gather_merged(frame, pipelines);
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
