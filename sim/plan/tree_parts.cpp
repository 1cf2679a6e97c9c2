#include "plan/tree_parts.h"

#include <algorithm>
#include <cmath>

#include "plan/algorithm_parts.h"

namespace shardsim {

namespace {

constexpr int kPiecesWithoutLatency = 64;
constexpr int kMostPieces = 512;

}  // namespace

std::string for_trees_or_barrier(const CollectiveAsk& ask) {
  using enum Collective;
  return only_for(ask, {broadcast, reduce, all_reduce, barrier});
}

int best_pieces(const CollectiveAsk& ask, double fill, double period, Seconds edge,
                Seconds latency) {
  if (ask.pieces > 0) return ask.pieces;
  if (fill <= 0) return 1;
  if (latency == Seconds{}) return kPiecesWithoutLatency;
  const double best = std::sqrt(fill / period * (edge / latency));
  return static_cast<int>(std::clamp(std::round(best), 1.0, double{kMostPieces}));
}

namespace {

// The reduce: the broadcast backwards, with the pieces numbered in the order in which they come.
CollectivePlan reduce_of(const CollectivePlan& plan, int trees) {
  CollectivePlan result = mirror(plan);
  const int pieces = static_cast<int>(plan.piece_share.size()) / trees;
  for (Send& send : result.sends) {
    const int piece = send.chunks.piece / trees;
    send.chunks.piece += (pieces - 1 - 2 * piece) * trees;
  }
  return result;
}

}  // namespace

CollectivePlan from_broadcast(Collective kind, const CollectivePlan& plan, int trees,
                              bool barrier) {
  if (kind == Collective::broadcast) return plan;
  if (kind == Collective::reduce) return reduce_of(plan, trees);
  const CollectivePlan both = sequence(reduce_of(plan, trees), plan, barrier);
  return kind == Collective::barrier ? without_bytes(both) : both;
}

bool there_and_back(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::barrier;
}

Seconds highest_latency(const GroupNet& net) {
  Seconds latency;
  for (const GroupAxis& axis : net.axes) latency = std::max(latency, axis.latency);
  return latency;
}

BytesPerSec slowest(const GroupNet& net) {
  BytesPerSec w1 = net.axes[0].w1;
  for (const GroupAxis& axis : net.axes) w1 = std::min(w1, axis.w1);
  return w1;
}

bool any_one_way(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(), one_way);
}

}  // namespace shardsim
