// How the layers of a run are planned: sharded forward and backward, an algorithm chosen for every
// collective; or taken from what earlier runs have planned (plan/plan_memo.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "plan/end_layers.h"
#include "plan/plan_memo.h"
#include "plan/prepare.h"
#include "plan/price.h"
#include "plan/shard.h"
#include "spec/run_spec.h"

namespace shardsim {

// Algorithms by kind that the user asked for; unknown kinds and names are problems.
class WantedAlgorithms {
 public:
  WantedAlgorithms(const RunSpec& spec, std::vector<Problem>& problems);

  // The same calls come again and again, in a layer and in runs. `number`: of the cluster.
  AlgorithmChoice pick(const CollectiveCall& call, const Cluster& cluster, std::size_t number,
                       PlanMemo& memo, std::vector<Problem>& problems) const;

 private:
  const RunSpec& spec_;
};

// Entries of tensors: that speak of the ends of the model, or the others.
std::vector<Chosen<std::string>> tensors_of_ends(const RunSpec& spec, bool of_ends);

// The layer of a model file's statements, made once for all runs; nothing where there are problems.
// REQUIRES: no layouts stand in them.
std::optional<Layer> layer_of(const ModelSpec& model, const BatchSpec& batch, int sequences,
                              PlanMemo& memo);

class LayerPlanner {
 public:
  // REQUIRES: cluster, mesh, rates and precision of the run are set.
  LayerPlanner(const RunSpec& spec, const WantedAlgorithms& wanted, PlanMemo& memo, Prepared& run,
               std::vector<Problem>& problems);

  // The layers, at least their forward pass, without the checks that the file needs.
  void forward();
  // Their backward pass, and the algorithms of both.
  void backward();
  // Appends an end to the run's. `first`: what the presets lack has not been said.
  void end(const EndRow& row, bool& first);
  // An algorithm for a collective of the run.
  AlgorithmChoice pick(const ShardedCollective& collective, std::vector<Problem>& problems) const;
  // Algorithms that do not suit, once all layers are planned.
  void say_unsuited();

 private:
  ShardInput input(LayerPlan& plan);
  void choose(LayerPlan& plan, const std::string& question);
  // For all collectives of the plan; what does not suit is said once.
  void pick_all(LayerPlan& plan);
  // Whether it is known.
  bool take(const std::string& question, LayerPlan& plan) const;
  std::string collectives() const;  // what the user says of their algorithms

  const RunSpec& spec_;
  const WantedAlgorithms& wanted_;
  PlanMemo& memo_;
  Prepared& run_;
  std::vector<Problem>& problems_;
  std::size_t cluster_;
  PriceBook& prices_;
  std::string question_;  // of the layers' both passes
  std::vector<Problem> unsuited_;
};

}  // namespace shardsim
