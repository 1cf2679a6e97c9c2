// PlanMemo: layers that were planned, kept for runs that ask the same, as those of a sweep do: its
// schedules, micro-batches and prices change no layer. A question is all that planning reads, byte
// for byte; only answers without problems are kept.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "plan/layer_plan.h"
#include "plan/numbered.h"
#include "plan/shard.h"

namespace shardsim {

class PlanMemo {
 public:
  // nullptr: not asked before. Holds until the next call of keep().
  const LayerPlan* find(const std::string& question) const;
  void keep(const std::string& question, const LayerPlan& plan);
  // The same, but only from the second time on: for questions of which many are never asked again.
  void keep_again(const std::string& question, const LayerPlan& plan);

  // What one kind of layer needs of memory.
  struct KindMemory {
    Bytes held, left, input;  // throughout; after its forward pass; what enters it
  };
  template <class Find>
  KindMemory memory(const std::string& question, Find find) {
    const auto known = memory_.find(question);
    if (known != memory_.end()) return known->second;
    if (memory_.size() >= kMostMemory) memory_.clear();
    return memory_.emplace(question, find()).first->second;
  }

  // The number of a cluster, for questions: those that are equal share one.
  std::size_t cluster(const Cluster& cluster) { return clusters_.number(cluster); }

 private:
  static constexpr std::size_t kMostMemory = 2'000;

  std::unordered_map<std::string, LayerPlan> plans_;
  std::unordered_map<std::string, KindMemory> memory_;
  std::unordered_set<std::size_t> asked_once_;  // hashes
  Numbered<Cluster> clusters_{256};
};

// All that shard() reads. `cluster`: the number of that of its prices.
std::string question_of(const ShardInput& input, std::size_t cluster);

}  // namespace shardsim
