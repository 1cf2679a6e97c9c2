#include "plan/tree_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/algorithm_parts.h"
#include "plan/rooted.h"
#include "plan/tree_parts.h"
#include "plan/trees.h"

namespace shardsim {

std::string axis_tree_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = for_trees_or_barrier(ask);
  if (!why.empty()) return why;
  if (!one_grid(net)) return "it is for the axes of one torus or mesh";
  if (any_one_way(net) && there_and_back(ask.kind)) {
    return "the result has no way back: the ring has links in one direction only";
  }
  return "";
}

namespace {

// The way to the farthest rank: how far along each axis.
std::vector<int> depths(const CollectiveAsk& ask, const GroupNet& net) {
  const std::vector<int> root = rank_coordinates(net.sizes(), ask.root);
  std::vector<int> result;
  for (std::size_t i = 0; i < root.size(); ++i) {
    const Reach far = reach(net.axes[i], root[i], false);
    result.push_back(std::max(far.forwards, far.backwards));
  }
  return result;
}

}  // namespace

int pieces_axis_tree(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::barrier) return 1;
  const std::vector<int> far = depths(ask, net);
  const int links = std::accumulate(far.begin(), far.end(), 0);
  return best_pieces(ask, (there_and_back(ask.kind) ? 2 : 1) * links - 1, 1,
                     ask.bytes / slowest(net), highest_latency(net));
}

CollectivePlan plan_axis_tree(const CollectiveAsk& ask, const GroupNet& net,
                              const std::vector<int>& fold) {
  const Forest forest = axis_tree(net, ask.root, ask.kind == Collective::reduce);
  return from_broadcast(
      ask.kind,
      broadcast(frame("axis-tree", net, fold, {}), forest, pieces_axis_tree(ask, net), ask.root), 1,
      false);
}

// The first piece passes every link on the way to the farthest rank, the others follow at the pace
// of its slowest link: a line of machines that take as long for every piece. An all-reduce goes
// there and back over other links (dimension-ordered trees as on Blue Gene/L: Almási et al. 2005).
ClosedForm form_axis_tree(const CollectiveAsk& ask, const GroupNet& net) {
  const double rounds = there_and_back(ask.kind) ? 2 : 1;
  const int pieces = pieces_axis_tree(ask, net);
  const std::vector<int> far = depths(ask, net);
  Seconds first, pace;
  for (std::size_t i = 0; i < far.size(); ++i) {
    const GroupAxis& axis = net.axes[i];
    const Seconds slot = axis.latency + ask.bytes / static_cast<double>(pieces) / axis.w1;
    first += rounds * far[i] * slot;
    pace = std::max(pace, slot);
  }
  const int links = std::accumulate(far.begin(), far.end(), 0);
  const std::string way = fmt::format("{}{}", rounds > 1 ? "2*" : "", links);
  if (ask.kind == Collective::barrier) return {first, way + " * a", !net.strided};
  return {first + (pieces - 1) * pace,
          fmt::format("(P + {} - 1) * (a + V/(P*W1)), P = {} pieces", way, pieces), !net.strided};
}

double sends_axis_tree(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  return (there_and_back(ask.kind) ? 2.0 : 1.0) * pieces_axis_tree(ask, net) * (n - 1) / n;
}

std::string binomial_suits(const CollectiveAsk& ask, const GroupNet& net) {
  using enum Collective;
  const std::string why =
      only_for(ask, {Collective::broadcast, reduce, Collective::gather, scatter, all_reduce});
  if (!why.empty()) return why;
  if (!star(net)) return "without one switch for all, the far sends of a tree would share links";
  return "";
}

CollectivePlan plan_binomial(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
  const PlanFrame f = frame("binomial-tree", net, fold, {1.0});
  const Forest forest = binomial_tree(net.ranks(), ask.root);
  if (ask.kind == Collective::scatter) return scatter_over(f, forest, ask.root);
  if (ask.kind == Collective::gather) return mirror(scatter_over(f, forest, ask.root));
  return from_broadcast(ask.kind, broadcast(f, forest, 1, ask.root), 1, false);
}

namespace {

int log2_up(int n) {
  int steps = 0;
  while ((1 << steps) < n) ++steps;
  return steps;
}

}  // namespace

// ceil(log2 N) steps of the whole array, or of what the subtree needs: half, a quarter, …; the root
// sends (N-1)/N of it (Thakur, Rabenseifner, Gropp 2005; Chan et al. 2007).
ClosedForm form_binomial(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const double n = net.ranks();
  const double steps = log2_up(net.ranks());
  if (ask.kind == Collective::gather || ask.kind == Collective::scatter) {
    return {steps * axis.latency + (n - 1) / n * ask.bytes / axis.w1,
            "ceil(log2 N) * a + (N-1)/N * V/W1"};
  }
  return {rounds(ask.kind) * steps * (axis.latency + ask.bytes / axis.w1),
          times(ask.kind, "ceil(log2 N) * (a + V/W1)")};
}

double sends_binomial(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  return rounds(ask.kind) * (n - 1) / n;
}

std::string double_tree_suits(const CollectiveAsk& ask, const GroupNet& net) {
  using enum Collective;
  const std::string why = only_for(ask, {Collective::broadcast, reduce, all_reduce});
  if (!why.empty()) return why;
  if (!star(net)) return "without one switch for all, the far sends of a tree would share links";
  return "";
}

namespace {

int pieces_of(const CollectiveAsk& ask, const GroupNet& net, const Forest& forest) {
  const GroupAxis& axis = net.axes[0];
  return best_pieces(ask, forest.slots() - 2, 2, ask.bytes / 2.0 / axis.w1, axis.latency);
}

}  // namespace

int pieces_double_tree(const CollectiveAsk& ask, const GroupNet& net) {
  return pieces_of(ask, net, double_binary_tree(net.ranks(), ask.root));
}

CollectivePlan plan_double_tree(const CollectiveAsk& ask, const GroupNet& net,
                                const std::vector<int>& fold) {
  const Forest forest = double_binary_tree(net.ranks(), ask.root);
  return from_broadcast(ask.kind,
                        broadcast(frame("double-binary-tree", net, fold, {}), forest,
                                  pieces_of(ask, net, forest), ask.root),
                        forest.trees, true);
}

// Two slots per piece of a tree and the way of the first piece, S slots with all that is in its way
// (Sanders, Speck, Träff 2009: S is about 2*log2 N).
ClosedForm form_double_tree(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const Forest forest = double_binary_tree(net.ranks(), ask.root);
  const int pieces = pieces_of(ask, net, forest);
  const int slots = makespan_in_slots(forest, pieces);
  const Seconds slot = axis.latency + ask.bytes / (2.0 * pieces) / axis.w1;
  return {rounds(ask.kind) * slots * slot,
          fmt::format("{}, P = {} pieces per tree, S = {}",
                      times(ask.kind, "(2*(P-1) + S) * (a + V/(2*P*W1))"), pieces,
                      slots - 2 * (pieces - 1))};
}

double sends_double_tree(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  return rounds(ask.kind) * 2 * pieces_double_tree(ask, net) * (n - 1) / n;
}

}  // namespace shardsim
