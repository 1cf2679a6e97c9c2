#include "plan/step_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/must.h"
#include "plan/reshard.h"
#include "plan/stage_transfer.h"
#include "plan/work_chain.h"

namespace shardsim {
namespace {

class StepLowering {
 public:
  StepLowering(const Prepared& run, Plan& plan, Grain grain, double ops)
      : run_(run),
        builder_(plan.cluster, plan.fold),
        transfers_(builder_, run.step.axes),
        streams_(builder_, plan, run.mesh, run.overlap, grain),
        chains_(run, plan.cluster, streams_) {
    // A fifth above the estimate: pages that nobody touches cost nothing, a vector that grows is
    // copied. On tori an op waits for two others.
    const auto most = static_cast<std::size_t>(1.2 * ops);
    builder_.reserve(most, 2 * most);
    const auto works = static_cast<std::size_t>(schedule().microbatches * schedule().stages());
    forward_.resize(works);
    backward_.resize(works);
    kept_.resize(works);
    ranks_.resize(static_cast<std::size_t>(schedule().ranks()));
    for (int r = 0; r < schedule().ranks(); ++r) {
      const Classes mine = classes(r);
      plan.ranks.emplace_back(mine.begin(), mine.end());
      rank(r).at = streams_.start();
      rank(r).gradients_left = works_with_gradients(program(r));
      for_each_unit(r, [&](const StageUnit& unit, int) {
        chains_.memory().hold(mine, unit, streams_.start().front());
      });
    }
  }

  OpGraph run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < schedule().ranks(); ++r)
        while (go_on(r)) moved = true;
    }
    for (int r = 0; r < schedule().ranks(); ++r) {
      must(rank(r).next == program(r).cells.size(), "a schedule without deadlock comes to its end");
    }
    finish();
    return builder_.take();
  }

 private:
  struct Rank {
    std::size_t next = 0;               // cell
    std::size_t group = 0;              // of blocking transfers
    bool posted = false;                // that group is under way
    ClassOps at;                        // end of the last cell or group
    std::map<int, int> gradients_left;  // by stage: works that make gradients of its weights
  };

  const Schedule& schedule() const { return run_.step.schedule; }
  const RankProgram& program(int r) const {
    return schedule().programs[static_cast<std::size_t>(r)];
  }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  Classes classes(int r) const { return transfers_.classes(r); }
  bool blocking() const { return run_.step.mode == P2pMode::blocking; }
  std::size_t slot(int microbatch, int stage) const {
    return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(schedule().stages()) +
           static_cast<std::size_t>(stage);
  }
  std::size_t slot(const Work& work) const { return slot(work.microbatch, work.stage); }

  // The next cell or group of transfers, when all that it needs has been lowered.
  bool go_on(int r) {
    Rank& on = rank(r);
    const auto& groups = program(r).groups;
    if (blocking() && on.group < groups.size() && groups[on.group].before == on.next)
      return do_group(r, groups[on.group]);
    if (on.next == program(r).cells.size()) return false;
    const Cell& cell = program(r).cells[on.next];
    for (const Work& work : cell.works())
      if (!ready(work)) return false;
    ++on.next;
    do_cell(r, cell);
    return true;
  }

  bool ready(const Work& work) const {
    switch (work.kind) {
      case WorkKind::forward:
        return work.stage == 0 || !forward_[slot(work)].empty();
      case WorkKind::backward:
      case WorkKind::backward_input:
        return work.stage + 1 == schedule().stages() || !backward_[slot(work)].empty();
      case WorkKind::backward_weight:
        return true;  // its rank made what it needs
    }
    return true;
  }

  void do_cell(int r, const Cell& cell) {
    throw_if_interrupted();
    std::vector<WorkChain> chains;
    for (const Work& work : cell.works()) chains.push_back(chain_of(r, work, cell.overlapped()));
    // Chains take turns: each goes on until it has begun a collective.
    const auto done = [](const WorkChain& chain) { return chain.done(); };
    for (std::size_t turn = 0; !std::all_of(chains.begin(), chains.end(), done);
         turn = (turn + 1) % chains.size()) {
      for (bool moving = false; !chains[turn].done() && !moving;)
        moving = chains_.step(chains[turn]);
    }
    const std::uint32_t origin = streams_.origin("end of cell", "compute", {});
    for (std::size_t i = 0; i < chains.size(); ++i) {
      hand_over(r, chains[i]);
      if (i == 0) {
        rank(r).at = chains[i].at;
      } else {
        streams_.join(classes(r), origin, rank(r).at, chains[i].at);
      }
    }
  }

  WorkChain chain_of(int r, const Work& work, bool takes_turns) {
    const bool last = makes_gradients(work) && --rank(r).gradients_left[work.stage] == 0;
    if (work.kind == WorkKind::forward && work.stage == 0)
      chains_.memory().enter(classes(r), units(0).front(), streams_.compute_tail());
    ClassOps input = input_of(r, work);
    if (comes_from_another(r, work)) gather_pieces(r, work, input);
    return chains_.make(work, classes(r), std::move(input), last, takes_turns);
  }

  bool comes_from_another(int r, const Work& work) const {
    if (work.kind == WorkKind::backward_weight) return false;
    const int stage = work.kind == WorkKind::forward ? work.stage - 1 : work.stage + 1;
    return stage >= 0 && stage < schedule().stages() &&
           schedule().rank_of(work.microbatch, stage) != r;
  }

  void gather_pieces(int r, const Work& work, ClassOps& input) {
    const Pass pass = work.kind == WorkKind::forward ? Pass::forward : Pass::backward;
    for (std::size_t i = 0; i < run_.boundary.gather.size(); ++i) {
      const Occurrence& once = streams_.communicate(
          classes(r), {&run_.boundary.gather[i], run_.boundary.choices[i].row},
          {0, work.microbatch, work.stage, pass, Purpose::pass, false, work.kind}, input);
      chains_.memory().gathered(classes(r), run_.boundary, once, input);
    }
  }

  // What a work waits for. Blocking, all that came by transfers came before the rank went on.
  ClassOps input_of(int r, const Work& work) {
    if (blocking()) return rank(r).at;
    if (work.kind == WorkKind::forward)
      return work.stage == 0 ? streams_.start() : spread(r, forward_[slot(work)]);
    const bool here =
        work.kind == WorkKind::backward_weight || work.stage + 1 == schedule().stages();
    return spread(r, (here ? kept_ : backward_)[slot(work)]);
  }

  // Ops of the classes of a rank as ops of all classes, and back.
  ClassOps spread(int r, const ClassOps& of_rank) const {
    ClassOps all = streams_.start();
    const Classes mine = classes(r);
    for (std::size_t k = 0; k < mine.size(); ++k) all[mine[k]] = of_rank[k];
    return all;
  }
  ClassOps of_rank(int r, const ClassOps& all) const {
    ClassOps mine;
    for (const std::uint32_t c : classes(r)) mine.push_back(all[c]);
    return mine;
  }

  // What later works of the rank and other ranks find.
  void hand_over(int r, const WorkChain& chain) {
    const Work& work = chain.work;
    if (work.kind == WorkKind::backward_weight) return;
    kept_[slot(work)] = of_rank(r, chain.at);
    const bool forward = work.kind == WorkKind::forward;
    const int stage = forward ? work.stage + 1 : work.stage - 1;
    if (stage < 0) chains_.memory().leave(classes(r), units(0).front(), chain.at);
    if (stage < 0 || stage == schedule().stages()) return;
    const int to = schedule().rank_of(work.microbatch, stage);
    ClassOps& there = (forward ? forward_ : backward_)[slot(work.microbatch, stage)];
    there = of_rank(r, chain.at);
    if (to == r || blocking()) return;
    const std::uint32_t origin = transfer_origin(to_text(work), to, work, chain.pass(), work.kind);
    ClassOps& before = sent_.try_emplace({r, to}, there).first->second;
    const bool in_order = run_.step.mode == P2pMode::serial;
    const ClassOps made = there;
    const ClassOps first =
        transfers_.send(r, to, run_.boundary.bytes, origin, made, in_order ? before : made, there);
    chains_.memory().sent(classes(r), classes(to), run_.boundary, first, there);
    hold(r, made, there);
    hold(to, made, there);
    if (in_order) before = there;
  }

  // Kernels of a transfer take their share of compute at both ends.
  void hold(int r, const ClassOps& from, const ClassOps& to) {
    const double share = run_.overlap.share_of("pipeline");
    if (share == 0) return;
    const Classes mine = classes(r);
    for (std::size_t k = 0; k < mine.size(); ++k)
      builder_.hold({mine[k], run_.overlap.number_of("pipeline"), share, from[k], to[k]});
  }

  std::uint32_t transfer_origin(std::string what, int to, const Work& work, Pass pass,
                                std::optional<WorkKind> kind = {}) {
    return streams_.origin(fmt::format("{} to rank {}", what, to), "pipeline",
                           {0, work.microbatch, work.stage, pass, Purpose::pass, false, kind}, to);
  }

  // A group of blocking transfers: posted when the rank comes to it, over when all of them are.
  bool do_group(int r, const P2pGroup& group) {
    Rank& on = rank(r);
    const bool fresh = !on.posted;
    if (fresh) {
      on.posted = true;
      open_[r] = group.transfers.size();
      group_end_[r] = on.at;
      for (const P2p& p2p : group.transfers) post(r, p2p, of_rank(r, on.at));
    }
    if (open_[r] > 0) return fresh;
    on.posted = false;
    ++on.group;
    on.at = group_end_[r];
    for (const std::uint32_t c : classes(r)) streams_.compute_tail()[c] = on.at[c];
    return true;
  }

  struct End {
    int rank = 0;
    ClassOps after;  // of its classes
  };

  void post(int r, const P2p& p2p, ClassOps after) {
    const std::tuple pair(p2p.send ? r : p2p.peer, p2p.send ? p2p.peer : r, p2p.channel);
    auto& ends = ends_[pair];
    ends[p2p.send ? 0 : 1].push_back({r, std::move(after)});
    if (ends[0].empty() || ends[1].empty()) return;
    const End from = std::move(ends[0].front()), to = std::move(ends[1].front());
    ends[0].pop_front();
    ends[1].pop_front();
    const std::uint32_t origin =
        transfer_origin(std::string(1, p2p.channel), to.rank, {}, Pass::forward);
    ClassOps done;
    const ClassOps first = transfers_.send(from.rank, to.rank, run_.boundary.bytes, origin,
                                           from.after, to.after, done);
    chains_.memory().sent(classes(from.rank), classes(to.rank), run_.boundary, first, done);
    hold(from.rank, from.after, done);
    hold(to.rank, to.after, done);
    for (const int end : {from.rank, to.rank}) {
      --open_[end];
      const Classes mine = classes(end);
      for (std::size_t k = 0; k < mine.size(); ++k) {
        OpId& at = group_end_[end][mine[k]];
        at = builder_.join({at, done[k]}, mine[k], origin);
      }
    }
  }

  // The end of the step: gradients that are still to be reduced are, those of two copies of a stage
  // are added, the optimizer updates the weights, and those updated in blocks are gathered.
  void finish() {
    std::vector<ClassOps> done;
    for (int r = 0; r < schedule().ranks(); ++r) {
      ClassOps at;
      const auto begin = [&] {
        if (!at.empty()) return;
        at = streams_.all_done(
            classes(r), streams_.origin("all gradients are there", "compute", last_place(0)));
      };
      if (ends_late()) begin();
      for_each_unit(r, [&](const StageUnit& unit, int stage) {
        for (const Task& task : chains_.kind(unit).backward) {
          if (!chains_.reduces_at_end(task) && task.role != TaskRole::update) continue;
          begin();
          if (task.role == TaskRole::update) continue;
          streams_.communicate(classes(r), {task.collective, task.algorithm, 1, true},
                               last_place(stage, unit.layer), at);
        }
      });
      done.push_back(std::move(at));
    }
    if (schedule().placement == Placement::dual) add_copies(done);
    for (int r = 0; r < schedule().ranks(); ++r)
      if (!done[static_cast<std::size_t>(r)].empty()) update(r, done[static_cast<std::size_t>(r)]);
  }

  // Whether all of the backward pass comes before something.
  bool ends_late() const { return run_.optimizer.runs || schedule().placement == Placement::dual; }

  StepPlace last_place(int stage, int layer = 0) const {
    return {layer, schedule().microbatches - 1, stage, Pass::backward};
  }

  StepPlace update_place(int stage, int layer) const {
    StepPlace place = last_place(stage, layer);
    place.purpose = Purpose::optimizer;
    return place;
  }

  // The layers of the rank's stages in the order of the backward pass.
  template <class Visit>
  void for_each_unit(int r, Visit visit) {
    const std::map<int, int>& mine = rank(r).gradients_left;
    for (auto stage = mine.rbegin(); stage != mine.rend(); ++stage) {
      const std::vector<StageUnit>& held = units(stage->first);
      for (auto unit = held.rbegin(); unit != held.rend(); ++unit) visit(*unit, stage->first);
    }
  }

  // Rank r and its mirror image hold the same stages.
  void add_copies(std::vector<ClassOps>& done) {
    const std::vector<ClassOps> before = done;
    for (int r = 0; r < schedule().ranks(); ++r) {
      const int mirror = schedule().ranks() - 1 - r;
      if (mirror == r) continue;
      Bytes gradients;
      for_each_unit(r, [&](const StageUnit& unit, int) {
        gradients += gradients_of(*chains_.kind(unit).plan, run_.mesh, run_.precision);
      });
      const std::uint32_t origin =
          transfer_origin("gradients of its copy", mirror, {}, Pass::backward);
      const ClassOps mine = of_rank(r, before[static_cast<std::size_t>(r)]);
      ClassOps there;
      const ClassOps first = transfers_.send(r, mirror, gradients, origin, mine, mine, there);
      chains_.memory().passing(classes(mirror), gradients, first, there);
      streams_.join(classes(mirror), origin, done[static_cast<std::size_t>(mirror)],
                    spread(mirror, there));
    }
  }

  const std::vector<StageUnit>& units(int stage) const {
    return run_.step.stages[static_cast<std::size_t>(stage)];
  }

  void update(int r, const ClassOps& done) {
    struct Updated {
      const LayerTasks* kind;
      StepPlace place;
      ClassOps at;
    };
    std::vector<Updated> updated;
    for_each_unit(r, [&](const StageUnit& unit, int stage) {
      const LayerTasks& kind = chains_.kind(unit);
      ClassOps at = done;
      if (run_.optimizer.runs) {
        const Seconds seconds =
            update_time(*kind.plan, run_.mesh, run_.precision, run_.optimizer, run_.rates);
        StepPlace place = update_place(stage, unit.layer);
        place.memory_bound = true;
        streams_.compute(
            classes(r), seconds,
            streams_.origin(fmt::format("adam of the {}", kind.plan->kind), "compute", place), at);
        chains_.memory().end_gradients(classes(r), unit, at);
      }
      updated.push_back({&kind, update_place(stage, unit.layer), std::move(at)});
    });
    for (const Updated& one : updated) {
      ClassOps at = run_.overlap.updates ? one.at : updated.back().at;
      for (const Task& task : one.kind->backward) {
        if (task.role != TaskRole::update) continue;
        streams_.communicate(classes(r), {task.collective, task.algorithm, 1, true}, one.place, at);
      }
    }
  }

  const Prepared& run_;
  GraphBuilder builder_;
  StageTransfers transfers_;
  DeviceStreams streams_;
  WorkChains chains_;
  std::vector<Rank> ranks_;
  // [microbatch * stages + stage], of the classes of the rank: what a forward or a backward waits
  // for; what a backward or the gradients of weights find on their own rank.
  std::vector<ClassOps> forward_, backward_, kept_;
  std::map<std::pair<int, int>, ClassOps> sent_;  // the last transfer between two ranks
  // Blocking transfers: ends that wait for the other one, first come first served; by rank how many
  // of its group are open, and the end of those that are not.
  std::map<std::tuple<int, int, char>, std::array<std::deque<End>, 2>> ends_;
  std::map<int, std::size_t> open_;
  std::map<int, ClassOps> group_end_;
};

}  // namespace

OpGraph lower_step(const Prepared& run, Plan& plan, Grain grain, double ops) {
  return StepLowering(run, plan, grain, ops).run();
}

}  // namespace shardsim
