#include "plan/overlap_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/preset_table.h"

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

}  // namespace

void check_overlap_needs(const RunSpec& spec, std::span<const LayerTasks> kinds,
                         std::vector<Problem>& problems) {
  for (const NeedRow& need : kNeeds) {
    const SourcePos at = asked_at(spec.overlap, need.key);
    if (!at.source || is_done(kinds, need.role) || stated(spec, need)) continue;
    problems.push_back({at, fmt::format("overlap.{} needs {}, found none", need.key, need.needs),
                        std::string(need.hint)});
  }
}

}  // namespace shardsim
