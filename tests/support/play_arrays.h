// Plays a collective plan on numbers: every rank has room for V elements, sends copy or add ranges
// of them.
//
//   all-gather of 3 shards of 2 elements, rank 1 before:  nan nan  3 4  nan nan
//                                         and after:      1   2    3 4  5   6
//
// What never arrived is NaN. The array is cut at integer places: chunk after chunk, every cut the
// rounded cumulative share, so that pieces partition a shard. An all-to-all has N x N chunks. A
// send reads when it starts and writes when it ends; in a random order starts and ends mix in every
// way that `after` allows. A send that the switch adds ends once all of its phase have started.
// An exchange of partial sums (Send::keeps) reads as soon as it may start. Partial maxima are
// combined in place of being added.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/collective_plan.h"
#include "ir/notation.h"
#include "plan/chunks.h"

namespace shardsim::testing {

// Of two parts; NaN, what never arrived, stays NaN.
inline double combine(Reduction reduction, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (reduction == Reduction::max) return std::max(a, b);
  return reduction == Reduction::min ? std::min(a, b) : a + b;
}
// The part that changes nothing.
inline double neutral(Reduction reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (reduction == Reduction::sum) return 0;
  return reduction == Reduction::max ? -kInfinity : kInfinity;
}

using Memories = std::vector<std::vector<double>>;  // [ranks][elements of V]

class ArrayPlay {
 public:
  explicit ArrayPlay(const CollectivePlan& plan, Reduction reduction = Reduction::sum)
      : plan_(plan), reduction_(reduction), chunks_(plan) {
    double before = 0;
    for (const double share : plan.piece_share) {
      starts_.push_back(before);
      before += share;
      ends_.push_back(before);
    }
    followers_.resize(plan.sends.size());
    carries_.resize(plan.sends.size());
    for (std::size_t i = 0; i < plan.sends.size(); ++i) {
      for (const std::uint32_t w : plan.waits_for(i)) followers_[w].push_back(i);
      if (plan.sends[i].is_join()) continue;
      for (std::size_t c = 0; c < chunks_.count(); ++c) {
        if (chunks_.covers(plan.sends[i].chunks, c)) carries_[i].push_back(c);
      }
    }
  }

  // [first, last) of a chunk in an array of so many elements.
  std::pair<std::size_t, std::size_t> range(std::size_t chunk, std::size_t elements) const {
    if (plan_.kind == Collective::all_to_all) {
      return {at(static_cast<double>(chunk) / static_cast<double>(chunks_.count()), elements),
              at(static_cast<double>(chunk + 1) / static_cast<double>(chunks_.count()), elements)};
    }
    const auto origin = static_cast<double>(chunks_.origin(chunk));
    const std::size_t piece = chunks_.piece(chunk);
    return {at((origin + starts_[piece]) / plan_.ranks(), elements),
            at((origin + ends_[piece]) / plan_.ranks(), elements)};
  }

  // Elements that a send carries of an array of so many; a join carries none.
  std::size_t carried(std::size_t send, std::size_t elements) const {
    std::size_t count = 0;
    for (const std::size_t c : carries_[send]) {
      const auto [first, last] = range(c, elements);
      count += last - first;
    }
    return count;
  }

  // In the order of the plan.
  std::string in_order(Memories& memories) const {
    Sums sums = empty_sums(memories.front().size());
    std::vector<std::size_t> waits(plan_.sends.size());
    std::vector<std::vector<double>> read(plan_.sends.size());
    const auto read_early = [&](std::size_t i) {
      if (waits[i] == 0 && plan_.sends[i].keeps) read[i] = start(i, memories);
    };
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      waits[i] = plan_.waits_for(i).size();
      read_early(i);
    }
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      const auto at = sums.find(plan_.sends[i].phase);
      if (plan_.sends[i].switch_adds && at->second.missing > 0) {
        for (std::size_t k = i; k < plan_.sends.size(); ++k) {
          if (same_sum(i, k)) add(k, start(k, memories), at->second);
        }
      }
      finish(i, plan_.sends[i].keeps ? read[i] : start(i, memories), memories, sums);
      for (const std::size_t f : followers_[i]) {
        --waits[f];
        read_early(f);
      }
    }
    return wrong_shares(memories.front().size());
  }

  // In a random order.
  std::string shuffled(Memories& memories, std::mt19937& random) const {
    Sums sums = empty_sums(memories.front().size());
    std::vector<std::size_t> ready, waits(plan_.sends.size());
    std::vector<std::pair<std::size_t, std::vector<double>>> under_way;
    const auto may_start = [&](std::size_t i) {
      if (plan_.sends[i].keeps) {
        under_way.emplace_back(i, start(i, memories));
      } else {
        ready.push_back(i);
      }
    };
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      waits[i] = plan_.waits_for(i).size();
      if (waits[i] == 0) may_start(i);
    }
    while (!ready.empty() || !under_way.empty()) {
      const std::size_t k = random() % (ready.size() + under_way.size());
      if (k < ready.size()) {
        std::swap(ready[k], ready.back());
        const std::size_t i = ready.back();
        under_way.emplace_back(i, start(i, memories));
        if (plan_.sends[i].switch_adds) {
          add(i, under_way.back().second, sums.at(plan_.sends[i].phase));
        }
        ready.pop_back();
        continue;
      }
      if (!may_finish(under_way[k - ready.size()].first, sums)) {
        if (ready.empty() && std::none_of(under_way.begin(), under_way.end(), [&](const auto& u) {
              return may_finish(u.first, sums);
            })) {
          return "the switch waits for a send that waits for its sum";
        }
        continue;
      }
      std::swap(under_way[k - ready.size()], under_way.back());
      const auto [i, data] = std::move(under_way.back());
      under_way.pop_back();
      finish(i, data, memories, sums);
      for (const std::size_t f : followers_[i]) {
        if (--waits[f] == 0) may_start(f);
      }
    }
    return wrong_shares(memories.front().size());
  }

 private:
  static std::size_t at(double share, std::size_t elements) {
    // 1e-9 keeps a sum of shares that misses one half by rounding from cutting elsewhere.
    return static_cast<std::size_t>(std::floor(share * static_cast<double>(elements) + 0.5 + 1e-9));
  }

  std::vector<double> start(std::size_t i, const Memories& memories) const {
    const std::vector<double>& mine = memories[static_cast<std::size_t>(plan_.sends[i].from)];
    std::vector<double> data;
    for (const std::size_t c : carries_[i]) {
      const auto [first, last] = range(c, mine.size());
      data.insert(data.end(), mine.begin() + static_cast<std::ptrdiff_t>(first),
                  mine.begin() + static_cast<std::ptrdiff_t>(last));
    }
    return data;
  }

  // What the switch has added up in a phase, and how many sends have yet to bring their part.
  struct Sum {
    std::vector<double> elements;  // [elements of V]
    int missing = 0;
  };
  using Sums = std::map<int, Sum>;  // by phase

  Sums empty_sums(std::size_t elements) const {
    Sums sums;
    for (const Send& send : plan_.sends) {
      if (!send.switch_adds) continue;
      Sum& sum = sums[send.phase];
      sum.elements.resize(elements, neutral(reduction_));
      ++sum.missing;
    }
    return sums;
  }

  bool same_sum(std::size_t i, std::size_t k) const {
    return plan_.sends[k].switch_adds && plan_.sends[k].phase == plan_.sends[i].phase;
  }

  bool may_finish(std::size_t i, const Sums& sums) const {
    return !plan_.sends[i].switch_adds || sums.at(plan_.sends[i].phase).missing == 0;
  }

  // visit(element, data) for every element that a send carries.
  template <class Visit>
  void each_element(std::size_t i, const std::vector<double>& data, std::size_t elements,
                    Visit visit) const {
    std::size_t next = 0;
    for (const std::size_t c : carries_[i]) {
      const auto [first, last] = range(c, elements);
      for (std::size_t e = first; e < last; ++e) visit(e, data[next++]);
    }
  }

  void add(std::size_t i, const std::vector<double>& data, Sum& sum) const {
    each_element(i, data, sum.elements.size(), [&](std::size_t e, double brought) {
      sum.elements[e] = combine(reduction_, sum.elements[e], brought);
    });
    --sum.missing;
  }

  void finish(std::size_t i, const std::vector<double>& data, Memories& memories,
              const Sums& sums) const {
    const Send& send = plan_.sends[i];
    std::vector<double>& theirs = memories[static_cast<std::size_t>(send.to)];
    each_element(i, data, theirs.size(), [&](std::size_t e, double arrived) {
      if (send.switch_adds) {
        theirs[e] = sums.at(send.phase).elements[e];
      } else {
        theirs[e] = send.reduces ? combine(reduction_, theirs[e], arrived) : arrived;
      }
    });
  }

  // The share that a send is charged for must be what it carries, up to one element a chunk.
  std::string wrong_shares(std::size_t elements) const {
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      if (carries_[i].empty()) continue;
      const auto moved = static_cast<double>(carried(i, elements));
      const double charged = plan_.sends[i].share * static_cast<double>(elements);
      if (std::abs(moved - charged) < static_cast<double>(carries_[i].size()) + 1e-6) continue;
      return "send " + std::to_string(i) + " carries " + std::to_string(moved) +
             " elements and is charged for " + std::to_string(charged);
    }
    return "";
  }

  const CollectivePlan& plan_;
  Reduction reduction_ = Reduction::sum;
  Chunks chunks_;
  std::vector<double> starts_, ends_;                          // [pieces] cumulative shares
  std::vector<std::vector<std::size_t>> followers_, carries_;  // [sends]
};

}  // namespace shardsim::testing
