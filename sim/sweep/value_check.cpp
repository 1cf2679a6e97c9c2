#include "sweep/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/text.h"
#include "plan/algorithms.h"
#include "plan/clusters.h"
#include "plan/preset_table.h"
#include "plan/schedules.h"
#include "spec/field_path.h"
#include "spec/library.h"
#include "spec/load.h"
#include "spec/override.h"
#include "sweep/formula_names.h"

namespace shardsim {
namespace {

using Words = std::vector<std::string>;

void require_name(std::string_view what, std::string_view plural, const std::string& name,
                  const Words& known, const SourcePos& pos, std::vector<Problem>& problems) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string near = suggestion(name, known);
  problems.push_back({pos, fmt::format("expected a {}, found {}", what, in_quotes(name)),
                      near.empty() ? fmt::format("see: shardsim list {}", plural) : near});
}

void check_file(const Library& library, const Node& value, std::vector<Problem>& problems) {
  const auto path = locate(library, {value.text, value.pos, true}, problems);
  if (path) open_yaml(*path, value.pos, problems);
}

void check_chip(const Node& value, std::vector<Problem>& problems) {
  check_file(kChips, value, problems);
}
void check_model(const Node& value, std::vector<Problem>& problems) {
  check_file(kModels, value, problems);
}

void require_kind(const std::string& name, const SourcePos& pos, std::vector<Problem>& problems) {
  if (find_topology(name) != nullptr) return;
  Words known;
  for (const TopologyRow& row : topologies()) known.emplace_back(row.name);
  require_name("topology kind", "topologies", name, known, pos, problems);
}
void check_kind(const Node& value, std::vector<Problem>& problems) {
  require_kind(value.text, value.pos, problems);
}

// A name, or the kinds of a topology that is written out.
void check_topology(const Node& value, std::vector<Problem>& problems) {
  if (value.kind == NodeKind::scalar) {
    const TopologySpec read = load_topology(value.text, value.pos, problems);
    if (!read.kind.value.empty()) require_kind(read.kind.value, value.pos, problems);
    return;
  }
  if (const Node* kind = value.find("kind"); kind != nullptr && kind->kind == NodeKind::scalar)
    check_kind(*kind, problems);
  if (const Node* levels = value.find("levels"))
    for (const NodeEntry& level : levels->entries) check_topology(level.node, problems);
}

void check_schedule(const Node& value, std::vector<Problem>& problems) {
  if (find_schedule(value.text) != nullptr) return;
  Words known;
  for (const ScheduleRow& row : schedules()) {
    known.emplace_back(row.name);
    known.insert(known.end(), row.aliases.begin(), row.aliases.end());
  }
  require_name("schedule", "schedules", value.text, known, value.pos, problems);
}

void check_algorithm(const Node& value, std::vector<Problem>& problems) {
  Words known = algorithm_names();
  known.emplace_back("auto");
  require_name("collective algorithm", "collectives", value.text, known, value.pos, problems);
}

Words collective_names() {
  Words names;
  for (const Collective kind : collective_kinds()) names.emplace_back(to_text(kind));
  return names;
}

// Fields whose values are names of a table or of files.
struct NameRow {
  std::string_view path;  // of the field's row
  void (*check)(const Node&, std::vector<Problem>&);
  bool may_be_map = false;
};
constexpr std::array kNames = {
    NameRow{"cluster.chip", check_chip},
    NameRow{"model", check_model},
    NameRow{"cluster.topology", check_topology, true},
    NameRow{"cluster.topology.kind", check_kind},
    NameRow{"cluster.topology.levels.[].kind", check_kind},
    NameRow{"schedule.kind", check_schedule},
    NameRow{"collectives.*", check_algorithm},
};

// Fields whose last key is a name of a table.
struct KeyRow {
  std::string_view map;
  std::string_view what, plural;
  Words (*known)();
};
constexpr std::array kKeys = {
    KeyRow{"collectives", "collective", "collectives", collective_names},
    KeyRow{"sharding", "preset", "presets", preset_names},
};

void check_name(const Field& row, const Node& value, std::vector<Problem>& problems) {
  for (const NameRow& name : kNames) {
    const bool takes =
        value.kind == NodeKind::scalar || (name.may_be_map && value.kind == NodeKind::map);
    if (name.path == row.path && takes) name.check(value, problems);
  }
}

}  // namespace

void check_axis_value(const Field& row, const std::string& path, const Node& value,
                      std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const bool other_shape = row.type == FieldType::name_or_map && value.kind != NodeKind::scalar &&
                           value.kind != NodeKind::map;
  if (other_shape)
    problems.push_back(
        {value.pos, fmt::format("{}: expected a name or a map, found {}", path, found(value)), ""});
  check_value(row, path, value, problems);
  if (problems.size() == before) check_name(row, value, problems);
}

void check_axis_key(const Field& row, const std::string& path, const SourcePos& pos,
                    std::vector<Problem>& problems) {
  for (const KeyRow& key : kKeys) {
    if (row.path != fmt::format("{}.*", key.map)) continue;
    require_name(key.what, key.plural, path.substr(key.map.size() + 1), key.known(), pos, problems);
  }
}

void check_base_names(const Node& base, const std::function<bool(const std::string&)>& is_varied,
                      std::vector<Problem>& problems) {
  const auto check = [&](const std::string& path, const Node& value) {
    const Field* row = run_field(path);
    if (row != nullptr && !is_varied(path)) check_name(*row, value, problems);
  };
  for (const NameRow& name : kNames) {
    const std::string path(name.path);
    const Node* node =
        path.find_first_of("*[") == std::string::npos ? node_at(base, path) : nullptr;
    // Kinds of a topology that is written out are fields of their own.
    if (node != nullptr && node->kind == NodeKind::scalar) check(path, *node);
  }
  const Node* algorithms = base.find("collectives");
  if (algorithms == nullptr) return;
  for (const NodeEntry& entry : algorithms->entries) check("collectives." + entry.key, entry.node);
}

}  // namespace shardsim
