#include "plan/link_sharing.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/followers.h"

namespace shardsim {

namespace {

constexpr double kTogether = 1 + 1e-12;  // times that rounding alone keeps apart

struct Event {
  enum class Kind : std::uint8_t { end, departure, arrival };

  Seconds at;
  Kind kind = Kind::end;  // an op ends, its message leaves, its message has arrived
  std::uint32_t op = 0;
  std::uint32_t turn = 0;  // of an arrival: Message::turn when it was foreseen
  auto operator<=>(const Event&) const = default;
};

struct Message {
  Bytes left;
  BytesPerSec rate;
  Seconds since;           // when `left` was so much
  std::uint32_t turn = 0;  // counts how often its arrival has changed
  bool seen = false;       // by the present call of share_anew
};

struct SharedLink {
  double parts = 0;                // flows of the messages on it
  std::vector<std::uint32_t> ops;  // whose messages they are
  bool changed = false;
};

class Flowing {
 public:
  Flowing(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes)
      : made_(made),
        network_(network),
        bytes_(bytes),
        links_(network.links.size()),
        messages_(made.ops.size()),
        missing_(made.ops.size()),
        after_(followers_of(made.wait_offset, made.waits)) {
    for (std::size_t op = 0; op < missing_.size(); ++op)
      missing_[op] = made.wait_offset[op + 1] - made.wait_offset[op];
  }

  Seconds run() {
    for (std::uint32_t op = 0; op < missing_.size(); ++op)
      if (missing_[op] == 0) start(op, Seconds{});
    Seconds now;
    for (std::size_t count = 0; !events_.empty(); ++count) {
      if (count % 4096 == 0) throw_if_interrupted();
      now = events_.top().at;
      while (!events_.empty() && events_.top().at <= now * kTogether) {
        const Event event = events_.top();
        events_.pop();
        take(event, now);
      }
      share_anew(now);
    }
    return end_;
  }

 private:
  void start(std::uint32_t op, Seconds now) {
    const Op& what = like(op);
    const bool moves = what.kind == OpKind::transfer && what.bytes > Bytes{};
    const Seconds after = what.kind == OpKind::join ? now : now + what.seconds;
    events_.push({after, moves ? Event::Kind::departure : Event::Kind::end, op, 0});
  }

  void take(const Event& event, Seconds now) {
    switch (event.kind) {
      case Event::Kind::end:
        end_ = std::max(end_, now);
        for (const std::uint32_t next : after_.of(event.op))
          if (--missing_[next] == 0) start(next, now);
        return;
      case Event::Kind::departure:
        depart(event.op, now);
        return;
      case Event::Kind::arrival:
        if (event.turn == messages_[event.op].turn) arrive(event.op, now);
        return;
    }
  }

  void depart(std::uint32_t op, Seconds now) {
    messages_[op].left = bytes_ * (like(op).bytes / kTemplateBytes);
    messages_[op].since = now;
    each_link(op, [&](SharedLink& link, double parts) {
      link.parts += parts;
      link.ops.push_back(op);
    });
  }

  void arrive(std::uint32_t op, Seconds now) {
    ++messages_[op].turn;
    each_link(op, [&](SharedLink& link, double parts) {
      link.ops.erase(std::find(link.ops.begin(), link.ops.end(), op));
      link.parts = link.ops.empty() ? 0 : link.parts - parts;  // nothing that rounding left
    });
    events_.push({now, Event::Kind::end, op, 0});
  }

  // The links of a message and its parts of each: a route lists a link once for every load on it.
  template <class Visit>
  void each_link(std::uint32_t op, Visit visit) {
    const std::span<const std::uint32_t> route = network_.route(like(op).route);
    for (std::size_t at = 0, last = 0; at < route.size(); at = last) {
      while (last < route.size() && route[last] == route[at]) ++last;
      SharedLink& link = links_[route[at]];
      visit(link, like(op).flows * static_cast<double>(last - at));
      if (!link.changed) changed_.push_back(route[at]);
      link.changed = true;
    }
  }

  BytesPerSec least_share(const Op& op) const {
    BytesPerSec least{std::numeric_limits<double>::infinity()};
    for (const std::uint32_t link : network_.route(op.route))
      least = std::min(least, network_.links[link].bandwidth * (op.flows / links_[link].parts));
    return least;
  }

  // New rates for all messages on links whose messages have changed.
  void share_anew(Seconds now) {
    touched_.clear();
    for (const std::uint32_t link : changed_) {
      links_[link].changed = false;
      for (const std::uint32_t op : links_[link].ops) {
        if (messages_[op].seen) continue;
        messages_[op].seen = true;
        touched_.push_back(op);
      }
    }
    changed_.clear();
    for (const std::uint32_t op : touched_) {
      messages_[op].seen = false;
      run_at(op, least_share(like(op)), now);
    }
  }

  void run_at(std::uint32_t op, BytesPerSec rate, Seconds now) {
    Message& message = messages_[op];
    if (rate <= message.rate * kTogether && message.rate <= rate * kTogether) return;
    message.left = std::max(Bytes{}, message.left - message.rate * (now - message.since));
    message.since = now;
    message.rate = rate;
    events_.push({now + message.left / rate, Event::Kind::arrival, op, ++message.turn});
  }

  const Op& like(std::uint32_t op) const { return made_.like[made_.ops[op].like]; }

  const CollectiveTemplate& made_;
  const OpGraph& network_;
  Bytes bytes_;
  std::vector<SharedLink> links_;
  std::vector<Message> messages_;       // [ops]
  std::vector<std::uint32_t> missing_;  // [ops] that it still waits for
  Followers after_;
  std::vector<std::uint32_t> changed_;  // links
  std::vector<std::uint32_t> touched_;  // ops
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  Seconds end_;
};

}  // namespace

Seconds time_on_shared_links(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes) {
  return Flowing(made, network, bytes).run();
}

}  // namespace shardsim
