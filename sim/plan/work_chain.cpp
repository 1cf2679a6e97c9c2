#include "plan/work_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/must.h"

namespace shardsim {

WorkChains::WorkChains(const Prepared& run, const Cluster& cluster, DeviceStreams& streams)
    : run_(run),
      streams_(streams),
      tiled_(streams, cluster, run.mesh, run.overlap, run.rates.launch),
      kinds_(tasks_of_kinds(run, run.ends, run.rates)),
      memory_(streams.builder(), run, kinds_),
      buckets_(run.overlap.bucket) {}

WorkChain WorkChains::make(const Work& work, Classes classes, ClassOps at, bool last_of_stage,
                           bool takes_turns) const {
  WorkChain chain;
  chain.work = work;
  chain.classes = classes;
  chain.at = std::move(at);
  chain.last_of_stage = last_of_stage;
  chain.takes_turns = takes_turns;
  chain.entry = streams_.compute_tail();
  for (const StageUnit& unit : run_.step.stages[static_cast<std::size_t>(work.stage)]) {
    PassTasks pass = pass_tasks(kind(unit), work.kind, run_.overlap);
    chain.units.push_back({unit, std::move(pass.chain), std::move(pass.gathers)});
  }
  if (work.kind != WorkKind::forward) std::reverse(chain.units.begin(), chain.units.end());
  return chain;
}

StepPlace WorkChains::place_of(const WorkChain& chain, const Task& task) const {
  StepPlace place = chain.place();
  // Weights that a recomputation gathers would be gathered for the gradients without it.
  if (task.role == TaskRole::work && task.step->again) place.purpose = Purpose::again;
  place.memory_bound = memory_bound(*task.step, run_.rates);
  return place;
}

bool WorkChains::step(WorkChain& chain) {
  const UnitPass& pass = chain.units[chain.unit];
  if (chain.task == 0) begin_unit(chain);
  bool moved = false;
  if (chain.task < pass.tasks.size()) {
    const auto tasks = std::span<const Task* const>(pass.tasks).subspan(chain.task);
    if (const auto tiled = tiled_.first_of(tasks)) {
      chain.task += tiled->count();
      wait_for_compute(chain);
      const ClassOps before = chain.at;
      tiled_.lower(chain.classes, *tiled, place_of(chain, *tasks.front()), chain.at);
      for (const Task* part : tasks.first(tiled->count())) {
        memory_.stamp(memory_.of(pass.unit, chain.work.kind, *part), chain.classes, before,
                      chain.at);
      }
      hold_compute(chain);
      moved = true;
    } else {
      moved = do_task(chain, *pass.tasks[chain.task++]);
    }
  }
  if (chain.task == pass.tasks.size()) {
    end_unit(chain);
    ++chain.unit;
    chain.task = 0;
  }
  return moved;
}

bool WorkChains::do_task(WorkChain& chain, const Task& task) {
  switch (moment_of(task, run_.overlap, chain.last_of_stage)) {
    case Moment::later:
      return false;
    case Moment::bucket:
      buckets_.add(task, chain.at, [&](const Bucket& bucket) { reduce(chain, bucket); });
      return false;
    case Moment::at_end:
      chain.reductions.push_back(&task);
      return false;
    case Moment::in_chain:
      break;
  }
  if (task.collective == nullptr) {
    compute(chain, task);
    return false;
  }
  wait_for_compute(chain);
  communicate(chain, chain.units[chain.unit], task, chain.at, "");
  hold_compute(chain);
  return task.role == TaskRole::work;
}

void WorkChains::compute(WorkChain& chain, const Task& task) {
  const auto& changes = memory_.of(chain.units[chain.unit].unit, chain.work.kind, task);
  if (task.seconds == Seconds{}) {
    memory_.stamp(changes, chain.classes, chain.at, chain.at);
    return;
  }
  const std::uint32_t origin = streams_.origin(task.step->text, "compute", place_of(chain, task));
  streams_.compute(chain.classes, task.seconds, origin, chain.at);
  chain.on_compute = true;
  memory_.stamp(changes, chain.classes, chain.at);
}

void WorkChains::communicate(const WorkChain& chain, const UnitPass& pass, const Task& task,
                             ClassOps& at, std::string_view stream) {
  StepPlace place = place_of(chain, task);
  place.layer = pass.unit.layer;  // gathers run ahead
  const DeviceStreams::Move move{task.collective, task.algorithm, 1, task.role != TaskRole::work};
  const Occurrence& once = streams_.communicate(chain.classes, move, place, at, stream);
  memory_.stamp(memory_.of(pass.unit, chain.work.kind, task), chain.classes, once, at);
}

// A collective is launched in the order of the compute stream, whose work so far it waits for
// (PyTorch's ProcessGroupNCCL::collective makes NCCL's stream wait for the current one).
void WorkChains::wait_for_compute(WorkChain& chain) {
  if (chain.takes_turns || chain.on_compute) return;
  chain.on_compute = true;
  const ClassOps& tail = streams_.compute_tail();
  const auto waits = [&](std::uint32_t c) { return tail[c] != chain.at[c]; };
  if (std::none_of(chain.classes.begin(), chain.classes.end(), waits)) return;
  const std::uint32_t origin = streams_.origin("the work before is done", "compute", chain.place());
  streams_.join(chain.classes, origin, chain.at, tail);
}

// Frameworks make the compute stream wait for a collective that the next kernel reads; only where
// two chains take turns does the other one compute meanwhile.
void WorkChains::hold_compute(const WorkChain& chain) {
  if (chain.takes_turns) return;
  for (const std::uint32_t c : chain.classes) streams_.compute_tail()[c] = chain.at[c];
}

// What the gathers of unit `u` wait for, so that no more whole layers are there than allowed.
ClassOps WorkChains::gate(const WorkChain& chain, std::size_t u) const {
  const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
  if (chain.pass() == Pass::forward) {
    if (u < depth + 1) return chain.entry;
    return run_.overlap.fsdp->frees_at_end ? chain.ended[u - depth - 1]
                                           : chain.begun[u - depth - 1];
  }
  if (!run_.overlap.backward_pre) return u == 0 ? chain.entry : chain.ended[u - 1];
  return u < depth ? chain.entry : chain.begun[u - depth];
}

void WorkChains::gather_up_to(WorkChain& chain, std::size_t units) {
  while (chain.gathered.size() < std::min(units, chain.units.size())) {
    const std::size_t u = chain.gathered.size();
    const UnitPass& pass = chain.units[u];
    ClassOps at = gate(chain, u);
    for (const Task* task : pass.gathers) communicate(chain, pass, *task, at, " gather");
    chain.gathered.push_back(std::move(at));
  }
}

void WorkChains::begin_unit(WorkChain& chain) {
  if (makes_gradients(chain.work))
    memory_.begin_gradients(chain.classes, chain.units[chain.unit].unit, chain.work.stage,
                            streams_.compute_tail());
  if (run_.overlap.prefetch == 0) return;
  const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
  const std::size_t u = chain.unit;
  const bool forward = chain.pass() == Pass::forward;
  gather_up_to(chain, forward ? u + depth + 1 : u + 1);
  if (!chain.units[u].gathers.empty()) {
    // The layer begins when its input and its whole weights are there.
    const std::uint32_t origin = streams_.origin("whole weights", "compute", chain.place());
    ClassOps whole = chain.gathered[u];
    streams_.join(chain.classes, origin, whole, streams_.compute_tail());
    streams_.join(chain.classes, origin, chain.at, whole);
  }
  chain.begun.push_back(chain.at);
  if (!forward && run_.overlap.backward_pre) gather_up_to(chain, u + depth + 1);
}

void WorkChains::end_unit(WorkChain& chain) {
  if (run_.overlap.prefetch > 0) chain.ended.push_back(chain.at);
  if (!chain.reductions.empty()) reduce_layer(chain);
  buckets_.end_layer(chain.unit + 1 == chain.units.size(),
                     [&](const Bucket& bucket) { reduce(chain, bucket); });
}

// Reductions after every micro-batch, of one layer at a time.
void WorkChains::reduce_layer(WorkChain& chain) {
  ClassOps& before = scattered_[chain.classes.front()];
  if (run_.overlap.fsdp->one_scatter && !before.empty()) {
    const std::uint32_t origin =
        streams_.origin("gradients of the layer before are reduced", "compute", chain.place());
    streams_.join(chain.classes, origin, chain.at, before);
    for (const std::uint32_t c : chain.classes) streams_.compute_tail()[c] = chain.at[c];
  }
  before = chain.at;
  for (const Task* task : chain.reductions)
    communicate(chain, chain.units[chain.unit], *task, before, " reduce");
  chain.reductions.clear();
}

void WorkChains::reduce(const WorkChain& chain, const Bucket& bucket) {
  // Buckets alike are occurrences of one description.
  const auto& what = bucket_kinds_
                         .try_emplace({static_cast<int>(bucket.what.kind),
                                       fmt::format("{}", fmt::join(bucket.what.axes, ",")),
                                       bucket.what.bytes, bucket.what.tensor},
                                      bucket.what)
                         .first->second;
  ClassOps at = bucket.ready;
  streams_.communicate(chain.classes, {&what, bucket.algorithm, 1, true}, chain.place(), at,
                       " reduce");
}

}  // namespace shardsim
