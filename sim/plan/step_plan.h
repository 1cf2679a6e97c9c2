// StepPlan: who computes which layers, in which order. Without a pipeline there is one rank, whose
// schedule is forward and backward of one micro-batch after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/schedule.h"
#include "plan/layer_plan.h"
#include "plan/schedule_ask.h"
#include "spec/run_spec.h"

namespace shardsim {

// One layer where it stands in the model.
struct StageUnit {
  int kind = 0;   // index: 0 the layers, 1 the embedding, 2 the head
  int layer = 0;  // number in the model; of an end that of the layer beside it
};

struct StepPlan {
  std::string axis;       // mesh axis of the ranks; empty: one rank
  std::vector<int> axes;  // of the cluster
  Schedule schedule;
  P2pMode mode = P2pMode::async;
  std::vector<std::vector<StageUnit>> stages;  // [stages of the schedule] forward order

  int ranks() const { return schedule.ranks(); }
};

// Whether a work makes gradients of weights; how many a rank has that do, by stage.
bool makes_gradients(const Work& work);
std::map<int, int> works_with_gradients(const RankProgram& program);

// Takes the axis of the pipeline out of `mesh`: the layouts never cut over it. Appends a problem
// when the mesh has none of that name.
MeshAxis take_pipeline_axis(const ScheduleSpec& spec, Mesh& mesh, std::vector<Problem>& problems);

// What the plan needs to know of the run.
struct StepAsk {
  int layers = 1;
  bool ends = false;  // embedding and head
  int microbatches = 1;
  CellCosts layer_costs = {};  // of one layer, for searched kinds and F&B
};

// What is wrong with the schedule whatever the batch and the costs, so that it can be said together
// with what is wrong with those: an unknown kind, chunks or a group where none belong, more stages
// than layers, layers per stage that do not sum to the model's. `mesh` has the axis of the
// pipeline.
void check_stages(const ScheduleSpec& spec, int layers, bool ends, const Mesh& mesh,
                  std::vector<Problem>& problems);

// The plan of a run. Appends problems: those of check_stages, ranks or micro-batches that the
// schedule does not allow, a file that does not fit.
StepPlan plan_step(const ScheduleSpec& spec, const StepAsk& ask, const MeshAxis& axis,
                   std::vector<Problem>& problems);

}  // namespace shardsim
