// MemoryStamps: writes what tasks take and give back (plan/layer_memory.h) beside the ops that they
// became.
#pragma once

#include <array>
#include <set>
#include <vector>

#include "ir/schedule.h"
#include "plan/device_streams.h"
#include "plan/graph_builder.h"
#include "plan/layer_memory.h"
#include "plan/prepare.h"

namespace shardsim {

class MemoryStamps {
 public:
  // `kinds`: as StageUnit::kind counts.
  MemoryStamps(GraphBuilder& builder, const Prepared& run, const std::vector<LayerTasks>& kinds);

  // Weights, optimizer state and gradients of a layer, from the start of the step.
  void hold(Classes classes, const StageUnit& unit, OpId start);
  // Gradients that have no memory of their own between steps: from the first backward pass of a
  // layer, after `before`, to its update.
  void begin_gradients(Classes classes, const StageUnit& unit, int stage, const ClassOps& before);
  void end_gradients(Classes classes, const StageUnit& unit, const ClassOps& updated);

  const std::vector<MemoryChange>& of(const StageUnit& unit, WorkKind work, const Task& task) const;
  // Of a task that became one op on each class.
  void stamp(const std::vector<MemoryChange>& changes, Classes classes, const ClassOps& ops);
  // Of a task that begins when `before` have ended and ends with `last`.
  void stamp(const std::vector<MemoryChange>& changes, Classes classes, const ClassOps& before,
             const ClassOps& last);
  // Of a collective; `ends` are those of its groups.
  void stamp(const std::vector<MemoryChange>& changes, Classes classes, const Occurrence& once,
             const ClassOps& ends);

  // What enters the first layer of the model, when `before` have ended; its gradient goes.
  void enter(Classes classes, const StageUnit& unit, const ClassOps& before);
  void leave(Classes classes, const StageUnit& unit, const ClassOps& last);
  // What one rank sends to another: there with the transfer's first op, gone here with its last.
  // All [classes of the rank].
  void sent(Classes from, Classes to, const Boundary& what, const std::vector<OpId>& first,
            const std::vector<OpId>& last);
  // Its pieces are made whole.
  void gathered(Classes classes, const Boundary& what, const Occurrence& once,
                const ClassOps& ends);
  // Gradients of another copy of the weights, until they have come and are added.
  void passing(Classes to, Bytes bytes, const std::vector<OpId>& first,
               const std::vector<OpId>& last);

 private:
  const LayerMemory& memory(const StageUnit& unit) const {
    return kinds_[static_cast<std::size_t>(unit.kind)];
  }

  GraphBuilder& builder_;
  bool own_gradients_;
  std::set<std::array<int, 3>> begun_;  // first class, stage, layer: gradients that are there
  std::vector<LayerMemory> kinds_;
};

}  // namespace shardsim
