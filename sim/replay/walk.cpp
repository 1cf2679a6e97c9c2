#include "replay/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "replay/replay.h"

namespace shardsim {

namespace {

// Whether every op waits for earlier ones only (nearly always).
bool ids_are_an_order(const OpGraph& graph) {
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    for (const OpId dep : graph.waits_for(OpId{op}))
      if (dep >= OpId{op}) return false;
  return true;
}

// Turns the durations in `out.end` into ends.
void walk_by_id(const OpGraph& graph, Timeline& out) {
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    Seconds ready;
    for (const OpId dep : graph.waits_for(OpId{op}))
      ready = std::max(ready, out.end[static_cast<std::size_t>(dep)]);
    out.start[op] = ready;
    out.end[op] += ready;
  }
}

// Any order of ids, cycles included: an op is taken when its last dependency has been.
Timeline walk_by_count(const OpGraph& graph, std::span<const Seconds> duration) {
  Timeline out{.start = std::vector<Seconds>(graph.size(), kNever),
               .end = std::vector<Seconds>(graph.size(), kNever)};
  const Followers after = followers(graph);
  std::vector<std::uint32_t> missing = wait_counts(graph);
  std::vector<Seconds> ready(graph.size());
  std::vector<std::uint32_t> work;
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    if (missing[op] == 0) work.push_back(op);
  while (!work.empty()) {
    const std::uint32_t op = work.back();
    work.pop_back();
    out.start[op] = ready[op];
    out.end[op] = ready[op] + duration[op];
    for (const std::uint32_t next : after.of(op)) {
      ready[next] = std::max(ready[next], out.end[op]);
      if (--missing[next] == 0) work.push_back(next);
    }
  }
  return out;
}

// "op 3: join\n    waits for op 4: join", and so on.
std::string stuck_text(const OpGraph& graph, const Timeline& timeline, std::uint32_t op) {
  constexpr std::size_t kDepsShown = 3;
  std::string text = "\n  " + describe(graph, OpId{op});
  std::size_t waiting = 0;
  for (const OpId dep : graph.waits_for(OpId{op})) {
    if (timeline.end[static_cast<std::size_t>(dep)] != kNever) continue;
    if (++waiting <= kDepsShown) text += "\n    waits for " + describe(graph, dep);
  }
  if (waiting > kDepsShown) text += fmt::format("\n    and {} more", waiting - kDepsShown);
  return text;
}

}  // namespace

Followers followers(const OpGraph& graph) {
  return followers_of(graph.dep_offset, graph.deps);
}

std::vector<std::uint32_t> wait_counts(const OpGraph& graph) {
  std::vector<std::uint32_t> counts(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op)
    counts[op] = graph.dep_offset[op + 1] - graph.dep_offset[op];
  return counts;
}

std::vector<Seconds> own_times(const OpGraph& graph) {
  std::vector<Seconds> times(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op)
    if (graph.ops[op].kind != OpKind::join) times[op] = graph.ops[op].seconds;
  return times;
}

Timeline longest_path(const OpGraph& graph, std::vector<Seconds> duration) {
  if (!ids_are_an_order(graph)) return walk_by_count(graph, duration);
  Timeline out{.start = std::vector<Seconds>(graph.size()), .end = std::move(duration)};
  walk_by_id(graph, out);
  return out;
}

void throw_if_stuck(const OpGraph& graph, const Timeline& timeline) {
  constexpr std::size_t kOpsShown = 5;
  std::size_t stuck = 0;
  std::string text;
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (timeline.end[op] != kNever) continue;
    if (++stuck <= kOpsShown) text += stuck_text(graph, timeline, op);
  }
  if (stuck == 0) return;
  if (stuck > kOpsShown) text += fmt::format("\n  and {} more", stuck - kOpsShown);
  throw StuckGraph(
      fmt::format("the replay is stuck: {} of {} ops never ended{}", stuck, graph.size(), text));
}

}  // namespace shardsim
