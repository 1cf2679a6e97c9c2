// LayerPlan: one kind of layer of a model, decided: its statements, how its arrays are cut, and the
// algorithm of every collective around them. A model is a list of such kinds: many alike in the
// middle, an embedding before and a head behind.
#pragma once

#include <string>
#include <vector>

#include "ir/layer.h"
#include "ir/sharded_layer.h"
#include "plan/collective_run.h"
#include "plan/presets.h"

namespace shardsim {

struct LayerPlan {
  std::string kind = "layer";  // "embedding", "head"
  Layer layer;
  Layouts layouts;
  ShardedLayer sharded;
  // In the order of the steps: the collectives before each, then those after it.
  std::vector<AlgorithmChoice> choices;
  // All that it was planned from (plan/plan_memo.h): of two plans with one question, all is equal.
  std::string question;
};

}  // namespace shardsim
