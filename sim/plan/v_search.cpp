#include "plan/v_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/order_improvement.h"
#include "plan/schedule_choice.h"
#include "plan/squeeze.h"

namespace shardsim {

namespace {

// Work of a search, in cells: simulated for each of two costs, and evaluated in improvements.
constexpr double kSimulated = 1.2e6;
constexpr double kImproved = 6e7;
constexpr double kTrimmed = 1e7;      // ... in the end
constexpr std::size_t kRefined = 20;  // blocks that are tried with every policy
constexpr std::size_t kClimbed = 6;   // ... whose waits are changed one by one
constexpr std::size_t kBest = 20;     // schedules that are improved
constexpr double kFewest = 120;       // evaluations of all cells
constexpr double kNear = 1.1;         // longer ones are given up
constexpr double kPatience[] = {0, 0.5, 1};

struct Candidate {
  BuildingBlock block = {};
  SqueezePolicy policy = {};
  FoundSchedule found = {};
};

double cells_of(const ScheduleTask& task) {
  return 2.0 * task.ranks * task.microbatches * (task.fused ? 2 : 3);
}

bool shorter(const FoundSchedule& a, const FoundSchedule& b) {
  if (a.complete != b.complete) return a.complete;
  return a.makespan != b.makespan ? a.makespan < b.makespan : a.sum < b.sum;
}

// Micro-batches with which blocks are compared: what comes before and after the steady state does
// not depend on how long that lasts.
int compared(const ScheduleTask& task) {
  return std::min(task.microbatches, std::max(2 * task.ranks, 640 / task.ranks));
}

class BlockSearch {
 public:
  BlockSearch(const ScheduleTask& task, const std::vector<BuildingBlock>& blocks)
      : task_(task), blocks_(blocks), short_(task) {
    short_.microbatches = compared(task);
  }

  // The shortest first.
  std::vector<FoundSchedule> run() {
    until_ = left_ / 3;
    survey();
    until_ = left_ / 2;
    refine();
    until_ = left_ / 2;
    climb();
    std::vector<FoundSchedule> all;
    for (Candidate& one : best_) {
      if (short_.microbatches < task_.microbatches) {
        if (left_ < cells_of(task_) && !all.empty()) break;
        one.found = squeeze(task_, one.block, one.policy, Seconds{1e300});
        left_ -= one.found.cells;
      }
      all.push_back(std::move(one.found));
    }
    return all;
  }

 private:
  Seconds limit() const {
    return best_.empty() ? Seconds{1e300} : best_.front().found.makespan * kNear;
  }

  const FoundSchedule& trial(const BuildingBlock& block, const SqueezePolicy& policy) {
    last_ = {};
    if (left_ < until_) return last_;
    last_ = squeeze(short_, block, policy, limit());
    left_ -= last_.cells;
    if (!last_.complete) return last_;
    const bool known = std::any_of(best_.begin(), best_.end(), [&](const Candidate& other) {
      return other.found.orders == last_.orders;
    });
    if (known || (best_.size() == kBest && !shorter(last_, best_.back().found))) return last_;
    const auto place = std::find_if(best_.begin(), best_.end(), [&](const Candidate& other) {
      return shorter(last_, other.found);
    });
    best_.insert(place, {block, policy, last_});
    if (best_.size() > kBest) best_.pop_back();
    return last_;
  }

  // [ranks] micro-batches on the first chunk in the steady state.
  static std::vector<int> steady(const BuildingBlock& block) {
    std::vector<int> live;
    for (std::size_t at = 0; at < block.starts.size(); at += 6) {
      const int end =
          block.fused > 0 ? block.starts[at + 2] + block.fused : block.starts[at + 4] + 1;
      live.push_back((end - block.starts[at]) / block.period);
    }
    return live;
  }

  // Every block, or as many as can be tried.
  void survey() {
    const double trials = std::max(1.0, (left_ - until_) / cells_of(short_) / 2);
    const auto stride =
        static_cast<std::size_t>(std::ceil(static_cast<double>(blocks_.size()) / trials));
    for (std::size_t k = 0; k < blocks_.size(); k += std::max<std::size_t>(1, stride)) {
      Candidate one{blocks_[k], {0.5, 0.5}, {}};
      one.found = trial(one.block, one.policy);
      SqueezePolicy limited = one.policy;
      limited.early = steady(one.block);
      const FoundSchedule& other = trial(one.block, limited);
      if (shorter(other, one.found)) one.found = other;
      one.found.orders.clear();
      if (one.found.complete) surveyed_.push_back(std::move(one));
    }
    std::stable_sort(
        surveyed_.begin(), surveyed_.end(),
        [](const Candidate& a, const Candidate& b) { return a.found.makespan < b.found.makespan; });
    if (surveyed_.size() > kRefined) surveyed_.resize(kRefined);
  }

  void refine() {
    for (const Candidate& one : surveyed_) {
      for (const bool lazy : {false, true}) {
        for (const double patience : kPatience) {
          for (const double weight_patience : kPatience) {
            if (task_.fused && (lazy || weight_patience > 0)) continue;
            trial(one.block, {patience, weight_patience, lazy});
            trial(one.block, {patience, weight_patience, lazy, steady(one.block)});
          }
        }
      }
    }
  }

  void climb() {
    if (surveyed_.size() > kClimbed) surveyed_.resize(kClimbed);
    for (const Candidate& one : surveyed_) {
      for (const double patience : kPatience) {
        Candidate at{one.block, {patience, 0.5, false, steady(one.block)}, {}};
        at.found = trial(at.block, at.policy);
        while (at.found.complete && (step_early(at) || step_waits(at))) continue;
      }
    }
  }

  bool better(Candidate& at, BuildingBlock block, SqueezePolicy policy) {
    const FoundSchedule& found = trial(block, policy);
    if (!shorter(found, at.found)) return false;
    at = {std::move(block), std::move(policy), found};
    return true;
  }

  // One micro-batch more or less run ahead on a rank.
  bool step_early(Candidate& at) {
    bool any = false;
    for (std::size_t rank = 0; rank < at.policy.early.size(); ++rank) {
      for (const int change : {-1, 1}) {
        SqueezePolicy policy = at.policy;
        policy.early[rank] += change;
        any = better(at, at.block, std::move(policy)) || any;
      }
    }
    return any;
  }

  // Another wait before one work.
  bool step_waits(Candidate& at) {
    bool any = false;
    for (std::size_t work = 1; work < at.block.waits.size(); ++work) {
      for (const int change : {1, 2, -1, 3}) {
        std::vector<int> waits = at.block.waits;
        waits[work] += change;
        if (waits[work] < 0) continue;
        auto block = building_block(task_.ranks, at.block.fused, at.block.period, task_.room,
                                    std::move(waits));
        if (block && block->starts != at.block.starts)
          any = better(at, std::move(*block), at.policy) || any;
      }
    }
    return any;
  }

  const ScheduleTask& task_;
  const std::vector<BuildingBlock>& blocks_;
  ScheduleTask short_;
  double left_ = kSimulated, until_ = 0;  // cells to simulate; now left until so many
  std::vector<Candidate> surveyed_ = {}, best_ = {};
  FoundSchedule last_ = {};
};

// Of a block's B: how many times as long as its forward; 0 when it is in two halves.
int fused_slots(const ScheduleTask& task) {
  if (!task.fused) return 0;
  const double ratio = task.costs.forward > Seconds{0}
                           ? std::clamp(task.costs.backward / task.costs.forward, 1.0, 5.0)
                           : 5.0;
  return static_cast<int>(std::lround(ratio));
}

// Cells to spend on an improvement: none where they are too few to find one.
double worthwhile(const ScheduleTask& task, double cells) {
  return cells < kFewest * cells_of(task) ? 0 : cells;
}

}  // namespace

FoundSchedule search_v(const ScheduleTask& task, const std::vector<Orders>& known) {
  ScheduleTask even = task;
  even.costs = {Seconds{1}, Seconds{1}, Seconds{1}, Seconds{2}, Seconds{3}, Seconds{0}};
  even.serial = false;
  const int slots = fused_slots(task);
  std::vector<BuildingBlock> blocks = building_blocks(task.ranks, slots, task.room);
  std::vector<FoundSchedule> found = BlockSearch(task, blocks).run();
  const std::size_t own = found.size();  // their times are those of the task
  if (fused_slots(even) != slots)
    blocks = building_blocks(task.ranks, fused_slots(even), task.room);
  for (FoundSchedule& other : BlockSearch(even, blocks).run()) found.push_back(std::move(other));
  for (const Orders& orders : known)
    if (fits(task, orders)) found.push_back({.orders = orders});
  const double each = worthwhile(task, kImproved / 2 / static_cast<double>(found.size()));
  for (std::size_t k = 0; k < found.size(); ++k)
    if (each > 0 || k >= own) found[k] = improved(task, found[k].orders, each);
  std::stable_sort(found.begin(), found.end(), shorter);
  for (std::size_t k = 0; k < 2 && k < found.size(); ++k)
    found[k] = improved(task, found[k].orders, worthwhile(task, kImproved / 4));
  const auto best = std::min_element(
      found.begin(), found.end(),
      [&](const FoundSchedule& a, const FoundSchedule& b) { return better(a, b); });
  return trimmed(task, best->orders, worthwhile(task, kTrimmed));
}

}  // namespace shardsim
