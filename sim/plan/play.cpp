#include "plan/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "base/check_failed.h"
#include "base/must.h"
#include "plan/chunks.h"

namespace shardsim {

namespace {

using Ranks = std::uint64_t;  // a set, one bit each

Ranks only(std::size_t rank) {
  return Ranks{1} << rank;
}
Ranks all_of(std::size_t n) {
  return n == 64 ? ~Ranks{0} : only(n) - 1;
}

bool reduction(Collective kind) {
  return kind == Collective::reduce_scatter || kind == Collective::all_reduce ||
         kind == Collective::reduce;
}

// Which sends end before a send begins.
class Ancestors {
 public:
  explicit Ancestors(const CollectivePlan& plan) : plan_(plan) {}

  bool has(std::size_t send, std::size_t earlier) {
    for (const std::uint32_t w : plan_.waits_for(send)) {  // most often it waits for it itself
      if (w == earlier) return true;
    }
    if (first_.empty()) fill();
    return earlier < send && (bits_[first_[send] + earlier / 64] >> earlier % 64 & 1) != 0;
  }

 private:
  // What a send waits for, and what that waits for.
  void fill() {
    std::size_t words = 0;
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      first_.push_back(words);
      words += i / 64 + 1;
    }
    bits_.assign(words, 0);
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      for (const std::uint32_t w : plan_.waits_for(i)) {  // an earlier send
        for (std::size_t k = 0; k <= w / 64; ++k) bits_[first_[i] + k] |= bits_[first_[w] + k];
        bits_[first_[i] + w / 64] |= std::uint64_t{1} << w % 64;
      }
    }
  }

  const CollectivePlan& plan_;
  std::vector<std::size_t> first_;   // [sends] word of its row
  std::vector<std::uint64_t> bits_;  // a row a send, a bit for each earlier one
};

// A barrier: in the end everybody has heard of everybody's arrival.
std::string play_barrier(const CollectivePlan& plan) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  Ancestors ancestors(plan);
  std::vector<Ranks> told(plan.sends.size(), 0);  // whom the send tells of
  std::vector<Ranks> heard(n, 0);                 // in the end
  for (std::size_t rank = 0; rank < n; ++rank) heard[rank] = only(rank);
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    const Send& send = plan.sends[i];
    if (send.from == send.to) continue;
    if (send.share != 0) return fmt::format("send {} carries something", i);
    told[i] = only(static_cast<std::size_t>(send.from));
    for (std::size_t k = 0; k < i; ++k) {
      if (plan.sends[k].to == send.from && ancestors.has(i, k)) told[i] |= told[k];
    }
    heard[static_cast<std::size_t>(send.to)] |= told[i];
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    const Ranks missing = all_of(n) & ~heard[rank];
    if (missing != 0) {
      return fmt::format("rank {} does not hear of {}", rank, std::countr_zero(missing));
    }
  }
  return "";
}

// The state of all ranks while a plan is played.
class Play {
 public:
  explicit Play(const CollectivePlan& plan)
      : plan_(plan),
        n_(static_cast<std::size_t>(plan.ranks())),
        chunks_(plan),
        ancestors_(plan),
        again_(shards_come_again(plan)),
        held_(n_ * chunks_.count(), 0),
        arrivals_(n_ * chunks_.count()) {
    const bool from_root = plan.kind == Collective::broadcast || plan.kind == Collective::scatter;
    for (std::size_t r = 0; r < n_; ++r) {
      for (std::size_t c = 0; c < chunks_.count(); ++c) {
        const std::size_t owner =
            from_root ? static_cast<std::size_t>(plan.root) : chunks_.origin(c);
        if (reduction(plan.kind)) held_[slot(r, c)] = only(r);
        if (!reduction(plan.kind) && r == owner) held_[slot(r, c)] = complete(c);
      }
    }
    initial_ = held_;
  }

  // Send by send; what is wrong, or "".
  std::string sends() {
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      const Send& send = plan_.sends[i];
      if (send.is_join()) continue;
      double share = 0;
      std::string wrong;
      chunks_.each(send.chunks, [&](std::size_t chunk) {
        share += chunks_.share(chunk);
        if (wrong.empty()) wrong = carry(i, send, chunk);
      });
      if (wrong.empty() && share == 0) wrong = "carries nothing";
      const double off = share / send.share;
      if (wrong.empty() && !(off < 1 + 1e-12 && off > 1 - 1e-12)) wrong = "its share is wrong";
      if (!wrong.empty()) {
        return fmt::format("send {} from {} to {}: {}", i, send.from, send.to, wrong);
      }
    }
    return "";
  }

  // Whether every rank has what it was promised.
  std::string end(std::span<const int> targets) const {
    const bool permutes = plan_.kind == Collective::collective_permute;
    for (std::size_t r = 0; r < n_; ++r) {
      for (std::size_t c = 0; c < chunks_.count(); ++c) {
        const bool promised =
            permutes ? !targets.empty() && targets[chunks_.origin(c)] == static_cast<int>(r)
                     : chunks_.promised(c, r);
        if (promised && held_[slot(r, c)] != complete(c)) {
          return fmt::format("rank {} ends without chunk {} whole and once", r, c);
        }
      }
    }
    return "";
  }

 private:
  struct Arrival {
    std::size_t send = 0;
    Ranks brought = 0;  // by a send that keeps or reduces
  };

  std::size_t slot(std::size_t rank, std::size_t chunk) const {
    return rank * chunks_.count() + chunk;
  }

  Ranks complete(std::size_t chunk) const {
    return reduction(plan_.kind) ? all_of(n_) : only(chunks_.origin(chunk));
  }

  // Adds contributions, each of them for the first time.
  static bool add(Ranks& to, Ranks more) {
    if ((to & more) != 0) return false;
    to |= more;
    return true;
  }

  // What the switch makes of a chunk in a phase: the sum of what the sends to it bring, all at
  // once.
  const Ranks& switch_sum(const Send& send, std::size_t chunk) {
    const auto [at, first] = sums_.try_emplace({send.phase, chunk}, 0);
    for (const Send& other : plan_.sends) {
      if (!first || !other.switch_adds || other.phase != send.phase) continue;
      if (!chunks_.covers(other.chunks, chunk)) continue;
      const Ranks more = held_[slot(static_cast<std::size_t>(other.from), chunk)];
      if (!add(at->second, more)) at->second = 0;  // twice is no sum
    }
    return at->second;
  }

  // One chunk of one send; what is wrong, or "".
  std::string carry(std::size_t i, const Send& send, std::size_t c) {
    const std::size_t from = slot(static_cast<std::size_t>(send.from), c);
    const std::size_t to = slot(static_cast<std::size_t>(send.to), c);
    Ranks& mine = held_[from];
    Ranks& theirs = held_[to];
    const std::string twice = fmt::format("chunk {} arrives twice", c);
    if (send.keeps) {
      Ranks then = initial_[from];
      for (const Arrival& came : arrivals_[from]) {
        if (ancestors_.has(i, came.send) && !add(then, came.brought)) return twice;
      }
      arrivals_[to].push_back({i, then});
      return add(theirs, then) ? "" : twice;
    }
    if (mine == 0) return fmt::format("the sender does not hold chunk {}", c);
    for (const Arrival& came : arrivals_[from]) {
      if (!ancestors_.has(i, came.send)) return fmt::format("does not wait for send {}", came.send);
    }
    arrivals_[to].push_back({i, send.reduces && !send.switch_adds ? mine : 0});
    if (send.switch_adds) {
      theirs = switch_sum(send, c);
    } else if (send.reduces) {
      const Ranks moved = std::exchange(mine, 0);
      if (!add(theirs, moved)) return twice;
    } else {
      if (mine != complete(c)) return fmt::format("copies an incomplete chunk {}", c);
      if (theirs == complete(c) && !again_) return twice;
      theirs = mine;
    }
    return "";
  }

  const CollectivePlan& plan_;
  std::size_t n_;
  Chunks chunks_;
  Ancestors ancestors_;
  bool again_;
  std::vector<Ranks> held_, initial_;  // [ranks][chunks] whose contributions
  std::vector<std::vector<Arrival>> arrivals_;
  std::map<std::pair<int, std::size_t>, Ranks> sums_;  // of the switch, by phase and chunk
};

}  // namespace

bool shards_come_again(const CollectivePlan& plan) {
  const std::uint32_t all = plan.whole(0).spread;
  return plan.kind == Collective::broadcast &&
         std::any_of(plan.sends.begin(), plan.sends.end(), [&](const Send& send) {
           return !send.is_join() && send.chunks.spread != all;
         });
}

std::string play(const CollectivePlan& plan, std::span<const int> targets) {
  must(plan.ranks() <= kMostPlayed, "plans of at most 64 ranks are played");
  if (plan.kind == Collective::barrier) return play_barrier(plan);
  Play state(plan);
  std::string wrong = state.sends();
  return wrong.empty() ? state.end(targets) : wrong;
}

void require_delivery(const Cluster& cluster, std::span<const CollectiveCall> calls,
                      const SourcePos& pos) {
  for (const CollectiveCall& call : calls) {
    const GroupNet net = group_net(cluster, call.axes);
    if (net.ranks() > kMostPlayed) {
      throw ConfigError(
          {{pos,
            fmt::format("expected groups of at most {} devices with --check, found {}", kMostPlayed,
                        net.ranks()),
            ""}});
    }
    if (call.algorithm == nullptr || net.ranks() == 1) continue;
    const std::vector<int> sizes = net.sizes();
    const std::string wrong =
        play(call.algorithm->plan(call.ask, net, sizes), targets_of(call.ask, sizes));
    if (wrong.empty()) continue;
    throw CheckFailed(fmt::format("the plan of {} for {} does not deliver: {}",
                                  call.algorithm->name, to_text(call.ask.kind), wrong));
  }
}

std::vector<int> targets_of(const CollectiveAsk& ask, std::span<const int> sizes) {
  if (!ask.targets.empty()) return ask.targets;
  int ranks = 1;
  for (const int size : sizes) ranks *= size;
  std::vector<int> targets(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    targets[static_cast<std::size_t>(rank)] =
        shifted(sizes, rank, static_cast<int>(sizes.size()) - 1, ask.shift);
  }
  return targets;
}

}  // namespace shardsim
