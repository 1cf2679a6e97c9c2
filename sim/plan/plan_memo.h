// PlanMemo: layers that were planned, kept for runs that ask the same, as those of a sweep do: its
// schedules, micro-batches and prices change no layer. A question is all that planning reads, byte
// for byte; only answers without problems are kept. What is asked on the way to a plan is kept,
// too: the layer that a model's statements are, prices of collectives, the algorithms that are
// picked.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plan/layer_plan.h"
#include "plan/numbered.h"
#include "plan/price.h"
#include "plan/shard.h"
#include "spec/run_spec.h"

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

  // Prices on a cluster of this number. Holds until the next call.
  PriceBook& prices(std::size_t number, const Cluster& cluster, const Mesh& mesh,
                    const ChipRates& rates);

  // The layer of a model's statements with these sizes; `make` returns nothing where there are
  // problems.
  template <class Make>
  std::optional<Layer> layer(const ModelSpec& model, const std::vector<NamedDim>& dims, Make make) {
    std::string question = question_of_layer(model, dims);
    const auto known = layers_.find(question);
    if (known != layers_.end()) return known->second;
    std::optional<Layer> made = make();
    if (layers_.size() >= kMostLayers) layers_.clear();
    if (made) layers_.emplace(std::move(question), *made);
    return made;
  }

  // A call of a collective on the cluster of a number, and the algorithm that is best for it.
  using Call = std::tuple<std::size_t, Collective, Bytes, std::vector<int>, std::vector<int>>;
  template <class Pick>
  AlgorithmChoice best(const Call& call, Pick pick) {
    const auto known = best_.find(call);
    if (known != best_.end()) return known->second;
    AlgorithmChoice choice = pick();
    if (best_.size() >= kMostCalls) best_.clear();
    if (choice.row != nullptr) best_.emplace(call, choice);
    return choice;
  }

 private:
  static constexpr std::size_t kMostMemory = 2'000;
  static constexpr std::size_t kMostLayers = 200;  // of some 10 KB each
  static constexpr std::size_t kMostCalls = 20'000;
  static std::string question_of_layer(const ModelSpec& model, const std::vector<NamedDim>& dims);

  std::unordered_map<std::string, LayerPlan> plans_;
  std::unordered_map<std::string, KindMemory> memory_;
  std::unordered_set<std::size_t> asked_once_;  // hashes
  std::unordered_map<std::string, Layer> layers_;
  std::map<Call, AlgorithmChoice> best_;
  struct Prices {
    PriceBook book;
    int runs = 0;  // that have asked
  };
  std::unordered_map<std::string, Prices> prices_;
  Numbered<Cluster> clusters_{256};
};

// All that shard() reads. `cluster`: the number of that of its prices.
std::string question_of(const ShardInput& input, std::size_t cluster);

}  // namespace shardsim
