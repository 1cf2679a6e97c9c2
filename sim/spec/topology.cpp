#include "spec/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "spec/library.h"
#include "spec/load.h"
#include "spec/read.h"
#include "spec/table.h"

namespace shardsim {

namespace {

void check_device_count(const TopologySpec& topology, const SourcePos& pos, Problems& problems) {
  double devices = 1;
  for (const AxisSpec& axis : topology.axes) devices *= axis.size;
  if (devices <= kMostDevices) return;
  problems.push_back(
      {pos, fmt::format("expected at most {} devices, found {:.0f}", kMostDevices, devices), ""});
}

std::string short_name(const TopologySpec& topology) {
  std::string text = topology.kind.value + ":";
  for (std::size_t i = 0; i < topology.axes.size(); ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(topology.axes[i].size);
  }
  return text;
}

// A level, or all of a cluster that has only one, as `node` writes it.
void finish_level(const Node& node, const std::string& name, const SourcePos& pos, LevelSpec& level,
                  std::vector<Problem>& problems) {
  const bool has_axes = node.find("axes") != nullptr;
  if (has_axes == (node.find("size") != nullptr)) {
    problems.push_back(
        {pos,
         fmt::format("{}: expected axes or size, found {}", name, has_axes ? "both" : "neither"),
         "axes: {x: 4, y: 4}"});
    return;
  }
  for (AxisSpec& axis : level.axes) {
    if (!axis.name.empty()) continue;
    axis.name = level.name.empty() ? axis_name(level.kind.value, 0) : level.name;
  }
}

// Keys of a single level that say nothing beside levels.
constexpr std::array<std::string_view, 8> kOfOneLevel{
    "kind", "axes", "size", "link", "wrap", "double_link", "nics_per_device", "in_network"};

// Keys that say nothing beside links.
constexpr std::array<std::string_view, 8> kOfNoGraph{
    "kind", "axes", "size", "levels", "wrap", "double_link", "nics_per_device", "in_network"};

bool is_one_of(std::span<const std::string_view> keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void finish_graph(const Node& node, const std::string& name, TopologySpec& topology,
                  std::vector<Problem>& problems) {
  for (const NodeEntry& entry : node.entries) {
    if (entry.key == "links") topology.links_pos = entry.key_pos;
    if (!is_one_of(kOfNoGraph, entry.key)) continue;
    problems.push_back(
        {entry.key_pos,
         fmt::format("{}: expected links alone, found {} beside them", name, entry.key),
         "devices, switches, link and overrides go with links"});
  }
}

void check_names(const Node& list, const TopologySpec& topology, std::vector<Problem>& problems) {
  std::vector<std::string> levels, axes;
  const auto taken = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
    names.push_back(name);
    return false;
  };
  for (std::size_t l = 0; l < topology.levels.size(); ++l) {
    const LevelSpec& level = topology.levels[l];
    const Node* name = list.entries[l].node.find("name");
    if (name == nullptr) continue;
    if (taken(levels, level.name)) {
      problems.push_back(
          {name->pos,
           fmt::format("expected levels of different names, found a second {}", level.name), ""});
      continue;
    }
    for (const AxisSpec& axis : level.axes) {
      if (!taken(axes, axis.name)) continue;
      problems.push_back(
          {axis.pos,
           fmt::format("expected axes of different names, found a second {} in level {}", axis.name,
                       level.name),
           ""});
    }
  }
}

// `devices` beside levels or axes says how many they must make.
void check_devices(const std::string& name, TopologySpec& topology,
                   std::vector<Problem>& problems) {
  if (!topology.devices.given) return;
  std::vector<std::string> factors;
  double made = 1;
  const auto add = [&](const LevelSpec& level) {
    for (const AxisSpec& axis : level.axes) {
      factors.push_back(fmt::format("{} {}", axis.name, axis.size));
      made *= axis.size;
    }
  };
  add(topology);
  for (const LevelSpec& level : topology.levels) add(level);
  if (made != topology.devices.value) {
    problems.push_back(
        {topology.devices.pos,
         fmt::format("{}.devices: expected the {:.0f} devices that {} make, found {}", name, made,
                     topology.levels.empty() ? "the axes" : "the levels", topology.devices.value),
         fmt::format("{}", fmt::join(factors, ", "))});
  }
  topology.devices = {};  // of a graph from here on
}

// What the map of a topology needs beyond its single fields.
void finish(const Node& node, const std::string& name, TopologySpec& topology,
            std::vector<Problem>& problems) {
  const Node* levels = node.find("levels");
  if (node.find("links") != nullptr) return finish_graph(node, name, topology, problems);
  const bool regular = levels != nullptr || node.find("kind") != nullptr;
  for (const char* key : {"devices", "switches"}) {
    if (node.find(key) == nullptr || (regular && key == std::string_view("devices"))) continue;
    problems.push_back({topology.pos,
                        fmt::format("{}: expected links beside {}, found none", name, key),
                        "for example links: [{from: 0..7, to: s0}]"});
    return;
  }
  if (levels == nullptr) {
    const std::size_t before = problems.size();
    finish_level(node, name, topology.pos, topology, problems);
    if (problems.size() != before) return;
    topology.text = short_name(topology);
    check_devices(name, topology, problems);
    return check_device_count(topology, topology.pos, problems);
  }
  for (const NodeEntry& entry : node.entries) {
    if (!is_one_of(kOfOneLevel, entry.key)) continue;
    problems.push_back(
        {entry.key_pos,
         fmt::format("{}: expected levels alone, found {} beside them", name, entry.key),
         "write it in the level that it is of"});
  }
  if (topology.levels.size() != levels->entries.size()) return;  // reported when read
  for (std::size_t l = 0; l < topology.levels.size(); ++l) {
    LevelSpec& level = topology.levels[l];
    finish_level(levels->entries[l].node, fmt::format("level {}", level.name), level.pos, level,
                 problems);
  }
  check_names(*levels, topology, problems);
  check_devices(name, topology, problems);
}

bool is_short(std::string_view text) {
  return text.find(':') != std::string_view::npos && !is_path(text);
}

// A short name, or the file that a name or path means.
void read_by_name(const Chosen<std::string>& wanted, RunSpec& into,
                  std::vector<Problem>& problems) {
  if (is_short(wanted.value)) {
    into.topology = parse_topology(wanted.value, wanted.pos, problems);
    into.topology.pos = wanted.pos;
    return;
  }
  const auto path = locate(kTopologies, wanted, problems);
  if (!path) return;
  const Node root = open_yaml(*path, wanted.pos, problems);
  if (!root.pos.source) return;
  into.topology.pos = root.pos;
  read_fields("topology", root, into, problems);
  if (root.kind == NodeKind::map) finish(root, "topology", into.topology, problems);
  into.topology.text = std::filesystem::path(*path).stem().string();
}

}  // namespace

void read_topology(const Node& root, RunSpec& run, std::vector<Problem>& problems) {
  const Node* cluster = root.find("cluster");
  const Node* node = cluster == nullptr ? nullptr : cluster->find("topology");
  if (run.topology_name.given) {
    read_by_name(run.topology_name, run, problems);
  } else if (node != nullptr && node->kind == NodeKind::map) {
    finish(*node, "cluster.topology", run.topology, problems);
  }
}

TopologySpec load_topology(const std::string& text, const SourcePos& pos,
                           std::vector<Problem>& problems,
                           void (*further)(const TopologySpec&, std::vector<Problem>&)) {
  const std::size_t before = problems.size();
  RunSpec run;
  read_by_name({text, pos, true}, run, problems);
  if (problems.size() == before) return run.topology;
  if (further != nullptr) further(run.topology, problems);
  return {};
}

TopologySpec parse_topology(std::string_view text, const SourcePos& pos,
                            std::vector<Problem>& problems) {
  const auto before = problems.size();
  const auto name = trimmed(text);
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    problems.push_back({pos,
                        fmt::format("expected a topology such as ring:8 or torus:4x4x4, found {}",
                                    in_quotes(name)),
                        ""});
    return {};
  }
  const auto offset = static_cast<std::size_t>(name.data() - text.data());
  TopologySpec topology;
  topology.text = std::string(name);
  topology.pos = pos;
  topology.kind = {std::string(name.substr(0, colon)),
                   pos.at(static_cast<int>(offset), static_cast<int>(colon)), true};
  for (std::size_t at = colon + 1; at <= name.size();) {
    const auto end = std::min(name.find('x', at), name.size());
    const auto digits = name.substr(at, end - at);
    auto size = parse_count(digits, 1, std::numeric_limits<int>::max());
    const SourcePos here =
        pos.at(static_cast<int>(offset + at), std::max(1, static_cast<int>(digits.size())));
    if (trimmed(digits) != digits) size.error = "expected a topology without blanks";
    if (!size) problems.push_back({here, size.error, "topologies read ring:8 or torus:4x4x4"});
    topology.axes.push_back(
        {axis_name(topology.kind.value, topology.axes.size()), size.value, here});
    at = end + 1;
  }
  if (problems.size() == before) check_device_count(topology, pos, problems);
  return problems.size() == before ? topology : TopologySpec{};
}

namespace {

Node scalar(std::string text, const SourcePos& pos) {
  return {NodeKind::scalar, std::move(text), false, {}, pos};
}

}  // namespace

std::optional<Node> spelled_out_topology(const Node& name) {
  std::vector<Problem> reported_when_read;
  if (!is_short(name.text)) {
    const auto path = locate(kTopologies, {name.text, name.pos, true}, reported_when_read);
    if (!path) return std::nullopt;
    Node root = open_yaml(*path, name.pos, reported_when_read);
    if (root.kind != NodeKind::map) return std::nullopt;
    return root;
  }
  const TopologySpec spec = parse_topology(name.text, name.pos, reported_when_read);
  if (!reported_when_read.empty()) return std::nullopt;
  Node axes{NodeKind::map, "", false, {}, name.pos};
  for (const AxisSpec& axis : spec.axes) {
    axes.entries.push_back({axis.name, axis.pos, scalar(std::to_string(axis.size), axis.pos)});
  }
  Node whole{NodeKind::map, "", false, {}, name.pos};
  whole.entries.push_back({"kind", name.pos, scalar(spec.kind.value, spec.kind.pos)});
  whole.entries.push_back({"axes", name.pos, std::move(axes)});
  return whole;
}

}  // namespace shardsim
