#include "spec/override.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "spec/topology.h"

namespace shardsim {
namespace {

// The entry of a key, made when there is none. Its position becomes the argument's, so that a key
// missing in the new value is reported there.
Node& child(Node& parent, const PathStep& step, bool replaced) {
  auto at = std::find_if(parent.entries.begin(), parent.entries.end(),
                         [&](const NodeEntry& entry) { return entry.key == step.key; });
  if (at == parent.entries.end()) {
    at = parent.entries.insert(at, {step.key, step.pos, {}});
  } else if (replaced) {
    at->key_pos = step.pos;
  }
  return at->node;
}

// What an item of a list of maps is called: its name, or its number from 0.
std::string item_name(const Node& list, std::size_t i) {
  const Node* name = list.entries[i].node.find("name");
  return name == nullptr ? std::to_string(i) : name->text;
}

// The item of a list of maps that a key means, by its number from 0 or its name; nullptr: none.
Node* item(Node& list, std::string_view key) {
  for (std::size_t i = 0; i < list.entries.size(); ++i)
    if (key == item_name(list, i) || key == std::to_string(i)) return &list.entries[i].node;
  return nullptr;
}

// The same, and a problem when there is none.
Node* item(Node& list, const PathStep& step, std::vector<Problem>& problems) {
  if (Node* found = item(list, step.key)) return found;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < list.entries.size(); ++i) known.push_back(item_name(list, i));
  const std::string close = nearest(step.key, known);
  problems.push_back({step.pos,
                      fmt::format("expected {} or a number from 0 to {}, found \"{}\"",
                                  joined_or(known), known.size() - 1, step.key),
                      close.empty() ? "" : fmt::format("did you mean \"{}\"?", close)});
  return nullptr;
}

bool holds_maps(const Node& node) {
  return node.kind == NodeKind::list && !node.entries.empty() &&
         node.entries.front().node.kind == NodeKind::map;
}

}  // namespace

std::vector<PathStep> path_steps(std::string_view path, const SourcePos& start) {
  std::vector<PathStep> out;
  for (std::size_t at = 0;;) {
    const auto end = std::min(path.find('.', at), path.size());
    const auto length = static_cast<int>(end - at);
    out.push_back({std::string(path.substr(at, end - at)),
                   start.at(static_cast<int>(at), std::max(1, length))});
    if (end == path.size()) return out;
    at = end + 1;
  }
}

namespace {

// What a step leads to; nullptr: nothing.
Node* below(Node& at, std::string_view key) {
  if (holds_maps(at)) return item(at, key);
  const auto entry = std::find_if(at.entries.begin(), at.entries.end(),
                                  [&](const NodeEntry& one) { return one.key == key; });
  return entry == at.entries.end() ? nullptr : &entry->node;
}

std::vector<std::string> steps_from(const Node& at) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < at.entries.size(); ++i)
    names.push_back(holds_maps(at) ? item_name(at, i) : at.entries[i].key);
  return names;
}

}  // namespace

Node* node_at(Node& root, std::string_view path) {
  Node* at = &root;
  for (const PathStep& step : path_steps(path, {})) {
    at = below(*at, step.key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string nearest_path(const Node& root, std::string_view path) {
  Node* at = &const_cast<Node&>(root);
  std::string near;
  for (const PathStep& step : path_steps(path, {})) {
    const bool there = below(*at, step.key) != nullptr;
    const std::string key = there ? step.key : nearest(step.key, steps_from(*at));
    at = below(*at, key);
    if (at == nullptr) return "";
    near += (near.empty() ? "" : ".") + key;
  }
  return near;
}

const Node* node_at(const Node& root, std::string_view path) {
  return node_at(const_cast<Node&>(root), path);
}

void assign(std::span<const PathStep> path, Node value, Node& root,
            std::vector<Problem>& problems) {
  Node* at = &root;
  std::string reached;
  for (const PathStep& step : path) {
    if (reached == "cluster.topology" && at->kind == NodeKind::scalar) {
      std::optional<Node> map = spelled_out_topology(*at);
      if (!map) return;
      *at = std::move(*map);
    }
    if (holds_maps(*at)) {
      at = item(*at, step, problems);
      if (at == nullptr) return;
      reached += "." + step.key;
      continue;
    }
    if (at->kind != NodeKind::map) *at = {NodeKind::map, "", false, {}, step.pos};
    at = &child(*at, step, &step == &path.back());
    reached += (reached.empty() ? "" : ".") + step.key;
  }
  *at = std::move(value);
}

void apply(const Override& change, Node& root, std::vector<Problem>& problems) {
  const SourcePos pos = argument_pos("--set", change.text);
  const auto equals = change.text.find('=');
  const auto steps = path_steps(std::string_view(change.text).substr(0, equals), pos);
  bool good = equals != std::string::npos;
  for (const PathStep& step : steps) good = good && !trimmed(step.key).empty();
  if (!good) {
    problems.push_back({pos, "expected path=value such as batch.global=32", ""});
    return;
  }
  const auto before = problems.size();
  Node value = parse_yaml(pos.source, equals + 1, problems);
  if (problems.size() > before) return;
  if (value.pos.line == 0) value.pos = pos;
  assign(steps, std::move(value), root, problems);
}

}  // namespace shardsim
