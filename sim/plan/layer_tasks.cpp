#include "plan/layer_tasks.h"

#include <algorithm>

#include "plan/lower_collective.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

bool is_parameter(const Layer& layer, std::string_view name) {
  const int t = layer.tensor(name);
  return t >= 0 && layer.tensors[static_cast<std::size_t>(t)].role == TensorRole::parameter;
}

// "dWq" of a parameter Wq.
bool is_weight_gradient(const Layer& layer, std::string_view name) {
  return name.starts_with('d') && is_parameter(layer, name.substr(1));
}

TaskRole role_of(const Layer& layer, const ShardedCollective& c) {
  if (is_weight_gradient(layer, c.tensor)) return TaskRole::reduce;
  if (!is_parameter(layer, c.tensor)) return TaskRole::work;
  return c.once_per_step ? TaskRole::update : TaskRole::gather;
}

}  // namespace

LayerTasks tasks_of(const LayerPlan& plan, const ChipRates& rates) {
  LayerTasks result;
  result.plan = &plan;
  std::size_t choice = 0;
  int number = 0;
  result.forward.reserve(plan.sharded.steps.size());
  result.backward.reserve(plan.sharded.steps.size() + plan.choices.size());
  for (const ShardedStatement& step : plan.sharded.steps) {
    const bool forward = step.pass == Pass::forward;
    std::vector<Task>& tasks = forward ? result.forward : result.backward;
    const bool of_weights = !forward && is_weight_gradient(plan.layer, step.out_name);
    const auto push = [&](Task task) {
      task.step = &step;
      task.number = number++;
      tasks.push_back(task);
      // The gather of updates stands behind the last statement, whatever that is.
      if (!forward) result.of_weights.push_back(of_weights || task.role == TaskRole::update);
    };
    const auto move = [&](const ShardedCollective& c) {
      Task task;
      task.collective = &c;
      task.algorithm = plan.choices[choice++].row;
      task.role = role_of(plan.layer, c);
      push(task);
    };
    for (const ShardedCollective& c : step.before) move(c);
    Task work;
    work.seconds = cost(step, rates);
    push(work);
    for (const ShardedCollective& c : step.after) move(c);
  }
  return result;
}

PassTasks pass_tasks(const LayerTasks& tasks, WorkKind kind, const Overlap& overlap) {
  PassTasks pass;
  const auto take = [&](const Task& task) {
    const bool ahead = task.role == TaskRole::gather && overlap.prefetch > 0;
    (ahead ? pass.gathers : pass.chain).push_back(&task);
  };
  if (kind == WorkKind::forward) {
    for (const Task& task : tasks.forward) take(task);
    return pass;
  }
  const bool weights = kind == WorkKind::backward_weight;
  for (std::size_t i = 0; i < tasks.backward.size(); ++i) {
    if (kind == WorkKind::backward || weights == tasks.of_weights[i]) take(tasks.backward[i]);
  }
  return pass;
}

Moment moment_of(const Task& task, const Overlap& overlap, bool last_of_stage) {
  if (task.collective == nullptr) return Moment::in_chain;
  const bool once = task.collective->once_per_step;
  if (once && !last_of_stage) return Moment::later;
  if (task.role == TaskRole::update) return Moment::later;
  if (task.role != TaskRole::reduce) return Moment::in_chain;
  if (overlap.gradients) return once ? Moment::bucket : Moment::at_end;
  return once ? Moment::later : Moment::in_chain;
}

std::vector<LayerTasks> tasks_of_kinds(const LayerPlan& layers, std::span<const LayerPlan> ends,
                                       const ChipRates& rates) {
  std::vector<LayerTasks> kinds = {tasks_of(layers, rates)};
  for (const LayerPlan& end : ends) kinds.push_back(tasks_of(end, rates));
  return kinds;
}

Seconds update_time(const LayerPlan& plan, const Mesh& mesh, const Precision& precision,
                    const Optimizer& optimizer, const ChipRates& rates) {
  double elements = 0;
  for (std::size_t t = 0; t < plan.layer.tensors.size(); ++t) {
    if (plan.layer.tensors[t].role != TensorRole::parameter) continue;
    elements += local_elements(plan.layer, mesh, plan.layouts.tensors[t].optimizer);
  }
  const Bytes traffic{elements *
                      (precision.gradients + 2 * optimizer.state + 2 * precision.weights)};
  return traffic / rates.memory;
}

Bytes gradients_of(const LayerPlan& plan, const Mesh& mesh, const Precision& precision) {
  Bytes bytes;
  for (std::size_t t = 0; t < plan.layer.tensors.size(); ++t) {
    if (plan.layer.tensors[t].role != TensorRole::parameter) continue;
    bytes += local_bytes(plan.layer, mesh, plan.layouts.tensors[t].gradient, precision.gradients);
  }
  return bytes;
}

LayerTimes layer_times(const LayerTasks& tasks, const Cluster& cluster, const Mesh& mesh) {
  LayerTimes times;
  const auto add = [&](const Task& task, Seconds& sum) {
    sum += task.seconds;
    if (task.collective == nullptr || task.algorithm == nullptr) return;
    if (task.collective->once_per_step) return;
    const CollectiveCall call = call_of(*task.collective, mesh);
    sum += task.algorithm->closed_form(call.ask, group_net(cluster, call.axes)).time;
  };
  for (const Task& task : tasks.forward) add(task, times.forward);
  for (std::size_t i = 0; i < tasks.backward.size(); ++i) {
    add(tasks.backward[i], tasks.of_weights[i] ? times.backward_weight : times.backward_input);
  }
  return times;
}

}  // namespace shardsim
