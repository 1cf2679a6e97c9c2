// prepare: everything a run decides before ops are made; all problems at once. `check` stops here.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/plan.h"
#include "ir/sharded_layer.h"
#include "plan/boundary.h"
#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "plan/cost.h"
#include "plan/layer_plan.h"
#include "plan/overlap.h"
#include "plan/plan_memo.h"
#include "plan/presets.h"
#include "plan/recompute.h"
#include "plan/step_plan.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Prepared : LayerPlan {
  LinkFigures link;
  Cluster cluster;
  Mesh mesh;        // without the axis of the pipeline
  Mesh whole_mesh;  // with it
  BatchSplit batch;
  Precision precision;
  ChipRates rates;
  int layers = 1;
  const RecomputeRow* recompute = nullptr;
  const AttentionRow* attention = nullptr;
  bool dropout = false;         // of what is added to the residual stream
  std::vector<LayerPlan> ends;  // none, or the embedding and the head
  StepPlan step;
  Overlap overlap;
  Optimizer optimizer;
  Boundary boundary;
};

// What is wrong with cluster, mesh (unless it is empty) and chosen algorithms alone: said beside
// what else is wrong with a file (FurtherProblems).
void cluster_problems(const RunSpec& spec, std::vector<Problem>& problems);

// Throws ConfigError with every problem found. `memo`: of earlier runs, to be asked and added to.
Prepared prepare(const RunSpec& spec);
Prepared prepare(const RunSpec& spec, PlanMemo& memo);

// The link figures of a topology's innermost level: its own, else the chip's; times the level's
// efficiency, else the chip variant's. Appends a problem when neither states a bandwidth.
LinkFigures link_figures(const RunSpec& spec, std::vector<Problem>& problems);

}  // namespace shardsim
