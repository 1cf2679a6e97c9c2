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

using KindMemory = PlanMemo::KindMemory;

KindMemory memory_of(const LayerPlan& plan, const Prepared& run) {
  const LayerTasks tasks = tasks_of(plan, run.rates);
  const LayerMemory memory =
      layer_memory(tasks, {run.mesh, run.precision, run.optimizer, *run.attention, run.dropout},
                   SplitMemory::leave_out);
  return {
      memory.weights + memory.optimizer + (run.optimizer.gradients ? memory.gradients : Bytes{}),
      left_by_forward(tasks, memory), memory.input};
}

// In the order of StageUnit::kind.
std::vector<KindMemory> memory_of_kinds(const Prepared& run, PlanMemo& memo) {
  const Optimizer& optimizer = run.optimizer;
  const std::string beside = fmt::format(" memory, {} {} {} {}", optimizer.runs, optimizer.state,
                                         optimizer.gradients, run.dropout);
  std::vector<KindMemory> kinds;
  const auto add = [&](const LayerPlan& plan) {
    kinds.push_back(memo.memory(plan.question + beside, [&] { return memory_of(plan, run); }));
  };
  add(run);
  for (const LayerPlan& end : run.ends) add(end);
  return kinds;
}

// Of one stage.
struct StageMemory {
  Bytes held, kept;  // throughout; of one micro-batch after its forward pass
  Bytes output;      // of that, what the next stage takes over
};

std::vector<StageMemory> memory_of_stages(const Prepared& run, PlanMemo& memo) {
  const std::vector<KindMemory> kinds = memory_of_kinds(run, memo);
  std::vector<StageMemory> stages;
  for (const std::vector<StageUnit>& units : run.step.stages) {
    StageMemory stage;
    stage.kept = kinds[static_cast<std::size_t>(units.front().kind)].input;
    for (const StageUnit& unit : units) {
      const KindMemory& kind = kinds[static_cast<std::size_t>(unit.kind)];
      stage.held += kind.held;
      stage.kept += kind.left;
    }
    stages.push_back(stage);
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int last = run.step.stages[s].back().kind;
    if (s + 1 < stages.size()) {
      const int next = run.step.stages[s + 1].front().kind;
      stages[s].output = kinds[static_cast<std::size_t>(next)].input;
    } else if (last == 0) {
      stages[s].output = kinds.front().input;
    }
  }
  return stages;
}

// The most that is in flight on a rank at a time, as its cells come. A backward that is overlapped
// with a forward may be through before it.
Bytes most_in_flight(const RankProgram& program, const std::vector<StageMemory>& stages) {
  Bytes now, most;
  for (const Cell& cell : program.cells) {
    Bytes taken;
    for (const Work& work : cell.works()) {
      const StageMemory& stage = stages[static_cast<std::size_t>(work.stage)];
      const Bytes kept = stage.kept - stage.output;
      if (work.kind == WorkKind::forward) taken += kept;
      if (work.kind == WorkKind::backward || work.kind == WorkKind::backward_input) now -= kept;
    }
    now += taken;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

LeastMemory least_memory(const Prepared& run) {
  PlanMemo memo;
  const std::vector<StageMemory> stages = memory_of_stages(run, memo);
  LeastMemory most;
  for (int rank = 0; rank < run.step.ranks(); ++rank) {
    LeastMemory here;
    here.rank = rank;
    for (const int stage : stages_of(run.step.schedule, rank)) {
      const StageMemory& memory = stages[static_cast<std::size_t>(stage)];
      here.held += memory.held;
      here.activations = std::max(here.activations, memory.kept);
    }
    if (here.total() > most.total()) most = here;
  }
  return most;
}

Bytes memory_floor(const Prepared& run, PlanMemo& memo) {
  const std::vector<StageMemory> stages = memory_of_stages(run, memo);
  Bytes most;
  for (int rank = 0; rank < run.step.ranks(); ++rank) {
    Bytes held;
    for (const int stage : stages_of(run.step.schedule, rank))
      held += stages[static_cast<std::size_t>(stage)].held;
    const RankProgram& program = run.step.schedule.programs[static_cast<std::size_t>(rank)];
    most = std::max(most, held + most_in_flight(program, stages));
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
