// prepare: everything a run decides before ops are made; all problems at once. `check` stops here.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/plan.h"
#include "ir/sharded_layer.h"
#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "plan/cost.h"
#include "plan/presets.h"
#include "plan/recompute.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Prepared {
  LinkFigures link;
  Cluster cluster;
  Mesh mesh;
  BatchSplit batch;
  Layer layer;
  Layouts layouts;
  ShardedLayer sharded;
  ChipRates rates;
  int layers = 1;
  const RecomputeRow* recompute = nullptr;

  // The algorithm of every collective of the layer, in the order of walk(): before, then after each
  // step.
  std::vector<AlgorithmChoice> choices;
};

// Throws ConfigError with every problem found.
Prepared prepare(const RunSpec& spec);

// The link figures of a topology's innermost level: its own, else the chip's; times the level's
// efficiency, else the chip variant's. Appends a problem when neither states a bandwidth.
LinkFigures link_figures(const RunSpec& spec, std::vector<Problem>& problems);

}  // namespace shardsim
