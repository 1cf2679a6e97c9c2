#include "plan/cluster_despite.h"

#include <algorithm>
#include <utility>

#include "plan/clusters.h"

namespace shardsim {

namespace {

// Where problems stand that are of the whole topology, a level or an override: what was refused in
// it may be their cause.
std::vector<SourcePos> wholes(const TopologySpec& spec) {
  std::vector<SourcePos> found = {spec.pos};
  for (const LevelSpec& level : spec.levels) found.push_back(level.pos);
  for (const OverrideSpec& o : spec.overrides) found.push_back(o.pos);
  return found;
}

}  // namespace

Cluster make_cluster_despite(TopologySpec spec, std::vector<Problem>& problems) {
  constexpr BytesPerSec kAny{1e9};
  const auto unread = [](const LevelSpec& level) { return level.kind.value.empty(); };
  const bool graph = !spec.links.empty();
  if (spec.levels.empty() ? unread(spec) && !graph
                          : std::any_of(spec.levels.begin(), spec.levels.end(), unread)) {
    return {};
  }
  for (LevelSpec& level : spec.levels) {
    if (!level.oversubscription.given) level.bandwidth = {kAny, level.bandwidth.pos, true};
  }
  std::vector<Problem> found;
  Cluster cluster = make_cluster(spec, {.bandwidth = kAny, .latency = {}}, found);
  const std::vector<Problem> said = problems;
  const std::vector<SourcePos> whole = wholes(spec);
  const auto same_line = [](const SourcePos& a, const SourcePos& b) {
    return a.source == b.source && a.line == b.line;
  };
  for (Problem& problem : found) {
    const bool of_whole = std::any_of(whole.begin(), whole.end(), [&](const SourcePos& pos) {
      return same_line(pos, problem.pos) && pos.column == problem.pos.column;
    });
    const bool again = std::any_of(said.begin(), said.end(), [&](const Problem& other) {
      return same_line(other.pos, problem.pos) &&
             (of_whole || other.pos.column == problem.pos.column);
    });
    if (!again) problems.push_back(std::move(problem));
  }
  return cluster;
}

}  // namespace shardsim
