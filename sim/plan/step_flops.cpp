#include "plan/step_flops.h"

#include "plan/cost.h"

namespace shardsim {
namespace {

// Devices that do the same.
double copies(const ShardedStatement& step, const Mesh& mesh) {
  return mesh.size_of(step.idle_axes);
}

// All scores of a statement over those that the kernel computes.
double all_scores(const LayerPlan& plan, const ShardedStatement& step, const AttentionRow& kernel) {
  if (step.kind != StatementKind::attention) return 1;
  return 1 / kernel.share(plan.layer.statements[static_cast<std::size_t>(step.statement)].causal);
}

// One pass forward and backward of one layer.
StepFlops layer_flops(const LayerPlan& plan, const Mesh& mesh, const AttentionRow& kernel) {
  StepFlops flops;
  flops.model = plan.sharded.model_flops;
  flops.model_all_scores = flops.model + skipped_scores(plan.layer) * 3;
  for (const ShardedStatement& step : plan.sharded.steps) {
    const Flops executed = whole_flops(plan.layer, mesh, step) * copies(step, mesh);
    flops.executed += executed;
    flops.executed_all_scores += executed * all_scores(plan, step, kernel);
  }
  return flops;
}

}  // namespace

StepFlops flops_of(const Prepared& run) {
  StepFlops sum;
  const auto add = [&](const LayerPlan& plan, double times) {
    const StepFlops one = layer_flops(plan, run.mesh, *run.attention);
    times *= run.batch.microbatches;
    sum.model += one.model * times;
    sum.model_all_scores += one.model_all_scores * times;
    sum.executed += one.executed * times;
    sum.executed_all_scores += one.executed_all_scores * times;
    if (plan.kind == "head") sum.head += one.model * times;
  };
  add(run, run.layers);
  for (const LayerPlan& end : run.ends) add(end, 1);
  return sum;
}

}  // namespace shardsim
