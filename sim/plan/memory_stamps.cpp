#include "plan/memory_stamps.h"

#include <algorithm>

#include "base/must.h"

namespace shardsim {

namespace {

// Whether some work is half a backward pass.
bool splits_backward(const Schedule& schedule) {
  for (const RankProgram& program : schedule.programs)
    for (const Cell& cell : program.cells)
      for (const Work& work : cell.works())
        if (work.kind == WorkKind::backward_input || work.kind == WorkKind::backward_weight)
          return true;
  return false;
}

}  // namespace

MemoryStamps::MemoryStamps(GraphBuilder& builder, const Prepared& run,
                           const std::vector<LayerTasks>& kinds)
    : builder_(builder), own_gradients_(run.optimizer.gradients) {
  const SplitMemory split =
      splits_backward(run.step.schedule) ? SplitMemory::compute : SplitMemory::leave_out;
  for (const LayerTasks& kind : kinds)
    kinds_.push_back(layer_memory(
        kind, {run.mesh, run.precision, run.optimizer, *run.attention, run.dropout}, split));
}

void MemoryStamps::hold(Classes classes, const StageUnit& unit, OpId start) {
  const LayerMemory& held = memory(unit);
  for (const std::uint32_t c : classes) {
    builder_.memory({start, false, MemoryKind::weights, c, held.weights});
    builder_.memory({start, false, MemoryKind::optimizer, c, held.optimizer});
    if (own_gradients_) builder_.memory({start, false, MemoryKind::gradients, c, held.gradients});
  }
}

void MemoryStamps::begin_gradients(Classes classes, const StageUnit& unit, int stage,
                                   const ClassOps& before) {
  if (own_gradients_) return;
  const int layer = unit.kind == 0 ? unit.layer : -unit.kind;
  if (!begun_.insert({static_cast<int>(classes.front()), stage, layer}).second) return;
  for (const std::uint32_t c : classes)
    builder_.memory({before[c], true, MemoryKind::gradients, c, memory(unit).gradients});
}

void MemoryStamps::end_gradients(Classes classes, const StageUnit& unit, const ClassOps& updated) {
  if (own_gradients_) return;
  for (const std::uint32_t c : classes) {
    builder_.memory({updated[c], true, MemoryKind::gradients, c, Bytes{} - memory(unit).gradients});
  }
}

const std::vector<MemoryChange>& MemoryStamps::of(const StageUnit& unit, WorkKind work,
                                                  const Task& task) const {
  const LayerMemory& kind = memory(unit);
  const bool split = work == WorkKind::backward_input || work == WorkKind::backward_weight;
  return (split ? kind.split : kind.whole)[static_cast<std::size_t>(task.number)];
}

void MemoryStamps::stamp(const std::vector<MemoryChange>& changes, Classes classes,
                         const ClassOps& ops) {
  for (const MemoryChange& change : changes)
    for (const std::uint32_t c : classes)
      builder_.memory({ops[c], change.at_end, change.kind, c, change.bytes});
}

void MemoryStamps::stamp(const std::vector<MemoryChange>& changes, Classes classes,
                         const ClassOps& before, const ClassOps& last) {
  for (const MemoryChange& change : changes)
    for (const std::uint32_t c : classes)
      builder_.memory({(change.at_end ? last : before)[c], true, change.kind, c, change.bytes});
}

void MemoryStamps::stamp(const std::vector<MemoryChange>& changes, Classes classes,
                         const Occurrence& once, const ClassOps& ends) {
  if (changes.empty()) return;
  for (const std::uint32_t c : classes) {
    const auto group = std::find(once.end.begin(), once.end.end(), ends[c]);
    must(group != once.end.end(), "every class of the rank is in a group");
    const OpId begin = once.begin[static_cast<std::size_t>(group - once.end.begin())];
    for (const MemoryChange& change : changes) {
      builder_.memory(
          {change.at_end ? *group : begin, change.at_end, change.kind, c, change.bytes});
    }
  }
}

void MemoryStamps::enter(Classes classes, const StageUnit& unit, const ClassOps& before) {
  if (memory(unit).input == Bytes{}) return;
  for (const std::uint32_t c : classes)
    builder_.memory({before[c], true, MemoryKind::activations, c, memory(unit).input});
}

void MemoryStamps::leave(Classes classes, const StageUnit& unit, const ClassOps& last) {
  if (memory(unit).input == Bytes{}) return;
  for (const std::uint32_t c : classes)
    builder_.memory({last[c], true, MemoryKind::activations, c, Bytes{} - memory(unit).input});
}

void MemoryStamps::sent(Classes from, Classes to, const Boundary& what,
                        const std::vector<OpId>& first, const std::vector<OpId>& last) {
  for (std::size_t k = 0; k < from.size(); ++k) {
    builder_.memory({first[k], false, MemoryKind::activations, to[k], what.bytes});
    builder_.memory({last[k], true, MemoryKind::activations, from[k], Bytes{} - what.whole()});
  }
}

void MemoryStamps::gathered(Classes classes, const Boundary& what, const Occurrence& once,
                            const ClassOps& ends) {
  stamp({{false, MemoryKind::activations, what.whole()},
         {true, MemoryKind::activations, Bytes{} - what.bytes}},
        classes, once, ends);
}

void MemoryStamps::passing(Classes to, Bytes bytes, const std::vector<OpId>& first,
                           const std::vector<OpId>& last) {
  for (std::size_t k = 0; k < to.size(); ++k) {
    builder_.memory({first[k], false, MemoryKind::gathered, to[k], bytes});
    builder_.memory({last[k], true, MemoryKind::gathered, to[k], Bytes{} - bytes});
  }
}

}  // namespace shardsim
