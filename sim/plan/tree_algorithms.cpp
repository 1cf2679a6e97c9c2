#include "plan/tree_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/algorithm_parts.h"
#include "plan/device_path.h"
#include "plan/rooted.h"
#include "plan/trees.h"

namespace shardsim {

namespace {

constexpr int kPiecesWithoutLatency = 64;
constexpr int kMostPieces = 512;

std::string for_trees_or_barrier(const CollectiveAsk& ask) {
  using enum Collective;
  return only_for(ask, {broadcast, reduce, all_reduce, barrier});
}

// The P that makes (period * P + fill) * (a + x/P) smallest, where x is the time of what passes an
// edge: sqrt(fill * x / (period * a)).
int best_pieces(const CollectiveAsk& ask, double fill, double period, Seconds edge,
                Seconds latency) {
  if (ask.pieces > 0) return ask.pieces;
  if (fill <= 0) return 1;
  if (latency == Seconds{}) return kPiecesWithoutLatency;
  const double best = std::sqrt(fill / period * (edge / latency));
  return static_cast<int>(std::clamp(std::round(best), 1.0, double{kMostPieces}));
}

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

// The three kinds from the broadcast. `barrier`: the reduce ends before the broadcast begins, as
// both use the same ports.
CollectivePlan from_broadcast(Collective kind, const CollectivePlan& plan, int trees,
                              bool barrier) {
  if (kind == Collective::broadcast) return plan;
  if (kind == Collective::reduce) return reduce_of(plan, trees);
  const CollectivePlan both = sequence(reduce_of(plan, trees), plan, barrier);
  return kind == Collective::barrier ? without_bytes(both) : both;
}

// A barrier is an all-reduce of nothing.
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

}  // namespace

std::string chain_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = for_trees_or_barrier(ask);
  if (!why.empty()) return why;
  if (any_one_way(net) && net.axes.size() > 1) return "a path through all devices turns back";
  if (any_one_way(net) && there_and_back(ask.kind)) {
    return "the result has no way back: the ring has links in one direction only";
  }
  return "";
}

namespace {

struct Chain {
  Round round = Round::forwards;
  bool all_reduce = false;
  bool two_ports = false;  // the sums and the result use different links
  int depth = 0;           // of the first piece's way
  int ways() const { return round == Round::both ? 2 : 1; }
};

// A closed path is gone round from anywhere; of an open one the root's place counts.
Chain chain_of(const CollectiveAsk& ask, const GroupNet& net) {
  Chain c;
  // A device under the switches of a graph sends both ways over its link to them, too.
  const bool under_switches = net.graph != nullptr && !net.graph->switches.empty();
  c.two_ports = !under_switches &&
                std::none_of(net.axes.begin(), net.axes.end(),
                             [](const GroupAxis& axis) { return axis.wiring == Wiring::star; });
  c.all_reduce = there_and_back(ask.kind);
  const bool closed = has_cycle(net);
  // A one-way ring has the links of a reduce where a broadcast backwards would need them.
  if (ask.kind == Collective::reduce) c.round = Round::backwards;
  if (closed && c.two_ports && !any_one_way(net) && !c.all_reduce) c.round = Round::both;
  c.depth = net.ranks() - 1;
  if (!closed && ask.root != 0) {  // paths begin at rank 0
    const std::vector<int> ranks = device_path(net).ranks;
    const auto place =
        static_cast<int>(std::find(ranks.begin(), ranks.end(), ask.root) - ranks.begin());
    c.depth = std::max(place, c.depth - place);
  }
  return c;
}

// Slots besides P: the way of the first piece.
int fill(const Chain& c) {
  return (c.all_reduce && c.two_ports ? 2 : 1) * c.depth - 1;
}

int pieces_of(const CollectiveAsk& ask, const GroupNet& net, const Chain& c) {
  if (ask.kind == Collective::barrier) return 1;
  return best_pieces(ask, fill(c), 1, ask.bytes / static_cast<double>(c.ways()) / slowest(net),
                     highest_latency(net));
}

}  // namespace

int pieces_chain(const CollectiveAsk& ask, const GroupNet& net) {
  return pieces_of(ask, net, chain_of(ask, net));
}

CollectivePlan plan_chain(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  const Chain c = chain_of(ask, net);
  return from_broadcast(
      ask.kind,
      broadcast(frame("chain", net, fold, {}), chain(device_path(net), ask.root, c.round),
                pieces_of(ask, net, c), ask.root),
      c.ways(), !c.two_ports);
}

// A piece needs a slot per device on its way, the others follow slot by slot. An all-reduce goes to
// the root and back, on wires over other links, on a switch over the same ports, so one after the
// other (pipelined chain: Sanders, Speck, Träff 2009; Chan et al. 2007).
ClosedForm form_chain(const CollectiveAsk& ask, const GroupNet& net) {
  const Chain c = chain_of(ask, net);
  const int pieces = pieces_of(ask, net, c);
  const Seconds slot =
      highest_latency(net) + ask.bytes / (static_cast<double>(c.ways()) * pieces) / slowest(net);
  const bool twice = c.all_reduce && !c.two_ports;
  const std::string depth = c.depth == net.ranks() - 1 ? "N-1" : fmt::format("{}", c.depth);
  const std::string way = c.all_reduce && c.two_ports ? fmt::format("2*({})", depth) : depth;
  if (ask.kind == Collective::barrier) {
    return {2.0 * c.depth * highest_latency(net), fmt::format("2*({}) * a", depth),
            same_links(net)};
  }
  const std::string once =
      fmt::format("(P + {} - 1) * (a + V/({}P*W1))", way, c.ways() == 2 ? "2*" : "");
  return {(twice ? 2.0 : 1.0) * (pieces + fill(c)) * slot,
          fmt::format("{}, P = {} pieces", twice ? "2 * " + once : once, pieces), same_links(net)};
}

double sends_chain(const CollectiveAsk& ask, const GroupNet& net) {
  const Chain c = chain_of(ask, net);
  const double n = net.ranks();
  return (there_and_back(ask.kind) ? 2.0 : 1.0) * c.ways() * pieces_of(ask, net, c) * (n - 1) / n;
}

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
