#include "plan/phase_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/order.h"
#include "spec/fields.h"
#include "spec/library.h"

namespace shardsim {
namespace {

// A phase as written: names it is after, with their places.
struct Written {
  Phase phase;
  SourcePos pos;
  std::vector<std::pair<std::string, SourcePos>> after;
};

const std::vector<std::string>& keys() {
  static const std::vector<std::string> kKeys = {"name", "stream", "time", "after"};
  return kKeys;
}

class Reader {
 public:
  explicit Reader(std::vector<Problem>& problems) : problems_(problems) {}

  std::vector<Written> phases(const Node& root) {
    std::vector<Written> all;
    const Node* list = root.kind == NodeKind::map ? root.find("phases") : nullptr;
    if (list == nullptr || list->kind != NodeKind::list || list->entries.empty()) {
      refuse(list == nullptr ? root.pos : list->pos,
             fmt::format("expected a map with a list of phases, found {}",
                         list == nullptr                   ? found(root)
                         : list->kind == NodeKind::list ? "an empty one"
                                                        : found(*list) + " there"));
      return all;
    }
    for (const NodeEntry& entry : root.entries)
      if (entry.key != "phases") unknown(entry, "phases", {"phases"});
    for (const NodeEntry& item : list->entries) all.push_back(phase(item.node));
    return all;
  }

 private:
  void refuse(const SourcePos& pos, std::string message, std::string hint = "") {
    problems_.push_back({pos, std::move(message), std::move(hint)});
  }

  void unknown(const NodeEntry& entry, std::string_view expected,
               const std::vector<std::string>& names) {
    refuse(entry.key_pos,
           fmt::format("unknown key {}; expected {}", in_quotes(entry.key), expected),
           suggestion(entry.key, names));
  }

  Written phase(const Node& node) {
    Written one;
    one.pos = node.pos;
    if (node.kind != NodeKind::map) {
      refuse(node.pos,
             fmt::format("expected a phase with {}, found {}", joined_or(keys()), found(node)));
      return one;
    }
    for (const NodeEntry& entry : node.entries) {
      if (entry.key == "after") {
        names(entry, one);
      } else if (std::find(keys().begin(), keys().end(), entry.key) == keys().end()) {
        unknown(entry, joined_or(keys()), keys());
      } else if (entry.node.kind != NodeKind::scalar || trimmed(entry.node.text).empty()) {
        refuse(entry.node.pos,
               fmt::format("{}: expected a text, found {}", entry.key, found(entry.node)));
      } else if (entry.key == "time") {
        const Parsed<Seconds> time = parse_seconds(entry.node.text);
        if (!time) refuse(entry.node.pos, fmt::format("time: {}", time.error));
        one.phase.time = time.value;
      } else {
        (entry.key == "name" ? one.phase.name : one.phase.stream) = entry.node.text;
      }
    }
    for (const std::string& key : keys()) {
      if (key != "after" && node.find(key) == nullptr)
        refuse(node.pos, fmt::format("missing key {} of a phase", in_quotes(key)));
    }
    return one;
  }

  void names(const NodeEntry& entry, Written& one) {
    const Node& node = entry.node;
    if (node.kind == NodeKind::scalar) {
      one.after.emplace_back(node.text, node.pos);
      return;
    }
    if (node.kind != NodeKind::list) {
      refuse(node.pos, fmt::format("after: expected a list of phases, found {}", found(node)));
      return;
    }
    for (const NodeEntry& item : node.entries) {
      if (item.node.kind == NodeKind::scalar) {
        one.after.emplace_back(item.node.text, item.node.pos);
      } else {
        refuse(item.node.pos,
               fmt::format("after: expected the name of a phase, found {}", found(item.node)));
      }
    }
  }

  std::vector<Problem>& problems_;
};

// Fills Phase::after.
void resolve(std::vector<Written>& written, std::vector<Problem>& problems) {
  std::map<std::string, int> numbers;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string& name = written[i].phase.name;
    const auto [at, fresh] = numbers.try_emplace(name, static_cast<int>(i));
    if (!fresh) {
      problems.push_back(
          {written[i].pos,
           fmt::format("two phases are called {}, the other in line {}", in_quotes(name),
                       written[static_cast<std::size_t>(at->second)].pos.line),
           ""});
    }
    names.push_back(name);
  }
  for (Written& one : written) {
    for (const auto& [name, pos] : one.after) {
      const auto at = numbers.find(name);
      if (at == numbers.end()) {
        problems.push_back({pos,
                            fmt::format("expected the name of a phase, found {}", in_quotes(name)),
                            suggestion(name, names)});
      } else {
        one.phase.after.push_back(at->second);
      }
    }
  }
}

}  // namespace

std::vector<Phase> read_phases(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const Node root = open_argument(kPhases, path, problems);
  if (problems.size() != before) return {};
  std::vector<Written> written = Reader(problems).phases(root);
  if (problems.size() != before) return {};
  resolve(written, problems);
  if (problems.size() != before) return {};
  std::vector<Phase> phases;
  for (Written& one : written) phases.push_back(std::move(one.phase));
  const std::vector<OpId> cycle = find_cycle(lower_phases(phases));
  if (!cycle.empty()) {
    std::string text;
    for (const OpId op : cycle) {
      text += (text.empty() ? "" : " waits for ") + phases[static_cast<std::size_t>(op)].name;
    }
    problems.push_back({written[static_cast<std::size_t>(cycle.front())].pos,
                        "expected phases that can run, found a cycle: " + text,
                        "a phase also waits for the one before it on its stream"});
  }
  return problems.size() == before ? phases : std::vector<Phase>{};
}

OpGraph lower_phases(const std::vector<Phase>& phases) {
  OpGraph graph;
  std::map<std::string, std::uint32_t> last;  // op of every stream
  for (std::uint32_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    graph.ops.push_back({.kind = OpKind::compute, .device = 0, .origin = i, .seconds = phase.time});
    graph.origins.push_back({.name = phase.name, .stream = phase.stream});
    const auto [tail, fresh] = last.try_emplace(phase.stream, i);
    if (!fresh) graph.deps.push_back(OpId{tail->second});
    tail->second = i;
    for (const int other : phase.after)
      graph.deps.push_back(OpId{static_cast<std::uint32_t>(other)});
    graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
  }
  return graph;
}

}  // namespace shardsim
