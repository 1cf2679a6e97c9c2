#include "plan/step_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/must.h"
#include "plan/graph_builder.h"
#include "plan/layer_tasks.h"
#include "plan/lower_collective.h"
#include "plan/stage_transfer.h"

namespace shardsim {
namespace {

using Ops = std::vector<OpId>;  // [device classes]

// One layer's part in a work.
struct UnitPass {
  StageUnit unit;
  const LayerTasks* kind = nullptr;
  std::vector<const Task*> tasks;    // in the chain
  std::vector<const Task*> gathers;  // of weights, when they are gathered ahead
};

// A work on one rank: the passes of its layers, and where in it we are.
struct Chain {
  Work work;
  std::vector<UnitPass> units;
  std::size_t unit = 0, task = 0;
  Ops at;                               // what the next task waits for
  Ops entry;                            // the compute stream before the work
  std::vector<Ops> gathered;            // [units so far] end of the gathers
  std::vector<Ops> begun, ended;        // [units so far] of their computing
  std::vector<const Task*> reductions;  // of this unit, that wait for its end
  bool last_of_stage = false;           // no work of this stage makes gradients after this one

  bool done() const { return unit == units.size(); }
};

// Reductions that are put together.
struct Bucket {
  ShardedCollective what;
  const AlgorithmRow* algorithm = nullptr;
  int tensors = 0;
  int layer = 0;
  Ops ready;
};

class StepLowering {
 public:
  StepLowering(const Prepared& run, Plan& plan, Grain grain)
      : run_(run),
        plan_(plan),
        builder_(plan.cluster, plan.fold),
        collectives_(builder_, grain),
        transfers_(builder_, run.step.axes),
        index_(index_cells(run.step.schedule)) {
    const std::uint32_t origin = builder_.origin({.name = "start", .stream = "start"});
    for (const DeviceId device : plan.fold.representatives(plan.cluster)) {
      speed_.push_back(plan.cluster.speed_of(device));
    }
    for (int rank = 0; rank < run.step.ranks(); ++rank) {
      const auto mine = transfers_.classes(rank);
      plan.ranks.emplace_back(mine.begin(), mine.end());
    }
    start_.assign(speed_.size(), builder_.join({}, 0, origin));
    compute_ = start_;
    kinds_.push_back(tasks_of(run, run.rates));
    for (const LayerPlan& end : run.ends) kinds_.push_back(tasks_of(end, run.rates));
    const Schedule& schedule = run.step.schedule;
    const auto works = static_cast<std::size_t>(schedule.microbatches * schedule.stages());
    forward_.resize(works);
    backward_.resize(works);
    kept_.resize(works);
    gradients_left_.resize(static_cast<std::size_t>(schedule.ranks()));
    for (int rank = 0; rank < schedule.ranks(); ++rank) count_gradients(rank);
    next_.resize(static_cast<std::size_t>(schedule.ranks()));
    reduced_.resize(static_cast<std::size_t>(schedule.ranks()));
  }

  OpGraph run() {
    const int ranks = run_.step.ranks();
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < ranks; ++rank) {
        while (can_go_on(rank)) {
          do_cell(rank);
          moved = true;
        }
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      must(next_[static_cast<std::size_t>(rank)] == program(rank).cells.size(),
           "a schedule without deadlock comes to its end");
      finish(rank);
    }
    return builder_.take();
  }

 private:
  const Schedule& schedule() const { return run_.step.schedule; }
  const RankProgram& program(int rank) const {
    return schedule().programs[static_cast<std::size_t>(rank)];
  }
  std::span<const std::uint32_t> classes(int rank) const { return transfers_.classes(rank); }
  std::size_t slot(int microbatch, int stage) const {
    return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(schedule().stages()) +
           static_cast<std::size_t>(stage);
  }

  // How many works make gradients of weights on each stage that the rank holds.
  void count_gradients(int rank) {
    auto& left = gradients_left_[static_cast<std::size_t>(rank)];
    for (const Cell& cell : program(rank).cells) {
      for (const Work& work : cell.works()) {
        if (work.kind == WorkKind::backward || work.kind == WorkKind::backward_weight)
          ++left[work.stage];
      }
    }
  }

  // Whether all that the next cell of the rank needs has been lowered.
  bool can_go_on(int rank) {
    const std::size_t next = next_[static_cast<std::size_t>(rank)];
    if (next == program(rank).cells.size()) return false;
    for (const Work& work : program(rank).cells[next].works()) {
      const std::size_t here = slot(work.microbatch, work.stage);
      const bool forward = work.kind == WorkKind::forward;
      const bool weights = work.kind == WorkKind::backward_weight;
      if (forward && work.stage > 0 && forward_[here].empty()) return false;
      if (!forward && !weights && work.stage + 1 < schedule().stages() && backward_[here].empty())
        return false;
    }
    return true;
  }

  void do_cell(int rank) {
    throw_if_interrupted();
    const Cell& cell = program(rank).cells[next_[static_cast<std::size_t>(rank)]++];
    std::vector<Chain> chains;
    for (const Work& work : cell.works()) chains.push_back(chain_of(rank, work));
    // Chains take turns: one goes on until it has started a collective.
    for (std::size_t turn = 0;
         !std::all_of(chains.begin(), chains.end(), [](const Chain& c) { return c.done(); });
         turn = (turn + 1) % chains.size()) {
      Chain& chain = chains[turn];
      for (bool moving = false; !chain.done() && !moving;) moving = step(rank, chain);
    }
    for (Chain& chain : chains) hand_over(rank, chain);
  }

  Chain chain_of(int rank, const Work& work) {
    Chain chain;
    chain.work = work;
    chain.entry = compute_;
    const std::size_t here = slot(work.microbatch, work.stage);
    switch (work.kind) {
      case WorkKind::forward:
        chain.at = work.stage == 0 ? start_ : arrived(rank, forward_[here]);
        break;
      case WorkKind::backward:
      case WorkKind::backward_input:
        chain.at = work.stage + 1 == schedule().stages() ? spread(rank, kept_[here])
                                                         : arrived(rank, backward_[here]);
        break;
      case WorkKind::backward_weight:
        chain.at = spread(rank, kept_[here]);
        break;
    }
    if (work.kind == WorkKind::backward || work.kind == WorkKind::backward_weight) {
      chain.last_of_stage = --gradients_left_[static_cast<std::size_t>(rank)][work.stage] == 0;
    }
    const std::vector<StageUnit>& units = run_.step.stages[static_cast<std::size_t>(work.stage)];
    for (const StageUnit& unit : units) {
      const LayerTasks& kind = kinds_[static_cast<std::size_t>(unit.kind)];
      UnitPass pass{unit, &kind, {}, {}};
      if (work.kind == WorkKind::forward) {
        for (const Task& task : kind.forward) take(task, pass);
      } else {
        for (std::size_t i = 0; i < kind.backward.size(); ++i) {
          const bool wanted = work.kind == WorkKind::backward ||
                              (work.kind == WorkKind::backward_weight) == kind.of_weights[i];
          if (wanted) take(kind.backward[i], pass);
        }
      }
      chain.units.push_back(std::move(pass));
    }
    if (work.kind != WorkKind::forward) std::reverse(chain.units.begin(), chain.units.end());
    return chain;
  }

  void take(const Task& task, UnitPass& pass) const {
    const bool ahead = task.role == TaskRole::gather && run_.overlap.prefetch > 0;
    (ahead ? pass.gathers : pass.tasks).push_back(&task);
  }

  // Ops of one class each as ops of all classes.
  Ops spread(int rank, const Ops& of_rank) const {
    Ops all = start_;
    const auto mine = classes(rank);
    for (std::size_t k = 0; k < mine.size(); ++k) all[mine[k]] = of_rank[k];
    return all;
  }
  Ops arrived(int rank, Ops& of_rank) {
    Ops all = spread(rank, of_rank);
    of_rank = Ops(1);  // once
    return all;
  }
  Ops of_rank(int rank, const Ops& all) const {
    Ops mine;
    for (const std::uint32_t c : classes(rank)) mine.push_back(all[c]);
    return mine;
  }

  // The next task of the chain; true when it began a collective that the chain waits for.
  bool step(int rank, Chain& chain) {
    UnitPass& pass = chain.units[chain.unit];
    if (chain.task == 0) begin_unit(rank, chain);
    bool moved = false;
    if (chain.task < pass.tasks.size()) moved = do_task(rank, chain, *pass.tasks[chain.task++]);
    if (chain.task == pass.tasks.size()) {
      end_unit(rank, chain);
      ++chain.unit;
      chain.task = 0;
    }
    return moved;
  }

  bool do_task(int rank, Chain& chain, const Task& task) {
    if (task.collective == nullptr) {
      compute(rank, chain, task);
      return false;
    }
    const ShardedCollective& c = *task.collective;
    if (task.role == TaskRole::reduce && c.once_per_step && !chain.last_of_stage) return false;
    if (task.role == TaskRole::update) {
      if (!chain.last_of_stage) return false;
      if (updates_at_end()) return false;  // finish() does it
    }
    if (task.role == TaskRole::reduce && run_.overlap.gradients) {
      if (c.once_per_step) {
        add_to_bucket(rank, chain, task);
      } else {
        chain.reductions.push_back(&task);
      }
      return false;
    }
    const UnitPass& pass = chain.units[chain.unit];
    communicate(rank, {&c, task.algorithm, &c}, task_origin(chain, pass.unit), chain.at, "");
    return task.role == TaskRole::work;
  }

  bool updates_at_end() const { return run_.optimizer.runs || run_.overlap.gradients; }

  void compute(int rank, Chain& chain, const Task& task) {
    if (task.seconds == Seconds{}) return;
    const UnitPass& pass = chain.units[chain.unit];
    const std::uint32_t origin = builder_.origin({.name = task.step->text,
                                                  .stream = "compute",
                                                  .layer = pass.unit.layer,
                                                  .microbatch = chain.work.microbatch,
                                                  .pass = task.step->pass,
                                                  .stage = chain.work.stage});
    for (const std::uint32_t c : classes(rank))
      chain.at[c] = work_op(c, task.seconds, origin, chain.at[c]);
  }

  // On the compute stream of a class, after what it needs.
  OpId work_op(std::uint32_t device, Seconds seconds, std::uint32_t origin, OpId after) {
    Op op;
    op.kind = OpKind::compute;
    op.device = device;
    op.origin = origin;
    op.seconds = seconds / speed_[device];
    const OpId waits[] = {compute_[device], after};
    compute_[device] =
        builder_.add(op, {waits, waits[0] == waits[1] ? std::size_t{1} : std::size_t{2}});
    return compute_[device];
  }

  struct Moves {
    const ShardedCollective* what = nullptr;
    const AlgorithmRow* algorithm = nullptr;
    const void* alike = nullptr;  // collectives of one description
  };
  struct Stands {
    int layer = 0, microbatch = 0, stage = 0;
    Pass pass = Pass::forward;
  };
  Stands task_origin(const Chain& chain, const StageUnit& unit) const {
    return {unit.layer, chain.work.microbatch, chain.work.stage,
            chain.work.kind == WorkKind::forward ? Pass::forward : Pass::backward};
  }

  // A collective of the rank's devices after `at`, which moves to its end, on the stream of its
  // axes; `stream` tells apart those of one communicator that need not wait for each other.
  void communicate(int rank, const Moves& moves, const Stands& stands, Ops& at,
                   std::string_view stream) {
    const ShardedCollective& c = *moves.what;
    CollectiveCall call = call_of(c, run_.mesh);
    call.algorithm = moves.algorithm;
    const auto [known, fresh] = described_.try_emplace(moves.alike, plan_.collectives.size());
    if (fresh) {
      CollectiveInstance& made =
          plan_.collectives.emplace_back(describe_call(call, plan_.cluster, c.axes));
      made.tensor = c.tensor;
      made.case_text = c.case_text;
      made.reason = c.reason;
      made.alternatives = c.alternatives;
      made.pass = stands.pass;
    }
    const std::string axes = fmt::format("{}", fmt::join(c.axes, ","));
    const std::string name = axes + std::string(stream);
    const std::uint32_t origin =
        builder_.origin({.name = fmt::format("{} {} over {}", to_text(c.kind), c.tensor, axes),
                         .stream = name,
                         .layer = stands.layer,
                         .microbatch = stands.microbatch,
                         .pass = stands.pass,
                         .collective = static_cast<int>(known->second),
                         .stage = stands.stage});
    Ops& tail = streams_.try_emplace(name, start_).first->second;
    CollectiveLowering::Bracket bracket =
        collectives_.lower(call, origin, {at, classes(rank), &tail});
    hold(rank, axes, bracket, tail);
    plan_.collectives[known->second].times.push_back({stands.layer, stands.microbatch, stands.stage,
                                                      std::move(bracket.begin),
                                                      std::move(bracket.end)});
  }

  void hold(int rank, std::string_view communicator, const CollectiveLowering::Bracket& bracket,
            const Ops& tail) {
    const double share = run_.overlap.share_of(communicator);
    if (share == 0) return;
    for (const std::uint32_t c : classes(rank)) {
      const auto group = std::find(bracket.end.begin(), bracket.end.end(), tail[c]);
      must(group != bracket.end.end(), "every class of the rank is in a group");
      builder_.hold(
          {c, share, bracket.begin[static_cast<std::size_t>(group - bracket.end.begin())], *group});
    }
  }

  // The gathers of unit `u` of the chain, on their own stream, after `gate`.
  void gather_weights(int rank, Chain& chain, std::size_t u, Ops gate) {
    must(u == chain.gathered.size(), "weights are gathered in the order of the layers");
    const UnitPass& pass = chain.units[u];
    for (const Task* task : pass.gathers) {
      communicate(rank, {task->collective, task->algorithm, task->collective},
                  task_origin(chain, pass.unit), gate, " gather");
    }
    chain.gathered.push_back(std::move(gate));
  }

  // What the gathers of unit `u` wait for so that no more whole layers are there than allowed.
  Ops gate_of(const Chain& chain, std::size_t u) const {
    const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
    const bool forward = chain.work.kind == WorkKind::forward;
    if (!forward) {
      if (u == 0) return chain.entry;
      if (!run_.overlap.backward_pre) return chain.ended[u - 1];
      // Before the gradients of the layer `depth` earlier.
      return u < depth ? chain.entry : chain.begun[u - depth];
    }
    if (u < depth + 1) return chain.entry;
    return run_.overlap.fsdp->frees_at_end ? chain.ended[u - depth - 1]
                                           : chain.begun[u - depth - 1];
  }

  void begin_unit(int rank, Chain& chain) {
    const std::size_t u = chain.unit;
    if (run_.overlap.prefetch == 0) return;
    const auto depth = static_cast<std::size_t>(run_.overlap.prefetch);
    const bool forward = chain.work.kind == WorkKind::forward;
    const std::size_t last = chain.units.size();
    const auto gather_up_to = [&](std::size_t most) {
      while (chain.gathered.size() < std::min(most, last)) {
        const std::size_t next = chain.gathered.size();
        gather_weights(rank, chain, next, gate_of(chain, next));
      }
    };
    gather_up_to(forward ? u + depth + 1 : u + 1);
    join_gathered(rank, chain, u);
    chain.begun.push_back(chain.at);
    if (!forward && run_.overlap.backward_pre) gather_up_to(u + depth + 1);
  }

  // The layer begins when its input and its whole weights are there.
  void join_gathered(int rank, Chain& chain, std::size_t u) {
    if (chain.units[u].gathers.empty()) return;
    const std::uint32_t origin = builder_.origin(
        {.name = "whole weights",
         .stream = "compute",
         .layer = chain.units[u].unit.layer,
         .microbatch = chain.work.microbatch,
         .pass = chain.work.kind == WorkKind::forward ? Pass::forward : Pass::backward,
         .stage = chain.work.stage});
    for (const std::uint32_t c : classes(rank)) {
      chain.at[c] = builder_.join({chain.at[c], compute_[c], chain.gathered[u][c]}, c, origin);
    }
  }

  void end_unit(int rank, Chain& chain) {
    if (run_.overlap.prefetch > 0) chain.ended.push_back(chain.at);
    if (!chain.reductions.empty()) reduce_layer(rank, chain);
    if (chain.last_of_stage && run_.overlap.gradients && run_.overlap.bucket == Bytes{}) {
      flush(rank, {chain.units[chain.unit].unit.layer, chain.work.microbatch, chain.work.stage,
                   Pass::backward});
    }
  }

  // Reductions after every micro-batch, of one layer at a time.
  void reduce_layer(int rank, Chain& chain) {
    Ops& before = reduced_[static_cast<std::size_t>(rank)];
    if (run_.overlap.fsdp->one_scatter && !before.empty()) {
      const std::uint32_t origin = builder_.origin(
          {.name = "gradients of the layer before are reduced", .stream = "compute"});
      for (const std::uint32_t c : classes(rank)) {
        chain.at[c] = builder_.join({chain.at[c], before[c]}, c, origin);
        compute_[c] = chain.at[c];
      }
    }
    Ops at = chain.at;
    for (const Task* task : chain.reductions) {
      communicate(rank, {task->collective, task->algorithm, task->collective},
                  task_origin(chain, chain.units[chain.unit].unit), at, " reduce");
    }
    before = at;
    chain.reductions.clear();
  }

  void add_to_bucket(int rank, const Chain& chain, const Task& task) {
    const ShardedCollective& c = *task.collective;
    const auto same = [&](const Bucket& b) {
      return b.what.kind == c.kind && b.what.axes == c.axes && b.algorithm == task.algorithm;
    };
    auto at = std::find_if(buckets_.begin(), buckets_.end(), same);
    if (at == buckets_.end()) {
      buckets_.push_back({c, task.algorithm, 0, 0, {}});
      at = buckets_.end() - 1;
      at->what.bytes = {};
    }
    at->what.bytes += c.bytes;
    if (++at->tensors > 1) at->what.tensor = "gradients";
    at->layer = chain.units[chain.unit].unit.layer;
    at->ready = chain.at;
    if (run_.overlap.bucket > Bytes{} && at->what.bytes >= run_.overlap.bucket) {
      reduce_bucket(rank, *at,
                    {at->layer, chain.work.microbatch, chain.work.stage, Pass::backward});
      buckets_.erase(at);
    }
  }

  void reduce_bucket(int rank, const Bucket& bucket, const Stands& stands) {
    Ops at = bucket.ready;
    // Buckets of the same kind and size are described alike.
    const auto [known, fresh] = bucket_kinds_.try_emplace(
        {static_cast<int>(bucket.what.kind), fmt::format("{}", fmt::join(bucket.what.axes, ",")),
         bucket.what.bytes, bucket.what.tensor},
        bucket.what);
    communicate(rank, {&known->second, bucket.algorithm, &known->second}, stands, at, " reduce");
    Ops& before = reduced_[static_cast<std::size_t>(rank)];
    if (before.empty()) before = start_;
    // The stream is in order, but for those of other communicators.
    const std::uint32_t origin = builder_.origin({.name = "reduced", .stream = "compute"});
    for (const std::uint32_t c : classes(rank)) {
      before[c] = before[c] == start_[c] ? at[c] : builder_.join({before[c], at[c]}, c, origin);
    }
  }

  void flush(int rank, const Stands& stands) {
    for (const Bucket& bucket : buckets_) reduce_bucket(rank, bucket, stands);
    buckets_.clear();
  }

  // What others wait for, and what the gradients of weights wait for.
  void hand_over(int rank, Chain& chain) {
    const Work& work = chain.work;
    const std::size_t here = slot(work.microbatch, work.stage);
    const int stages = schedule().stages();
    if (chain.last_of_stage && run_.overlap.gradients) {
      flush(rank, {0, work.microbatch, work.stage, Pass::backward});
    }
    if (work.kind == WorkKind::forward) {
      kept_[here] = of_rank(rank, chain.at);
      if (work.stage + 1 < stages) send_on(rank, chain, work.stage + 1, forward_);
    } else if (work.kind != WorkKind::backward_weight) {
      kept_[here] = of_rank(rank, chain.at);
      if (work.stage > 0) send_on(rank, chain, work.stage - 1, backward_);
    }
  }

  void send_on(int rank, const Chain& chain, int stage, std::vector<Ops>& into) {
    const Work& work = chain.work;
    const int to = schedule().rank_of(work.microbatch, stage);
    Ops& there = into[slot(work.microbatch, stage)];
    if (to == rank) {
      there = of_rank(rank, chain.at);
      return;
    }
    const bool forward = work.kind == WorkKind::forward;
    const std::uint32_t origin =
        builder_.origin({.name = fmt::format("{} to rank {}", to_text(work), to),
                         .stream = "pipeline",
                         .layer = chain.units.back().unit.layer,
                         .microbatch = work.microbatch,
                         .pass = forward ? Pass::forward : Pass::backward,
                         .stage = work.stage});
    const Ops mine = of_rank(rank, chain.at);
    Ops& before = sent_.try_emplace({rank, to}, Ops(mine.size(), start_.front())).first->second;
    const bool one_at_a_time = run_.step.mode != P2pMode::async;
    transfers_.send(rank, to, run_.boundary, origin, mine, one_at_a_time ? before : mine, there);
    if (one_at_a_time) before = there;
  }

  // The end of the step on a rank: what is still to be reduced, the optimizer, updated weights.
  void finish(int rank) {
    if (!updates_at_end()) return;
    Ops ready = compute_;
    const Ops& reduced = reduced_[static_cast<std::size_t>(rank)];
    const std::uint32_t origin =
        builder_.origin({.name = "all gradients are there", .stream = "compute"});
    for (const std::uint32_t c : classes(rank)) {
      std::vector<OpId> waits = {compute_[c]};
      if (!reduced.empty()) waits.push_back(reduced[c]);
      for (const auto& [name, tail] : streams_) waits.push_back(tail[c]);
      ready[c] = builder_.join(std::move(waits), c, origin);
    }
    struct Updated {
      const LayerTasks* kind;
      Stands stands;
      Ops at;
    };
    std::vector<Updated> updated;
    for (int stage = 0; stage < schedule().stages(); ++stage) {
      if (!holds(rank, stage)) continue;
      for (const StageUnit& unit : run_.step.stages[static_cast<std::size_t>(stage)]) {
        const LayerTasks& kind = kinds_[static_cast<std::size_t>(unit.kind)];
        const Stands stands{unit.layer, schedule().microbatches - 1, stage, Pass::backward};
        update(rank, kind, stands, ready);
        updated.push_back({&kind, stands, ready});
      }
    }
    for (Updated& one : updated) {
      Ops at = run_.overlap.updates ? one.at : ready;
      for (const Task& task : one.kind->backward) {
        if (task.role != TaskRole::update) continue;
        communicate(rank, {task.collective, task.algorithm, task.collective}, one.stands, at, "");
      }
    }
  }

  bool holds(int rank, int stage) const {
    return gradients_left_[static_cast<std::size_t>(rank)].contains(stage);
  }

  // The optimizer on the weights of one layer: as long as its memory traffic.
  void update(int rank, const LayerTasks& kind, const Stands& stands, Ops& at) {
    if (!run_.optimizer.runs) return;
    const Seconds seconds =
        update_time(*kind.plan, run_.mesh, run_.precision, run_.optimizer, run_.rates);
    const std::uint32_t origin =
        builder_.origin({.name = fmt::format("adam of the {}", kind.plan->kind),
                         .stream = "compute",
                         .layer = stands.layer,
                         .microbatch = stands.microbatch,
                         .pass = Pass::backward,
                         .stage = stands.stage});
    for (const std::uint32_t c : classes(rank)) at[c] = work_op(c, seconds, origin, at[c]);
  }

  const Prepared& run_;
  Plan& plan_;
  GraphBuilder builder_;
  CollectiveLowering collectives_;
  StageTransfers transfers_;
  CellIndex index_;
  std::vector<LayerTasks> kinds_;  // as StageUnit::kind counts
  Ops start_, compute_;            // compute_: the last op of every compute stream
  std::map<std::string, Ops, std::less<>> streams_;  // the last op of every communicator's
  std::map<std::pair<int, int>, Ops> sent_;          // the last transfer between two ranks
  std::vector<double> speed_;                        // [device classes] of compute
  // [microbatch * stages + stage], of the classes of the rank: what a forward or backward waits
  // for; what a backward or the gradients of weights find on their own rank.
  std::vector<Ops> forward_, backward_, kept_;
  std::vector<std::map<int, int>> gradients_left_;  // [ranks] by stage: works that make them
  std::vector<std::size_t> next_;                   // [ranks] cell
  std::vector<Ops> reduced_;                        // [ranks] the last reduction beside backward
  std::vector<Bucket> buckets_;
  std::map<std::tuple<int, std::string, Bytes, std::string>, ShardedCollective> bucket_kinds_;
  std::map<const void*, std::size_t> described_;  // index into Plan::collectives
};

}  // namespace

OpGraph lower_step(const Prepared& run, Plan& plan, Grain grain) {
  return StepLowering(run, plan, grain).run();
}

}  // namespace shardsim
