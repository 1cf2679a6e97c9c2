#include "plan/step_floor.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/gradient_buckets.h"
#include "plan/layer_tasks.h"
#include "plan/reshard.h"
#include "plan/tiled_product.h"

namespace shardsim {
namespace {

// Ends of what runs on streams other than that of the chain, by communicator.
using Streams = std::map<std::vector<std::string>, Seconds>;

// What one layer adds to a work: its chain, cut where it computes first and last, and what runs
// ahead of it or beside it.
struct UnitFloor {
  Seconds lead, middle, trail;  // before the first computing, up to the end of the last, after it
  Seconds computed;             // alone
  struct Beside {
    const std::vector<std::string>* axes = nullptr;
    Seconds time;
  };
  std::vector<Beside> gathers, reductions;
  struct Bucketed {
    const Task* task = nullptr;
    Seconds left;  // of the chain behind it
  };
  std::vector<Bucketed> buckets;

  Seconds whole() const { return lead + middle + trail; }
};

class StepFloor {
 public:
  StepFloor(const Prepared& run, const LowerOptions& options, AloneTimes& alone)
      : run_(run),
        alone_(alone),
        alike_(ideal_is_bound(run.cluster)),
        kinds_(tasks_of_kinds(run, run.ends, run.rates)) {
    const AloneTimes::Network network{run.cluster, fold_of(run, options), run.step.axes,
                                      options.grain};
    alone.use(network);
    for (const DeviceId device : network.fold.representatives(run.cluster))
      speed_ = std::max(speed_, run.cluster.speed_of(device));
    const auto works = static_cast<std::size_t>(schedule().microbatches * schedule().stages());
    forward_.resize(works);
    backward_.resize(works);
    kept_.resize(works);
    ranks_.resize(static_cast<std::size_t>(schedule().ranks()));
    for (int r = 0; r < schedule().ranks(); ++r)
      rank(r).gradients_left =
          works_with_gradients(schedule().programs[static_cast<std::size_t>(r)]);
  }

  Seconds run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < schedule().ranks(); ++r)
        while (go_on(r)) moved = true;
    }
    return finish();
  }

 private:
  struct Rank {
    std::size_t next = 0;  // cell
    Seconds compute;       // end of what the compute stream has
    Seconds end;           // of everything
    Streams gathers, reductions;
    std::optional<Seconds> scattered;  // the last reduction after a micro-batch
    std::map<int, int> gradients_left;
  };

  const Schedule& schedule() const { return run_.step.schedule; }
  const std::vector<Cell>& cells(int r) const {
    return schedule().programs[static_cast<std::size_t>(r)].cells;
  }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  bool blocking() const { return run_.step.mode == P2pMode::blocking; }
  std::size_t slot(int microbatch, int stage) const {
    return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(schedule().stages()) +
           static_cast<std::size_t>(stage);
  }
  const std::vector<StageUnit>& units(int stage) const {
    return run_.step.stages[static_cast<std::size_t>(stage)];
  }
  const LayerTasks& kind(const StageUnit& unit) const {
    return kinds_[static_cast<std::size_t>(unit.kind)];
  }

  Seconds time_of(const ShardedCollective& c, const AlgorithmRow* algorithm, int r) {
    if (!alike_) return {};
    CollectiveCall call = call_of(c, run_.mesh);
    call.algorithm = algorithm;
    return alone_.collective(call, r);
  }

  Seconds transfer(int from, int to, Bytes bytes) {
    return alike_ ? alone_.transfer(from, to, bytes) : Seconds{};
  }

  // When a work's input is there; nothing: not known yet.
  std::optional<Seconds> input_of(int r, const Work& work) {
    const int stages = schedule().stages();
    const std::size_t at = slot(work.microbatch, work.stage);
    if (work.kind == WorkKind::backward_weight) return kept_[at];
    const bool forward = work.kind == WorkKind::forward;
    if (forward && work.stage == 0) return Seconds{};
    if (!forward && work.stage + 1 == stages) return kept_[at];
    const std::optional<Seconds> made = (forward ? forward_ : backward_)[at];
    if (!made || blocking()) return made ? std::optional(Seconds{}) : std::nullopt;
    const int from = schedule().rank_of(work.microbatch, forward ? work.stage - 1 : work.stage + 1);
    if (from == r) return made;
    Seconds input = *made + transfer(from, r, run_.boundary.bytes);
    for (std::size_t i = 0; i < run_.boundary.gather.size(); ++i)
      input += time_of(run_.boundary.gather[i], run_.boundary.choices[i].row, r);
    return input;
  }

  bool go_on(int r) {
    Rank& on = rank(r);
    if (on.next == cells(r).size()) return false;
    const Cell& cell = cells(r)[on.next];
    std::vector<Seconds> inputs;
    for (const Work& work : cell.works()) {
      const std::optional<Seconds> input = input_of(r, work);
      if (!input) return false;
      inputs.push_back(*input);
    }
    ++on.next;
    const Seconds entry = on.compute;
    Seconds last = entry, computing = entry;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Work& work = cell.work[i];
      on.compute = entry;
      computing += do_work(r, work, inputs[i], cell.overlapped());
      last = std::max(last, on.compute);
    }
    on.compute = std::max(last, computing);
    return true;
  }

  // Returns how long it computes; moves the rank's compute stream and hands the result over.
  Seconds do_work(int r, const Work& work, Seconds at, bool turns) {
    Rank& on = rank(r);
    const bool last = makes_gradients(work) && --rank(r).gradients_left[work.stage] == 0;
    const Seconds entry = on.compute;
    std::vector<Seconds> gathered, begun, ended;
    const bool forward = work.kind == WorkKind::forward;
    const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
    const std::vector<const UnitFloor*>& layers = units_of(work, last, r);
    const auto unit_at = [&](std::size_t u) -> const UnitFloor& { return *layers[u]; };
    const auto gather_up_to = [&](std::size_t count) {
      while (gathered.size() < std::min(count, layers.size())) {
        const std::size_t u = gathered.size();
        Seconds t = gate(u, forward, entry, begun, ended);
        for (const UnitFloor::Beside& one : unit_at(u).gathers) t = put(on.gathers, one, t);
        gathered.push_back(t);
      }
    };
    GradientBuckets<Seconds> buckets(run_.overlap.bucket);
    const auto reduce = [&](const GradientBucket<Seconds>& bucket) {
      const Seconds time = time_of(bucket.what, bucket.algorithm, r);
      on.end = std::max(on.end, put(on.reductions, {&bucket.what.axes, time}, bucket.ready));
    };
    Seconds computing;
    for (std::size_t u = 0; u < layers.size(); ++u) {
      const UnitFloor& layer = unit_at(u);
      if (depth > 0) {
        gather_up_to(forward ? u + depth + 1 : u + 1);
        if (!layer.gathers.empty()) at = std::max({at, gathered[u], on.compute});
        begun.push_back(at);
        if (!forward && run_.overlap.backward_pre) gather_up_to(u + depth + 1);
      }
      computing += go_through(layer, turns, at, on.compute);
      ended.push_back(at);
      for (const UnitFloor::Bucketed& one : layer.buckets)
        buckets.add(*one.task, at - one.left, reduce);
      reduce_beside(layer, on, at);
      buckets.end_layer(u + 1 == layers.size(), reduce);
    }
    on.end = std::max(on.end, at);
    hand_over(work, at);
    return computing;
  }

  // The chain of one layer; returns how long it computes at the least.
  static Seconds go_through(const UnitFloor& layer, bool turns, Seconds& at, Seconds& compute) {
    if (!turns) {
      if (layer.whole() > Seconds{}) at = compute = std::max(at, compute) + layer.whole();
      return layer.computed;
    }
    at += layer.lead;
    if (layer.computed == Seconds{}) return {};
    at = compute = std::max(at, compute) + layer.middle;
    at += layer.trail;
    return layer.computed;
  }

  // What waits for room only (WorkChains::gate).
  Seconds gate(std::size_t u, bool forward, Seconds entry, const std::vector<Seconds>& begun,
               const std::vector<Seconds>& ended) const {
    const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
    if (forward) {
      if (u < depth + 1) return entry;
      return run_.overlap.fsdp->frees_at_end ? ended[u - depth - 1] : begun[u - depth - 1];
    }
    if (!run_.overlap.backward_pre) return u == 0 ? entry : ended[u - 1];
    return u < depth ? entry : begun[u - depth];
  }

  static Seconds put(Streams& streams, const UnitFloor::Beside& one, Seconds after) {
    Seconds& tail = streams[*one.axes];
    return tail = std::max(tail, after) + one.time;
  }

  void reduce_beside(const UnitFloor& layer, Rank& on, Seconds& at) {
    if (layer.reductions.empty()) return;
    if (run_.overlap.fsdp->one_scatter && on.scattered)
      at = on.compute = std::max(at, *on.scattered);
    Seconds done = at;
    for (const UnitFloor::Beside& one : layer.reductions) done = put(on.reductions, one, done);
    on.scattered = done;
    on.end = std::max(on.end, done);
  }

  void hand_over(const Work& work, Seconds at) {
    if (work.kind == WorkKind::backward_weight) return;
    kept_[slot(work.microbatch, work.stage)] = at;
    const bool forward = work.kind == WorkKind::forward;
    const int stage = forward ? work.stage + 1 : work.stage - 1;
    if (stage < 0 || stage == schedule().stages()) return;
    (forward ? forward_ : backward_)[slot(work.microbatch, stage)] = at;
  }

  // Of a work, in its order.
  const std::vector<const UnitFloor*>& units_of(const Work& work, bool last, int r) {
    const auto [at, fresh] = work_units_.try_emplace({work.stage, work.kind, last, r});
    if (!fresh) return at->second;
    for (const StageUnit& one : units(work.stage))
      at->second.push_back(&unit(one, work.kind, last, r));
    if (work.kind != WorkKind::forward) std::reverse(at->second.begin(), at->second.end());
    return at->second;
  }

  const UnitFloor& unit(const StageUnit& of, WorkKind work, bool last, int r) {
    const auto [at, fresh] = units_.try_emplace({of.kind, work, last, r});
    if (fresh) at->second = make_unit(kind(of), work, last, r);
    return at->second;
  }

  UnitFloor make_unit(const LayerTasks& tasks, WorkKind work, bool last, int r) {
    UnitFloor floor;
    const PassTasks pass = pass_tasks(tasks, work, run_.overlap);
    for (const Task* gather : pass.gathers)
      floor.gathers.push_back(
          {&gather->collective->axes, time_of(*gather->collective, gather->algorithm, r)});
    const std::span<const Task* const> chain = pass.chain;
    for (std::size_t i = 0; i < chain.size();) {
      const auto tiled = tiled_tasks(chain.subspan(i), run_.overlap, run_.cluster, run_.mesh);
      if (tiled) {
        add_tiles(floor, *tiled, r);
        i += tiled->count();
      } else {
        add_task(floor, *chain[i++], last, r);
      }
    }
    for (UnitFloor::Bucketed& one : floor.buckets) one.left = floor.whole() - one.left;
    return floor;
  }

  // `time`: with what moves beside it.
  static void compute(UnitFloor& floor, Seconds computed, Seconds time) {
    if (computed == Seconds{}) return;
    floor.computed += computed;
    floor.middle += floor.trail + time;
    floor.trail = {};
  }

  void add_task(UnitFloor& floor, const Task& task, bool last, int r) {
    const Moment moment = moment_of(task, run_.overlap, last);
    if (moment == Moment::later) return;
    if (moment == Moment::bucket) return floor.buckets.push_back({&task, floor.whole()});
    if (task.collective == nullptr) {
      const Seconds time = task.seconds / speed_;
      return compute(floor, time, time);
    }
    const Seconds time = time_of(*task.collective, task.algorithm, r);
    if (moment == Moment::at_end) {
      floor.reductions.push_back({&task.collective->axes, time});
    } else {
      (floor.computed > Seconds{} ? floor.trail : floor.lead) += time;
    }
  }

  // All tiles computed and one moved, or all moved and one computed.
  void add_tiles(UnitFloor& floor, const TiledTasks& tasks, int r) {
    const Tiles tiles = tiles_of(tasks, run_.overlap, run_.rates.launch);
    const Seconds each = tiles.each / speed_;
    Seconds moved;
    for (const Task* move : tasks.moves) {
      const ShardedCollective tile = tile_of(*move->collective, tiles);
      moved += time_of(tile, tiles.hops ? find_algorithm("shift") : move->algorithm, r);
    }
    const Seconds computed = each * static_cast<double>(tiles.count);
    compute(floor, computed,
            std::max(computed + (tiles.hops ? Seconds{} : moved),
                     moved * static_cast<double>(tiles.moves()) + each));
  }

  // The layers of the rank's stages in the order of the backward pass.
  template <class Visit>
  void for_each_unit(int r, Visit visit) {
    const std::map<int, int>& mine = rank(r).gradients_left;
    for (auto stage = mine.rbegin(); stage != mine.rend(); ++stage) {
      const std::vector<StageUnit>& held = units(stage->first);
      for (auto unit = held.rbegin(); unit != held.rend(); ++unit) visit(kind(*unit));
    }
  }

  // As StepLowering::finish.
  Seconds finish() {
    std::vector<Seconds> done;
    for (int r = 0; r < schedule().ranks(); ++r) {
      must(rank(r).next == cells(r).size(), "a schedule without deadlock comes to its end");
      Seconds at = std::max(rank(r).end, rank(r).compute);
      for_each_unit(r, [&](const LayerTasks& tasks) {
        for (const Task& task : tasks.backward) {
          const bool reduces = task.role == TaskRole::reduce && task.collective->once_per_step;
          if (reduces && !run_.overlap.gradients)
            at += time_of(*task.collective, task.algorithm, r);
        }
      });
      done.push_back(at);
    }
    if (schedule().placement == Placement::dual) add_copies(done);
    Seconds last;
    for (int r = 0; r < schedule().ranks(); ++r)
      last = std::max(last, update(r, done[static_cast<std::size_t>(r)]));
    return last;
  }

  void add_copies(std::vector<Seconds>& done) {
    const std::vector<Seconds> before = done;
    for (int r = 0; r < schedule().ranks(); ++r) {
      const int mirror = schedule().ranks() - 1 - r;
      if (mirror == r) continue;
      Bytes gradients;
      for_each_unit(r, [&](const LayerTasks& tasks) {
        gradients += gradients_of(*tasks.plan, run_.mesh, run_.precision);
      });
      Seconds& there = done[static_cast<std::size_t>(mirror)];
      there = std::max(there, before[static_cast<std::size_t>(r)] + transfer(r, mirror, gradients));
    }
  }

  Seconds update(int r, Seconds done) {
    Seconds adam = done;
    std::vector<std::pair<const LayerTasks*, Seconds>> updated;
    for_each_unit(r, [&](const LayerTasks& tasks) {
      if (run_.optimizer.runs)
        adam += update_time(*tasks.plan, run_.mesh, run_.precision, run_.optimizer, run_.rates) /
                speed_;
      updated.emplace_back(&tasks, adam);
    });
    Seconds last = adam;
    Streams streams;
    for (const auto& [tasks, after] : updated) {
      Seconds at = run_.overlap.updates ? after : adam;
      for (const Task& task : tasks->backward) {
        if (task.role != TaskRole::update) continue;
        const Seconds time = time_of(*task.collective, task.algorithm, r);
        at = put(streams, {&task.collective->axes, time}, at);
      }
      last = std::max(last, at);
    }
    return last;
  }

  const Prepared& run_;
  AloneTimes& alone_;
  bool alike_;
  std::vector<LayerTasks> kinds_;
  double speed_ = 0;  // of the fastest chip
  std::vector<Rank> ranks_;
  // [microbatch * stages + stage] when what a work waits for was made
  std::vector<std::optional<Seconds>> forward_, backward_, kept_;
  std::map<std::tuple<int, WorkKind, bool, int>, UnitFloor> units_;  // by kind of layer
  std::map<std::tuple<int, WorkKind, bool, int>, std::vector<const UnitFloor*>> work_units_;
};

}  // namespace

bool ideal_is_bound(const Cluster& cluster) {
  return cluster.speed.empty() && cluster.changed.empty() && cluster.cables.empty();
}

Seconds step_floor(const Prepared& run, const LowerOptions& options, AloneTimes& alone) {
  return StepFloor(run, options, alone).run();
}

}  // namespace shardsim
