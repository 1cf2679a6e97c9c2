// What makes a schedule unfit to run, as far as single works and ranks show it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/schedule.h"

namespace shardsim {

namespace {

class Checker {
 public:
  Checker(const Schedule& schedule, std::size_t limit) : schedule_(schedule), limit_(limit) {}

  std::vector<ScheduleFault> faults() {
    check_cells();
    check_complete();
    if (faults_.empty()) check_groups();
    return std::move(faults_);
  }

 private:
  using Seen = std::pair<int, int>;  // rank, be it a wrong one, and cell; rank -1: not seen

  void add(int rank, int cell, std::string message, std::string hint = "") {
    if (faults_.size() < limit_)
      faults_.push_back({rank, cell, std::move(message), std::move(hint)});
  }

  std::size_t slot(int microbatch, int stage) const {
    return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(schedule_.stages()) +
           static_cast<std::size_t>(stage);
  }
  std::vector<Seen>& seen(WorkKind kind) { return seen_[static_cast<std::size_t>(kind)]; }
  bool has(WorkKind kind, const Work& of) {
    return seen(kind)[slot(of.microbatch, of.stage)].first >= 0;
  }

  void check_cells() {
    for (auto& of_kind : seen_) {
      of_kind.assign(slot(schedule_.microbatches, 0), {-1, -1});
    }
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      const std::vector<Cell>& cells = schedule_.programs[static_cast<std::size_t>(rank)].cells;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        for (const Work& work : cells[i].works()) check_work(work, rank, static_cast<int>(i));
      }
    }
  }

  void check_work(const Work& work, int rank, int at) {
    const int home = schedule_.rank_of(work.microbatch, work.stage);
    Seen& before = seen(work.kind)[slot(work.microbatch, work.stage)];
    if (home != rank) {
      if (before.first < 0) before = {rank, at};
      add(rank, at,
          fmt::format("expected {} on rank {} (placement {}), found it on rank {}", to_text(work),
                      home, to_text(schedule_.placement), rank));
      return;
    }
    if (before.first == rank) {
      add(rank, at, fmt::format("expected {} once, found it twice", to_text(work)),
          fmt::format("it is cell {} of the rank already", before.second + 1));
      return;
    }
    before = {rank, at};
    check_order(work, rank, at);
  }

  // A backward follows its forward, W its I; all three are on one rank.
  void check_order(const Work& work, int rank, int at) {
    if (work.kind == WorkKind::forward) return;
    Work first = work;
    first.kind =
        work.kind == WorkKind::backward_weight ? WorkKind::backward_input : WorkKind::forward;
    const Seen& before = seen(first.kind)[slot(work.microbatch, work.stage)];
    if (before.first == rank && before.second < at) return;
    if (occurs(first))
      add(rank, at,
          fmt::format("expected {} before {}, found it after", to_text(first), to_text(work)));
  }

  bool occurs(const Work& wanted) const {
    const int rank = schedule_.rank_of(wanted.microbatch, wanted.stage);
    const auto& cells = schedule_.programs[static_cast<std::size_t>(rank)].cells;
    return std::any_of(cells.begin(), cells.end(), [&](const Cell& one) {
      return std::find(one.works().begin(), one.works().end(), wanted) != one.works().end();
    });
  }

  void check_complete() {
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      for (int microbatch = 0; microbatch < schedule_.microbatches; ++microbatch) {
        check_complete(Work{WorkKind::forward, microbatch, stage});
      }
    }
  }

  void check_complete(const Work& forward) {
    const int rank = schedule_.rank_of(forward.microbatch, forward.stage);
    const auto named = [&](WorkKind kind) {
      return to_text(Work{kind, forward.microbatch, forward.stage});
    };
    const bool full = has(WorkKind::backward, forward);
    const bool input = has(WorkKind::backward_input, forward);
    const bool weight = has(WorkKind::backward_weight, forward);
    const std::string b = named(WorkKind::backward), i = named(WorkKind::backward_input),
                      w = named(WorkKind::backward_weight);
    if (!has(WorkKind::forward, forward))
      add(rank, -1, fmt::format("expected {} on rank {}, found none", to_text(forward), rank));
    if (full && (input || weight)) {
      add(rank, -1, fmt::format("expected {} or its halves {} and {}, found both", b, i, w));
    } else if (!full && input != weight) {
      add(rank, -1,
          fmt::format("expected {} beside {} on rank {}, found none", input ? w : i, input ? i : w,
                      rank));
    } else if (!full && !input) {
      add(rank, -1,
          fmt::format("expected {}, or {} and {}, on rank {}, found none", b, i, w, rank));
    }
  }

  // As many receives as sends for every pair of ranks and channel.
  void check_groups() {
    std::map<std::tuple<int, int, char>, std::pair<int, int>> counts;  // sends, receives
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      for (const P2pGroup& group : schedule_.programs[static_cast<std::size_t>(rank)].groups) {
        for (const P2p& p2p : group.transfers) {
          if (p2p.peer >= schedule_.ranks() || p2p.peer == rank) {
            add(rank, -1,
                fmt::format("expected transfers with another of the ranks 0 to {}, found {}{}{}",
                            schedule_.ranks() - 1, p2p.send ? '>' : '<', p2p.peer, p2p.channel));
            continue;
          }
          if (p2p.send) ++counts[{rank, p2p.peer, p2p.channel}].first;
          if (!p2p.send) ++counts[{p2p.peer, rank, p2p.channel}].second;
        }
      }
    }
    for (const auto& [pair, count] : counts) {
      const auto& [from, to, channel] = pair;
      if (count.first == count.second) continue;
      add(from, -1,
          fmt::format("expected as many receives as sends from rank {} to rank {} on channel {}, "
                      "found {} and {}",
                      from, to, channel, count.second, count.first));
    }
  }

  const Schedule& schedule_;
  std::size_t limit_;
  std::array<std::vector<Seen>, 4> seen_ = {};  // [kind][slot]
  std::vector<ScheduleFault> faults_ = {};
};

}  // namespace

std::vector<ScheduleFault> check(const Schedule& schedule, std::size_t limit) {
  return Checker(schedule, limit).faults();
}

}  // namespace shardsim
