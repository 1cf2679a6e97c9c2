#include "plan/alone_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plan/stage_transfer.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostKnown = 200'000;  // some 30 MB

// One op that everything waits for.
std::vector<OpId> start(GraphBuilder& builder) {
  const auto classes = static_cast<std::size_t>(builder.fold().classes());
  return std::vector<OpId>(classes, builder.join({}, 0, builder.origin({.name = "start"})));
}

}  // namespace

void AloneTimes::use(const Network& network) {
  at_ = networks_.number(network);
  const Fold orbits = Fold::orbits(network.cluster);
  alike_ = std::all_of(network.ranks.begin(), network.ranks.end(),
                       [&](int axis) { return orbits.step[static_cast<std::size_t>(axis)] == 1; });
}

template <class Find>
Seconds AloneTimes::known(Key key, Find find) {
  const auto at = known_.find(key);
  if (at != known_.end()) return at->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(std::move(key), find()).first->second;
}

Seconds AloneTimes::collective(const CollectiveCall& call, int rank) {
  if (call.algorithm == nullptr) return {};
  const int asked = alike_ ? 0 : rank;
  const CollectiveAsk& ask = call.ask;
  return known({at_, ask.bytes, asked, -1, ask.kind, call.algorithm->name, call.axes, ask.shift,
                ask.targets},
               [&] { return replay_collective(call, asked); });
}

Seconds AloneTimes::transfer(int from, int to, Bytes bytes) {
  return known({at_, bytes, from, to, Collective::collective_permute, "", {}, 0, {}},
               [&] { return replay_transfer(from, to, bytes); });
}

Seconds AloneTimes::replay_collective(const CollectiveCall& call, int rank) const {
  GraphBuilder builder(network().cluster, network().fold);
  const StageTransfers ranks(builder, network().ranks);
  CollectiveLowering lowering(builder, network().grain,
                              CollectiveLowering::Sharing::by_collectives);
  std::vector<OpId> at = start(builder);
  const CollectiveLowering::Bracket bracket =
      lowering.lower(call, builder.origin({.name = "collective"}), {at, ranks.classes(rank)});
  const Timeline timeline = ideal_(builder.take());
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const OpId end : bracket.end)
    least = std::min(least, timeline.end[static_cast<std::size_t>(end)]);
  return least;
}

Seconds AloneTimes::replay_transfer(int from, int to, Bytes bytes) const {
  GraphBuilder builder(network().cluster, network().fold);
  StageTransfers ranks(builder, network().ranks);
  const std::vector<OpId> at = start(builder);
  std::vector<OpId> after, ends;
  for (const std::uint32_t c : ranks.classes(from)) after.push_back(at[c]);
  ranks.send(from, to, bytes, builder.origin({.name = "transfer"}), after, after, ends);
  const Timeline timeline = ideal_(builder.take());
  Seconds least{std::numeric_limits<double>::infinity()};
  for (const OpId end : ends) least = std::min(least, timeline.end[static_cast<std::size_t>(end)]);
  return least;
}

}  // namespace shardsim
