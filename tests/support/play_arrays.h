// Plays a collective plan on numbers: every rank has room for V elements, sends copy or add ranges
// of them.
//
//   all-gather of 3 shards of 2 elements, rank 1 before:  nan nan  3 4  nan nan
//                                         and after:      1   2    3 4  5   6
//
// What never arrived is NaN. The array is cut at integer places: chunk after chunk, every cut the
// rounded cumulative share, so that pieces partition a shard. An all-to-all has N x N chunks. A
// send reads when it starts and writes when it ends; in a random order starts and ends mix in every
// way that `after` allows.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "chunks.h"
#include "ir/collective_plan.h"

namespace shardsim::testing {

using Memories = std::vector<std::vector<double>>;  // [ranks][elements of V]

class ArrayPlay {
 public:
  explicit ArrayPlay(const CollectivePlan& plan) : plan_(plan), chunks_(plan) {
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
      if (plan.sends[i].from == plan.sends[i].to) continue;  // a join
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
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      finish(i, start(i, memories), memories);
    }
    return wrong_shares(memories.front().size());
  }

  // In a random order.
  std::string shuffled(Memories& memories, std::mt19937& random) const {
    std::vector<std::size_t> ready, waits(plan_.sends.size());
    std::vector<std::pair<std::size_t, std::vector<double>>> under_way;
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      waits[i] = plan_.waits_for(i).size();
      if (waits[i] == 0) ready.push_back(i);
    }
    while (!ready.empty() || !under_way.empty()) {
      const std::size_t k = random() % (ready.size() + under_way.size());
      if (k < ready.size()) {
        std::swap(ready[k], ready.back());
        under_way.emplace_back(ready.back(), start(ready.back(), memories));
        ready.pop_back();
        continue;
      }
      std::swap(under_way[k - ready.size()], under_way.back());
      const auto [i, data] = std::move(under_way.back());
      under_way.pop_back();
      finish(i, data, memories);
      for (const std::size_t f : followers_[i]) {
        if (--waits[f] == 0) ready.push_back(f);
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

  void finish(std::size_t i, const std::vector<double>& data, Memories& memories) const {
    std::vector<double>& theirs = memories[static_cast<std::size_t>(plan_.sends[i].to)];
    std::size_t next = 0;
    for (const std::size_t c : carries_[i]) {
      const auto [first, last] = range(c, theirs.size());
      for (std::size_t e = first; e < last; ++e) {
        theirs[e] = plan_.sends[i].reduces ? theirs[e] + data[next] : data[next];
        ++next;
      }
    }
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
  Chunks chunks_;
  std::vector<double> starts_, ends_;                          // [pieces] cumulative shares
  std::vector<std::vector<std::size_t>> followers_, carries_;  // [sends]
};

}  // namespace shardsim::testing
