#include <fmt/format.h>

#include <algorithm>

#include "plan/algorithm_parts.h"
#include "plan/device_path.h"
#include "plan/tree_algorithms.h"
#include "plan/tree_parts.h"
#include "plan/trees.h"

namespace shardsim {

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

}  // namespace shardsim
