#include "plan/overlap_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "plan/preset_table.h"
#include "plan/tiled_product.h"

namespace shardsim {
namespace {

bool gathers(const PresetRow& row) {
  return row.when.parameters != Gather::unstated;
}

bool reduces(const PresetRow& row) {
  return row.when.gradients != Reduce::unstated;
}

bool cuts(const PresetRow& row, LayoutRole role) {
  return std::any_of(row.where.begin(), row.where.end(),
                     [&](const WhereRule& rule) { return rule.role == role; });
}

bool updates_blocks(const PresetRow& row) {
  return cuts(row, LayoutRole::optimizer) && !cuts(row, LayoutRole::parameter);
}

struct NeedRow {
  std::string_view key;
  TaskRole role;
  bool (*states)(const PresetRow&);
  std::string_view needs, hint;
};
constexpr std::array kNeeds = {
    NeedRow{"fsdp_prefetch", TaskRole::gather, gathers, "weights that are gathered before use",
            "fsdp gathers weights; or leave it out"},
    NeedRow{"gradients", TaskRole::reduce, reduces, "gradients that are reduced",
            "dp and fsdp reduce gradients; or leave it out"},
    NeedRow{"updates", TaskRole::update, updates_blocks, "weights that are updated in blocks",
            "zero1 and zero2 update a block on each device; or leave it out"}};

// Where the policy was asked for; no source: it was not.
SourcePos asked_at(const OverlapSpec& overlap, std::string_view key) {
  if (key == "fsdp_prefetch") {
    return overlap.fsdp_prefetch.value > 0 ? overlap.fsdp_prefetch.pos : SourcePos{};
  }
  const Chosen<bool>& flag = key == "gradients" ? overlap.gradients : overlap.updates;
  return flag.value ? flag.pos : SourcePos{};
}

bool stated(const RunSpec& spec, const NeedRow& need) {
  return std::any_of(spec.sharding.begin(), spec.sharding.end(), [&](const PresetSpec& preset) {
    const PresetRow* row = find_preset(preset.preset);
    if (row == nullptr) return false;
    return need.states(*row) ||
           std::any_of(row->parts.begin(), row->parts.end(),
                       [&](std::string_view part) { return need.states(*find_preset(part)); });
  });
}

bool is_done(std::span<const LayerTasks> kinds, TaskRole role) {
  const auto has = [&](const std::vector<Task>& tasks) {
    return std::any_of(tasks.begin(), tasks.end(), [&](const Task& t) { return t.role == role; });
  };
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const LayerTasks& k) { return has(k.forward) || has(k.backward); });
}

template <class Visit>
void for_each_pass(std::span<const LayerTasks> kinds, Visit visit) {
  for (const LayerTasks& kind : kinds)
    for (const auto* tasks : {&kind.forward, &kind.backward}) visit(*tasks);
}

bool has_idle_axis(const Prepared& run) {
  return std::any_of(run.whole_mesh.axes.begin(), run.whole_mesh.axes.end(),
                     [](const MeshAxis& axis) { return axis.size == 1; });
}

template <class Visit>
void for_each_tiled(const Prepared& run, std::span<const LayerTasks> kinds, StatementKind kind,
                    TileForm form, Visit visit) {
  for_each_pass(kinds, [&](const std::vector<Task>& pass) {
    std::vector<const Task*> tasks;
    for (const Task& task : pass) tasks.push_back(&task);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto rest = std::span<const Task* const>(tasks).subspan(i);
      if (const auto found = tiled_tasks(rest, kind, form, run.cluster, run.mesh)) visit(*found);
    }
  });
}

// Devices that collectives are over which can run in tiles.
std::set<int> tiled_groups(const Prepared& run, std::span<const LayerTasks> kinds,
                           StatementKind kind, TileForm form) {
  std::set<int> groups;
  for_each_tiled(run, kinds, kind, form,
                 [&](const TiledTasks& tasks) { groups.insert(tasks.ranks); });
  return groups;
}

std::string communicator_of(const Task& task) {
  return fmt::format("{}", fmt::join(task.collective->axes, ","));
}

// Those whose kernels run beside computing.
std::set<std::string> overlapped_communicators(const Prepared& run,
                                               std::span<const LayerTasks> kinds) {
  const Overlap& overlap = run.overlap;
  const auto beside = [&](TaskRole role) {
    switch (role) {
      case TaskRole::work:
        return false;
      case TaskRole::gather:
        return overlap.prefetch > 0;
      case TaskRole::reduce:
        return overlap.gradients;
      case TaskRole::update:
        return overlap.updates;
    }
    return false;
  };
  const std::vector<RankProgram>& programs = run.step.schedule.programs;
  const bool take_turns = std::any_of(programs.begin(), programs.end(), [](const auto& program) {
    return std::any_of(program.cells.begin(), program.cells.end(),
                       [](const Cell& cell) { return cell.overlapped(); });
  });
  std::set<std::string> found;
  for_each_pass(kinds, [&](const std::vector<Task>& tasks) {
    for (const Task& task : tasks)
      if (task.collective != nullptr && (take_turns || beside(task.role)))
        found.insert(communicator_of(task));
  });
  const auto add_tiled = [&](StatementKind kind, TileForm form) {
    for_each_tiled(run, kinds, kind, form, [&](const TiledTasks& tasks) {
      for (const Task* move : tasks.moves) found.insert(communicator_of(*move));
    });
  };
  if (overlap.tiles > 0) add_tiled(StatementKind::einsum, overlap.form);
  if (overlap.ring_attention) add_tiled(StatementKind::attention, TileForm::ring);
  if (run.step.ranks() > 1 && run.step.mode != P2pMode::blocking) found.insert("pipeline");
  return found;
}

void check_ring_attention(const OverlapSpec& spec, const Prepared& run,
                          std::span<const LayerTasks> kinds, std::vector<Problem>& problems) {
  if (!run.overlap.ring_attention || has_idle_axis(run)) return;
  if (!tiled_groups(run, kinds, StatementKind::attention, TileForm::ring).empty()) return;
  problems.push_back({spec.ring_attention.pos,
                      "overlap.ring_attention needs attention that gathers keys and values over "
                      "one ring or switch, found none",
                      "cp cuts the sequence; or leave it out"});
}

// Tiles that no product runs in.
void check_tiles(const OverlapSpec& spec, const Prepared& run, std::span<const LayerTasks> kinds,
                 std::vector<Problem>& problems) {
  const Overlap& overlap = run.overlap;
  if (overlap.tiles == 0) return;
  const std::set<int> groups = tiled_groups(run, kinds, StatementKind::einsum, overlap.form);
  const bool two_stage = overlap.form == TileForm::two_stage;
  if (two_stage ? !groups.empty() : groups.contains(overlap.tiles)) return;
  if (groups.empty()) {
    if (has_idle_axis(run)) return;
    problems.push_back(
        {spec.collective_matmul.pos,
         two_stage
             ? "overlap.collective_matmul needs a product beside a gather, scatter or "
               "all-reduce of activations, found none"
             : "overlap.collective_matmul in rings needs a product beside a gather or scatter "
               "of activations over one ring or switch, found none",
         "sharding with sp gathers and scatters; or leave it out"});
    return;
  }
  problems.push_back(
      {spec.collective_matmul.pos,
       fmt::format("overlap.collective_matmul in rings: expected as many tiles as a group has "
                   "devices, {}, found {}",
                   fmt::join(groups, " or "), overlap.tiles),
       ""});
}

// Shares of compute for communicators that have nothing to do.
void check_shares(const OverlapSpec& spec, const Prepared& run, std::span<const LayerTasks> kinds,
                  std::vector<Problem>& problems) {
  std::set<std::string> there;
  for_each_pass(kinds, [&](const std::vector<Task>& tasks) {
    for (const Task& task : tasks)
      if (task.collective != nullptr) there.insert(communicator_of(task));
  });
  if (run.step.ranks() > 1) there.insert("pipeline");
  for (std::size_t i = 0; i < run.overlap.sm_share.size(); ++i) {
    const std::string& name = run.overlap.sm_share[i].first;
    if (there.contains(name) || has_idle_axis(run)) continue;
    problems.push_back({spec.sm_share[i].first.pos,
                        fmt::format("overlap.sm_share: no collective runs over {}", name),
                        there.empty()
                            ? "there are none"
                            : fmt::format("there are those over {}", fmt::join(there, "; "))});
  }
}

}  // namespace

void check_overlap_needs(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems) {
  const std::vector<LayerTasks> kinds = tasks_of_kinds(run, run.ends, run.rates);
  check_tiles(spec.overlap, run, kinds, problems);
  check_ring_attention(spec.overlap, run, kinds, problems);
  check_shares(spec.overlap, run, kinds, problems);
  if (run.overlap.updates && !run.optimizer.runs) {
    problems.push_back({spec.overlap.updates.pos,
                        "overlap.updates needs an optimizer that runs, found none",
                        "write optimizer: {kind: adam}, or leave it out"});
    return;
  }
  for (const NeedRow& need : kNeeds) {
    const SourcePos at = asked_at(spec.overlap, need.key);
    if (!at.source || is_done(kinds, need.role) || stated(spec, need)) continue;
    problems.push_back({at, fmt::format("overlap.{} needs {}, found none", need.key, need.needs),
                        std::string(need.hint)});
  }
}

std::vector<std::string> shares_without_effect(const Prepared& run) {
  std::vector<std::string> idle;
  if (run.overlap.sm_share.empty()) return idle;
  const std::vector<LayerTasks> kinds = tasks_of_kinds(run, run.ends, run.rates);
  const std::set<std::string> beside = overlapped_communicators(run, kinds);
  for (const auto& [communicator, share] : run.overlap.sm_share)
    if (!beside.contains(communicator)) idle.push_back(communicator);
  return idle;
}

}  // namespace shardsim
