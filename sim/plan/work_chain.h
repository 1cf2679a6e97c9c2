// A work of the schedule as a chain of tasks on the streams of one rank: the passes of the layers
// of its stage, one after the other. Overlap takes tasks out of the chain: gathers of weights wait
// for room only, reductions of gradients for their gradient only.
//
//   for (WorkChain chain = chains.make(…); !chain.done();) chains.step(chain);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/schedule.h"
#include "plan/device_streams.h"
#include "plan/gradient_buckets.h"
#include "plan/layer_tasks.h"
#include "plan/memory_stamps.h"
#include "plan/prepare.h"
#include "plan/tiled_product.h"

namespace shardsim {

// One layer's part in a work.
struct UnitPass {
  StageUnit unit;
  std::vector<const Task*> tasks;    // in the chain
  std::vector<const Task*> gathers;  // of weights, when they are gathered ahead
};

struct WorkChain {
  Work work;
  Classes classes;
  ClassOps at;                 // what the next task waits for
  bool last_of_stage = false;  // no later work makes gradients of the stage's weights
  bool takes_turns = false;    // with another one: computes while this one waits for a collective
  bool on_compute = false;     // has come after what the compute stream did before
  std::vector<UnitPass> units;
  std::size_t unit = 0, task = 0;
  ClassOps entry;                            // the compute stream before the work
  std::vector<ClassOps> gathered;            // [units so far] end of the gathers
  std::vector<ClassOps> begun, ended;        // [units so far] of their computing
  std::vector<const Task*> reductions = {};  // of this unit, to begin at its end

  bool done() const { return unit == units.size(); }
  Pass pass() const { return work.kind == WorkKind::forward ? Pass::forward : Pass::backward; }
  StepPlace place() const {  // of the current unit
    return {units[unit].unit.layer, work.microbatch, work.stage, pass(),
            Purpose::pass,          false,           work.kind};
  }
};

class WorkChains {
 public:
  WorkChains(const Prepared& run, const Cluster& cluster, DeviceStreams& streams);

  const LayerTasks& kind(const StageUnit& unit) const {
    return kinds_[static_cast<std::size_t>(unit.kind)];
  }
  MemoryStamps& memory() { return memory_; }

  // The work from `at` on.
  WorkChain make(const Work& work, Classes classes, ClassOps at, bool last_of_stage,
                 bool takes_turns) const;
  // Its next task; true when that began a collective which the chain waits for, so that another
  // chain may compute meanwhile.
  bool step(WorkChain& chain);

  // Reductions once per step that no policy begins earlier: they wait for the end of the step.
  bool reduces_at_end(const Task& task) const {
    return task.role == TaskRole::reduce && task.collective->once_per_step &&
           !run_.overlap.gradients;
  }

 private:
  using Bucket = GradientBucket<ClassOps>;

  StepPlace place_of(const WorkChain& chain, const Task& task) const;
  void hold_compute(const WorkChain& chain);
  void wait_for_compute(WorkChain& chain);
  void compute(WorkChain& chain, const Task& task);
  // A collective of a task of that unit, and its memory.
  void communicate(const WorkChain& chain, const UnitPass& pass, const Task& task, ClassOps& at,
                   std::string_view stream);
  bool do_task(WorkChain& chain, const Task& task);
  void begin_unit(WorkChain& chain);
  void end_unit(WorkChain& chain);
  ClassOps gate(const WorkChain& chain, std::size_t unit) const;
  void gather_up_to(WorkChain& chain, std::size_t units);
  void reduce_layer(WorkChain& chain);
  void reduce(const WorkChain& chain, const Bucket& bucket);

  const Prepared& run_;
  DeviceStreams& streams_;
  TiledProducts tiled_;
  std::vector<LayerTasks> kinds_;  // as StageUnit::kind counts
  MemoryStamps memory_;
  std::map<std::uint32_t, ClassOps> scattered_;  // by first class of a rank: the last reduction
  GradientBuckets<ClassOps> buckets_;            // of the chain that is worked on
  std::map<std::tuple<int, std::string, Bytes, std::string>, ShardedCollective> bucket_kinds_;
};

}  // namespace shardsim
