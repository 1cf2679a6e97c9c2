#include "plan/link_sharing.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"

namespace shardsim {

namespace {

// The least first.
template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<T>>;

// A link and the messages on it. While `weight` of them share it, each of weight 1 is served for
// 1/weight of the time that passes; `served` adds that up, and a message is through when it has
// grown by the message's own time on the link, for each of its weight.
class SharedLink {
 public:
  void enter(std::uint32_t op, Seconds own, double weight, Seconds now) {
    advance(now);
    through_.push({served_ + own / weight, op});
    weight_ += weight;
  }
  bool empty() const { return through_.empty(); }
  Seconds next(Seconds now) const {  // REQUIRES: not empty; now: the time of the last call
    return now + std::max(Seconds{}, through_.top().first - served_) * weight_;
  }
  // Takes off those that are through now; calls left(op) for each and subtracts what it returns,
  // the op's weight.
  template <class Left>
  void leave(Seconds now, Left left) {
    constexpr double kTogether = 1 + 1e-12;
    advance(now);
    served_ = through_.top().first;
    while (!through_.empty() && through_.top().first <= served_ * kTogether) {
      const std::uint32_t op = through_.top().second;
      through_.pop();
      weight_ -= left(op);
    }
    if (!through_.empty()) return;
    weight_ = 0;  // without what rounding left
    served_ = {};
  }

  std::uint32_t turn = 0;  // counts how often its next departure has changed

 private:
  void advance(Seconds now) {
    if (weight_ > 0) served_ += (now - at_) / weight_;
    at_ = now;
  }

  Earliest<std::pair<Seconds, std::uint32_t>> through_;  // served_ at that time, op
  Seconds served_, at_;
  double weight_ = 0;
};

struct Event {
  enum class Kind : std::uint8_t { end, departure, through };

  Seconds at;
  Kind kind = Kind::end;   // an op ends, its message leaves, a link is through with one
  std::uint32_t who = 0;   // op or link
  std::uint32_t turn = 0;  // of the link
  auto operator<=>(const Event&) const = default;
};

class Flowing {
 public:
  Flowing(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes)
      : made_(made),
        network_(network),
        bytes_(bytes),
        links_(network.links.size()),
        missing_(made.ops.size()),
        passing_(made.ops.size()) {
    followers();
  }

  Seconds run() {
    for (std::uint32_t i = 0; i < missing_.size(); ++i)
      if (missing_[i] == 0) start(i, Seconds{});
    Seconds last;
    for (std::size_t count = 0; !events_.empty(); ++count) {
      if (count % 4096 == 0) throw_if_interrupted();
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::Kind::end) last = event.at;
      take(event);
    }
    return last;
  }

 private:
  // CSR of the ops that wait for each; how many each waits for.
  void followers() {
    first_.assign(made_.ops.size() + 1, 0);
    for (const std::uint32_t w : made_.waits) ++first_[w + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    who_.resize(made_.waits.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < missing_.size(); ++i) {
      missing_[i] = made_.wait_offset[i + 1] - made_.wait_offset[i];
      for (std::uint32_t w = made_.wait_offset[i]; w < made_.wait_offset[i + 1]; ++w)
        who_[next[made_.waits[w]]++] = i;
    }
  }

  void start(std::uint32_t i, Seconds now) {
    const Op& op = like(i);
    const Seconds after = op.kind == OpKind::join ? now : now + op.seconds;
    const bool moves = op.kind == OpKind::transfer && op.bytes > Bytes{};
    events_.push({after, moves ? Event::Kind::departure : Event::Kind::end, i, 0});
  }

  void take(const Event& event) {
    switch (event.kind) {
      case Event::Kind::end:
        for (std::uint32_t at = first_[event.who]; at < first_[event.who + 1]; ++at)
          if (--missing_[who_[at]] == 0) start(who_[at], event.at);
        return;
      case Event::Kind::departure:
        depart(event.who, event.at);
        return;
      case Event::Kind::through:
        if (event.turn == links_[event.who].turn) pass(event.who, event.at);
        return;
    }
  }

  // A route lists a link once for every load on it.
  void depart(std::uint32_t i, Seconds now) {
    const Op& op = like(i);
    const std::span<const std::uint32_t> route = network_.route(op.route);
    for (std::size_t at = 0, last = 0; at < route.size(); at = last) {
      while (last < route.size() && route[last] == route[at]) ++last;
      const Bytes load = bytes_ * (op.bytes / kTemplateBytes) * static_cast<double>(last - at);
      SharedLink& link = links_[route[at]];
      link.enter(i, load / network_.links[route[at]].bandwidth, op.flows, now);
      ++passing_[i];
      look_ahead(route[at], now);
    }
  }

  void pass(std::uint32_t link, Seconds now) {
    links_[link].leave(now, [&](std::uint32_t i) {
      if (--passing_[i] == 0) events_.push({now, Event::Kind::end, i, 0});
      return like(i).flows;
    });
    look_ahead(link, now);
  }

  void look_ahead(std::uint32_t index, Seconds now) {
    SharedLink& link = links_[index];
    ++link.turn;
    if (!link.empty()) events_.push({link.next(now), Event::Kind::through, index, link.turn});
  }

  const Op& like(std::uint32_t i) const { return made_.like[made_.ops[i].like]; }

  const CollectiveTemplate& made_;
  const OpGraph& network_;
  Bytes bytes_;
  std::vector<SharedLink> links_;
  std::vector<std::uint32_t> missing_;      // [ops] that it still waits for
  std::vector<std::uint32_t> passing_;      // [ops] links that its message is on
  std::vector<std::uint32_t> first_, who_;  // [ops] CSR: those that wait for it
  Earliest<Event> events_;
};

}  // namespace

Seconds time_on_shared_links(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes) {
  return Flowing(made, network, bytes).run();
}

}  // namespace shardsim
