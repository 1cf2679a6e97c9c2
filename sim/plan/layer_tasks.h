// A layer's pass as tasks: what its statements compute and the collectives around them, in the
// order of one device's streams. The same for every layer of a kind and every micro-batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/schedule.h"
#include "plan/cost.h"
#include "plan/layer_plan.h"
#include "plan/overlap.h"

namespace shardsim {

// What a collective is for, which decides what may run beside it.
enum class TaskRole : std::uint8_t {
  work,    // a statement, or a collective of activations: the next task waits for it
  gather,  // weights become whole before they are used
  reduce,  // gradients of weights
  update   // updated weights become whole, once per step
};

struct Task {
  const ShardedStatement* step = nullptr;
  const ShardedCollective* collective = nullptr;  // nullptr: the statement itself
  const AlgorithmRow* algorithm = nullptr;        // of the collective
  TaskRole role = TaskRole::work;
  Seconds seconds;  // of the statement, on a device of speed 1
  int number = 0;   // counts the tasks of the layer, both passes
};

struct LayerTasks {
  const LayerPlan* plan = nullptr;
  std::vector<Task> forward;
  // The backward pass in its order; which of it makes gradients of weights alone, on which no other
  // layer waits (zero-bubble schedules run them later).
  std::vector<Task> backward;
  std::vector<bool> of_weights;  // [backward]
};

LayerTasks tasks_of(const LayerPlan& plan, const ChipRates& rates);

// The tasks of a layer that a work of a schedule is made of, in order: those of the chain, in which
// each waits for the one before it, and the gathers of weights that run ahead of it.
struct PassTasks {
  std::vector<const Task*> chain, gathers;
};
PassTasks pass_tasks(const LayerTasks& tasks, WorkKind kind, const Overlap& overlap);

// When a task of a chain takes place.
enum class Moment : std::uint8_t {
  in_chain,  // the next task waits for it
  at_end,    // of its layer's pass: a reduction beside the chain, after every micro-batch
  bucket,    // in the last work of a stage alone, put together with others, beside the chain
  later      // not in this work: at the end of the step, or in the last work of the stage
};
// `last_of_stage`: no later work makes gradients of the stage's weights.
Moment moment_of(const Task& task, const Overlap& overlap, bool last_of_stage);
// Of all kinds of layers as StageUnit::kind counts them: the layers, then the ends.
std::vector<LayerTasks> tasks_of_kinds(const LayerPlan& layers, std::span<const LayerPlan> ends,
                                       const ChipRates& rates);

// The optimizer on the weights of one layer that a device updates: their gradients, state and
// weights read, state and weights written, at the bandwidth of its memory.
Seconds update_time(const LayerPlan& plan, const Mesh& mesh, const Precision& precision,
                    const Optimizer& optimizer, const ChipRates& rates);

// A device's gradients of the layer's weights, as they lie until they are reduced.
Bytes gradients_of(const LayerPlan& plan, const Mesh& mesh, const Precision& precision);

// One layer's forward, backward-input and backward-weight: its computing and, one after the other,
// the closed forms of the collectives that the pass waits for.
struct LayerTimes {
  Seconds forward, backward_input, backward_weight;
};
LayerTimes layer_times(const LayerTasks& tasks, const Cluster& cluster, const Mesh& mesh);

}  // namespace shardsim
