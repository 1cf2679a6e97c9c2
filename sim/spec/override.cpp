#include "spec/override.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace shardsim {
namespace {

struct Step {
  std::string key;
  SourcePos pos;
};

std::vector<Step> steps(std::string_view path, const SourcePos& start) {
  std::vector<Step> out;
  for (std::size_t at = 0;;) {
    const auto end = std::min(path.find('.', at), path.size());
    const auto length = static_cast<int>(end - at);
    out.push_back({std::string(path.substr(at, end - at)),
                   start.at(static_cast<int>(at), std::max(1, length))});
    if (end == path.size()) return out;
    at = end + 1;
  }
}

Node scalar(std::string text, const SourcePos& pos) {
  return {NodeKind::scalar, std::move(text), false, {}, pos};
}

// "torus:4x4" as {kind: torus, axes: {x: 4, y: 4}}; false and unchanged when the name is no good,
// which is reported when the tree is read.
bool spell_out_topology(Node& node) {
  std::vector<Problem> reported_when_read;
  const TopologySpec spec = parse_topology(node.text, node.pos, reported_when_read);
  if (!reported_when_read.empty()) return false;
  Node axes{NodeKind::map, "", false, {}, node.pos};
  for (const AxisSpec& axis : spec.axes) {
    axes.entries.push_back({axis.name, axis.pos, scalar(std::to_string(axis.size), axis.pos)});
  }
  Node whole{NodeKind::map, "", false, {}, node.pos};
  whole.entries.push_back({"kind", node.pos, scalar(spec.kind.value, spec.kind.pos)});
  whole.entries.push_back({"axes", node.pos, std::move(axes)});
  node = std::move(whole);
  return true;
}

// The entry of a key, made when there is none. Its position becomes the argument's, so that a key
// missing in the new value is reported there.
Node& child(Node& parent, const Step& step, bool replaced) {
  auto at = std::find_if(parent.entries.begin(), parent.entries.end(),
                         [&](const NodeEntry& entry) { return entry.key == step.key; });
  if (at == parent.entries.end()) {
    at = parent.entries.insert(at, {step.key, step.pos, {}});
  } else if (replaced) {
    at->key_pos = step.pos;
  }
  return at->node;
}

}  // namespace

void apply(const Override& change, Node& root, std::vector<Problem>& problems) {
  const SourcePos pos = argument_pos("--set", change.text);
  const auto equals = change.text.find('=');
  const auto all_steps = steps(std::string_view(change.text).substr(0, equals), pos);
  bool good = equals != std::string::npos;
  for (const Step& step : all_steps) good = good && !trimmed(step.key).empty();
  if (!good) {
    problems.push_back({pos, "expected path=value such as batch.global=32", ""});
    return;
  }
  const auto before = problems.size();
  Node value = parse_yaml(pos.source, equals + 1, problems);
  if (problems.size() > before) return;
  if (value.pos.line == 0) value.pos = pos;

  Node* at = &root;
  std::string path;
  for (const Step& step : all_steps) {
    const bool short_name = path == "cluster.topology" && at->kind == NodeKind::scalar;
    if (short_name && !spell_out_topology(*at)) return;
    if (at->kind != NodeKind::map) *at = {NodeKind::map, "", false, {}, step.pos};
    at = &child(*at, step, &step == &all_steps.back());
    path += (path.empty() ? "" : ".") + step.key;
  }
  *at = std::move(value);
}

}  // namespace shardsim
