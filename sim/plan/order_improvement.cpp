#include "plan/order_improvement.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace shardsim {

namespace {

constexpr std::size_t kReach = 4;  // places that a cell is moved by at most
constexpr int kTenure = 12;        // steps for which a moved cell stays where it is
constexpr int kStuck = 30;         // steps without a better schedule until a new start
constexpr int kShaken = 4;         // moves of a new start
constexpr double kOverhead = 100;  // of an evaluation, in cells
constexpr double kNever = 1e300;
constexpr double kRounding = 1e-12;

using Order = std::vector<std::uint32_t>;  // ids of cells

struct Op {
  Cell cell = {};
  double takes = 0;
  std::size_t rank = 0;
  int work = 0;             // F0 F1 I0 I1 W0 W1: kind and chunk
  std::int32_t input = -1;  // the cell that it waits for
  bool travels = false;     // ... from another rank
  int gives = -1;           // 0: its result goes down the ranks, 1: up; -1: it stays
};

struct Length {
  double makespan = kNever;
  double second = kNever;  // of equal makespans: one chunk: the span; two: the sum of ends of I's
  double span = kNever;    // longest of a rank
};
bool shorter(const Length& a, const Length& b) {
  if (a.makespan < b.makespan * (1 - kRounding)) return true;
  if (a.makespan > b.makespan * (1 + kRounding)) return false;
  return a.second < b.second * (1 - kRounding);
}

// The cell at `from` goes to `to`, those between move up.
struct Move {
  std::size_t rank = 0, from = 0, to = 0;
};

class Improvement {
 public:
  Improvement(const ScheduleTask& task, const Orders& orders)
      : task_(task), c_(task.costs.p2p / Seconds{1}), orders_(orders.size()) {
    Schedule schedule{.microbatches = task.microbatches,
                      .chunks = task.chunks,
                      .placement = task.chunks == 1 ? Placement::linear : Placement::v};
    for (const auto& order : orders) schedule.programs.push_back({order, {}});
    const CellIndex index = index_cells(schedule);
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      for (const Cell& one : orders[rank]) append(rank, one, index, schedule.stages());
    }
    for (const Op& op : ops_) {
      if (!op.travels) continue;
      Op& source = ops_[static_cast<std::size_t>(op.input)];
      source.gives = op.rank > source.rank ? 0 : 1;
    }
    end_.resize(ops_.size());
    arrive_.resize(ops_.size());
    position_.resize(ops_.size());
    forbidden_.assign(ops_.size(), 0);
  }

  // Cells that take memory later, and those that free it earlier, as far as nothing gets longer.
  FoundSchedule trim(double budget) {
    left_ = budget;
    now_ = best_ = evaluate();
    for (bool any = true; any && left_ > 0;) {
      any = false;
      for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
        for (std::size_t at = 1; at < orders_[rank].size() && left_ > 0; ++at) {
          if (!frees_by({rank, at, at - 1})) continue;
          any = true;
          if (at > 1) at -= 2;  // and further
        }
      }
    }
    kept_ = orders_;
    best_ = now_;
    return found();
  }

  FoundSchedule run(double budget) {
    left_ = budget;
    now_ = best_ = evaluate();
    kept_ = orders_;
    int since = 0;
    while (left_ > 0) {
      ++step_;
      if (since++ > kStuck || !advance()) {
        shake();
        since = 0;
      }
      if (!shorter(now_, best_)) continue;
      best_ = now_;
      kept_ = orders_;
      since = 0;
    }
    return found();
  }

 private:
  void append(std::size_t rank, const Cell& one, const CellIndex& index, int stages) {
    const Work& work = one.work[0];
    Op op{.cell = one, .takes = duration(one, task_.costs) / Seconds{1}, .rank = rank};
    const int chunk = work.stage == static_cast<int>(rank) ? 0 : 1;
    const std::uint32_t input = input_of(work, index, stages);
    if (input != kNoCell) {
      op.input = static_cast<std::int32_t>(input);
      op.travels = index.rank[input] != rank;
    }
    switch (work.kind) {
      case WorkKind::forward:
        op.work = chunk;
        break;
      case WorkKind::backward:
      case WorkKind::backward_input:
        op.work = 2 + chunk;
        break;
      case WorkKind::backward_weight:
        op.work = 4 + chunk;
    }
    orders_[rank].push_back(static_cast<std::uint32_t>(ops_.size()));
    ops_.push_back(op);
  }

  FoundSchedule found() const {
    FoundSchedule result{.complete = best_.makespan < kNever,
                         .makespan = Seconds{best_.makespan},
                         .sum = Seconds{task_.chunks == 1 ? 0 : best_.second},
                         .span = Seconds{best_.span},
                         .orders = Orders(kept_.size())};
    for (std::size_t rank = 0; rank < kept_.size(); ++rank) {
      for (const std::uint32_t id : kept_[rank]) result.orders[rank].push_back(ops_[id].cell);
    }
    return result;
  }

  void apply(const Move& move) {
    const auto at = [&](std::size_t place) {
      return orders_[move.rank].begin() + static_cast<std::ptrdiff_t>(place);
    };
    if (move.from < move.to) {
      std::rotate(at(move.from), at(move.from + 1), at(move.to + 1));
    } else {
      std::rotate(at(move.to), at(move.from), at(move.from + 1));
    }
  }
  void undo(const Move& move) { apply({move.rank, move.to, move.from}); }

  // Whether the cell passes none of its own kind and none that it waits for or that waits for it.
  bool legal(const Move& move) const {
    const Order& order = orders_[move.rank];
    const std::uint32_t id = order[move.from];
    for (std::size_t at = std::min(move.from, move.to); at <= std::max(move.from, move.to); ++at) {
      if (at == move.from) continue;
      const Op& other = ops_[order[at]];
      if (other.work == ops_[id].work || other.input == static_cast<std::int32_t>(id) ||
          ops_[id].input == static_cast<std::int32_t>(order[at]))
        return false;
    }
    return true;
  }

  // Whether a cell takes its neighbour's place and memory is held for less; then it is done.
  bool frees_by(const Move& move) {
    const Op& cell = ops_[orders_[move.rank][move.from]];
    const Op& before = ops_[orders_[move.rank][move.to]];
    const bool earlier = cell.work >= 4 && before.work < 4;
    const bool later = before.work < 2 && cell.work >= 2;
    if ((!earlier && !later) || !legal(move)) return false;
    apply(move);
    const Length length = evaluate();
    if (length.makespan <= now_.makespan * (1 + kRounding) &&
        length.span <= now_.span * (1 + kRounding)) {
      return true;
    }
    undo(move);
    return false;
  }

  bool fits(const Order& order) const {
    PeakActivations live;
    for (const std::uint32_t id : order) {
      add(live, ops_[id].cell.work[0].kind);
      if (!task_.room.holds(live)) return false;
    }
    return true;
  }

  // What it makes of the schedule, which is left as it was.
  Length tried(const Move& move) {
    left_ -= 10;
    if (!legal(move)) return {};
    apply(move);
    const Length length = fits(orders_[move.rank]) ? evaluate() : Length{};
    undo(move);
    return length;
  }

  // The first move that makes it shorter, else the best that is not forbidden.
  bool advance() {
    evaluate();
    const std::vector<Move> moves = candidates();
    Length best;
    Move chosen;
    for (std::size_t k = 0; k < moves.size() && left_ > 0; ++k) {
      const Move& move = moves[(step_ * 7919 + k) % moves.size()];
      const Length length = tried(move);
      const bool forbidden = forbidden_[orders_[move.rank][move.from]] > step_;
      if (!shorter(length, best) || (forbidden && !shorter(length, best_))) continue;
      best = length;
      chosen = move;
      if (shorter(length, now_)) break;
    }
    if (best.makespan >= kNever) return false;
    forbidden_[orders_[chosen.rank][chosen.from]] = step_ + kTenure;
    apply(chosen);
    now_ = best;
    return true;
  }

  // Starts again from the best, a few cells of its longest path moved.
  void shake() {
    orders_ = kept_;
    for (int k = 0; k < kShaken; ++k) {
      evaluate();
      const std::vector<std::uint32_t> path = critical();
      left_ -= static_cast<double>(path.size());
      if (path.empty()) break;
      random_ = random_ * 1664525u + 1013904223u;  // Numerical Recipes' generator
      const std::uint32_t id = path[(random_ >> 8) % path.size()];
      const Move move{ops_[id].rank, position_[id], position_[id] - 1};
      if (tried(move).makespan >= kNever) continue;
      apply(move);
    }
    now_ = evaluate();
    if (now_.makespan >= kNever) left_ = 0;
  }

  // Cells of the longest path to earlier places, and those before them to later ones.
  std::vector<Move> candidates() const {
    std::vector<Move> moves;
    for (const std::uint32_t id : critical()) {
      const std::size_t rank = ops_[id].rank, at = position_[id];
      for (std::size_t k = 1; k <= kReach; ++k) {
        if (at >= k) moves.push_back({rank, at, at - k});
        if (k > 1 && at - 1 + k < orders_[rank].size()) moves.push_back({rank, at - 1, at - 1 + k});
      }
    }
    return moves;
  }

  // Cells of a longest path that start when the one before them on their rank ends.
  std::vector<std::uint32_t> critical() const {
    std::uint32_t id = orders_[0].back();
    double longest = 0;
    for (const Order& order : orders_) {
      const double length = task_.chunks == 1 ? span(order) : end_[order.back()];
      if (length <= longest) continue;
      longest = length;
      id = order.back();
    }
    const double slack = 1e-9 * end_[id];
    std::vector<std::uint32_t> path;
    while (true) {
      const Op& op = ops_[id];
      const double start = end_[id] - op.takes;
      const Order& order = orders_[op.rank];
      if (position_[id] > 0 && end_[order[position_[id] - 1]] >= start - slack) {
        path.push_back(id);
        id = order[position_[id] - 1];
      } else if (op.input >= 0 && start > slack) {
        id = static_cast<std::uint32_t>(op.input);
      } else {
        return path;
      }
    }
  }

  // From the start of the first cell to the end of the last.
  double span(const Order& order) const {
    return end_[order.back()] - end_[order.front()] + ops_[order.front()].takes;
  }

  // When every cell ends; kNever when they wait for each other.
  Length evaluate() {
    left_ -= static_cast<double>(ops_.size()) + kOverhead;
    std::fill(end_.begin(), end_.end(), -1.0);
    at_.assign(orders_.size(), 0);
    free_.assign(orders_.size(), 0);
    link_.assign(2 * orders_.size(), 0);
    waits_.assign(ops_.size(), -1);
    ready_.clear();
    for (std::size_t rank = orders_.size(); rank-- > 0;)
      ready_.push_back(static_cast<std::int32_t>(rank));
    std::size_t done = 0;
    Length length{0, 0, 0};
    while (!ready_.empty()) {
      const auto rank = static_cast<std::size_t>(ready_.back());
      ready_.pop_back();
      done += run_rank(rank, length.second);
      length.makespan = std::max(length.makespan, free_[rank]);
    }
    if (done < ops_.size()) return {};
    for (const Order& order : orders_) length.span = std::max(length.span, span(order));
    if (task_.chunks == 1) length.second = length.span;
    return length;
  }

  // Runs a rank until a cell waits for another rank; the number of cells.
  std::size_t run_rank(std::size_t rank, double& sum) {
    const Order& order = orders_[rank];
    const std::size_t first = at_[rank];
    double now = free_[rank];
    for (; at_[rank] < order.size(); ++at_[rank]) {
      const std::uint32_t id = order[at_[rank]];
      const Op& op = ops_[id];
      if (op.input >= 0) {
        const auto input = static_cast<std::size_t>(op.input);
        if (end_[input] < 0) {
          waits_[input] = static_cast<std::int32_t>(rank);
          break;
        }
        now = std::max(now, op.travels ? arrive_[input] : end_[input]);
      }
      now += op.takes;
      end_[id] = now;
      position_[id] = at_[rank];
      if (op.gives >= 0) {
        double& link = link_[2 * rank + static_cast<std::size_t>(op.gives)];
        arrive_[id] = link = (task_.serial ? std::max(now, link) : now) + c_;
      }
      if (op.work == 2 || op.work == 3) sum += now;
      if (waits_[id] >= 0) ready_.push_back(waits_[id]);
    }
    free_[rank] = now;
    return at_[rank] - first;
  }

  const ScheduleTask& task_;
  double c_;
  std::vector<Op> ops_;
  std::vector<Order> orders_, kept_;  // [ranks] the kept ones are the best
  Length now_, best_;
  double left_ = 0;
  std::size_t step_ = 0;
  std::uint32_t random_ = 1;
  std::vector<std::size_t> forbidden_;  // [cells] until which step
  std::vector<double> end_, arrive_;    // [cells]
  std::vector<std::size_t> position_;   // [cells] on its rank
  std::vector<std::int32_t> waits_;     // [cells] the rank that waits for it, or -1
  std::vector<double> free_, link_;     // [ranks], [ranks * 2]: down, up
  std::vector<std::size_t> at_;         // [ranks] the next cell
  std::vector<std::int32_t> ready_;     // ranks
};

}  // namespace

FoundSchedule improved(const ScheduleTask& task, const Orders& orders, double cells) {
  return Improvement(task, orders).run(cells);
}

FoundSchedule trimmed(const ScheduleTask& task, const Orders& orders, double cells) {
  return Improvement(task, orders).trim(cells);
}

}  // namespace shardsim
