#include "plan/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plan/layer_memory.h"

namespace shardsim {
namespace {

// What the forward pass of a layer leaves behind.
Bytes left_by_forward(const LayerTasks& tasks, const LayerMemory& memory) {
  Bytes sum;
  for (const Task& task : tasks.forward)
    for (const MemoryChange& change : memory.whole[static_cast<std::size_t>(task.number)])
      sum += change.bytes;
  return sum;
}

// The stages that have work on a rank.
std::set<int> stages_of(const Schedule& schedule, int rank) {
  std::set<int> stages;
  for (const Cell& cell : schedule.programs[static_cast<std::size_t>(rank)].cells)
    for (const Work& work : cell.works()) stages.insert(work.stage);
  return stages;
}

}  // namespace

LeastMemory least_memory(const Prepared& run) {
  struct Kind {
    Bytes held, left, input;
  };
  std::vector<Kind> kinds;
  for (const LayerTasks& tasks : tasks_of_kinds(run, run.ends, run.rates)) {
    const LayerMemory memory =
        layer_memory(tasks, {run.mesh, run.precision, run.optimizer, *run.attention, run.dropout});
    kinds.push_back(
        {memory.weights + memory.optimizer + (run.optimizer.gradients ? memory.gradients : Bytes{}),
         left_by_forward(tasks, memory), memory.input});
  }
  LeastMemory most;
  for (int rank = 0; rank < run.step.ranks(); ++rank) {
    LeastMemory here;
    here.rank = rank;
    for (const int stage : stages_of(run.step.schedule, rank)) {
      const auto& units = run.step.stages[static_cast<std::size_t>(stage)];
      Bytes kept = kinds[static_cast<std::size_t>(units.front().kind)].input;
      for (const StageUnit& unit : units) {
        const Kind& kind = kinds[static_cast<std::size_t>(unit.kind)];
        here.held += kind.held;
        kept += kind.left;
      }
      here.activations = std::max(here.activations, kept);
    }
    if (here.total() > most.total()) most = here;
  }
  return most;
}

void check_memory_limit(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems) {
  if (!spec.memory_limit.given) return;
  const LeastMemory least = least_memory(run);
  if (spec.memory_limit.value >= least.total()) return;
  problems.push_back(
      {spec.memory_limit.pos,
       fmt::format("memory_limit: expected room for one micro-batch, {} at the least, found {}",
                   to_text(least.total()), to_text(spec.memory_limit.value)),
       fmt::format("rank {} holds {} of weights, gradients and optimizer state and {} that one "
                   "forward pass leaves: cut more, recompute, or lower batch.micro",
                   least.rank, to_text(least.held), to_text(least.activations))});
}

}  // namespace shardsim
