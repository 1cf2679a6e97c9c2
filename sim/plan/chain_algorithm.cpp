#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

// Hops of one kind on a way.
struct Hops {
  int count = 0;
  Seconds latency;
  BytesPerSec w1;
};

struct Chain {
  Round round = Round::forwards;
  bool all_reduce = false;
  bool two_ports = false;                // the sums and the result use different links
  int depth = 0;                         // of the first piece's way
  std::vector<std::vector<Hops>> sides;  // ways from the root
  int ways() const { return round == Round::both ? 2 : 1; }
};

std::size_t axis_of(const Hop& hop) {
  return static_cast<std::size_t>(std::max(hop.axis, 0));
}

// Where a port stands: its number, and that of its block.
using Place = std::pair<int, int>;

Place place_of(const Climb& climb, const std::vector<int>& sizes, int rank) {
  std::vector<int> at = rank_coordinates(sizes, rank);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] -= at[i] % climb.block[i];
  return {climb.port, rank_at(sizes, at)};
}

// What a hop along each axis has of the ports that it climbs. All hops are busy at once: an uplink
// carries those that leave its block, of every group, and the port of a root at place `root` of an
// open path both ways.
std::vector<BytesPerSec> rates_along(const GroupNet& net, const DevicePath& path,
                                     std::size_t root) {
  const std::vector<int> sizes = net.sizes();
  std::map<Place, int> leave;
  std::map<int, int> most;  // of one block, by port
  for (std::size_t i = 0; i < path.hops.size(); ++i) {
    const std::size_t sender = path.closed || i >= root ? i : i + 1;
    for (const Climb& climb : net.axes[axis_of(path.hops[i])].climbs) {
      int& here = most[climb.port];
      here = std::max(here, ++leave[place_of(climb, sizes, path.ranks[sender])]);
    }
  }
  std::vector<BytesPerSec> rates;
  for (const GroupAxis& axis : net.axes) {
    BytesPerSec rate = axis.climbs.empty() ? axis.w1 : axis.climbs.front().one;
    for (const Climb& climb : axis.climbs)
      rate = std::min(rate, climb.one / std::max(1, most[climb.port]));
    rates.push_back(rate);
  }
  return rates;
}

bool alike(const Hops& a, const Hops& b) {
  return a.latency == b.latency && std::abs(a.w1 / b.w1 - 1) < 1e-12;
}

// `count` hops of the path from place `from` on, or backwards from there; those that are alike
// together.
std::vector<Hops> side_of(const GroupNet& net, const DevicePath& path, int from, int count,
                          bool back) {
  const int n = static_cast<int>(path.ranks.size());
  const std::vector<BytesPerSec> rates = rates_along(net, path, static_cast<std::size_t>(from));
  std::vector<int> on_axis(net.axes.size(), 0);
  for (int i = 0; i < count; ++i) {
    const int hop = back ? (from - 1 - i + n) % n : (from + i) % n;
    ++on_axis[axis_of(path.hops[static_cast<std::size_t>(hop)])];
  }
  std::vector<Hops> side;
  for (std::size_t a = 0; a < on_axis.size(); ++a) {
    if (on_axis[a] == 0) continue;
    const Hops hops{on_axis[a], net.axes[a].latency, rates[a]};
    const auto same =
        std::find_if(side.begin(), side.end(), [&](const Hops& h) { return alike(h, hops); });
    if (same == side.end()) {
      side.push_back(hops);
    } else {
      same->count += hops.count;
    }
  }
  return side;
}

constexpr int kMostUnlike = 65536;  // ranks of a path whose hops are looked at one by one

bool over_switches(const GroupNet& net) {  // of several levels, or beside cables
  return !star(net) && std::any_of(net.axes.begin(), net.axes.end(),
                                   [](const GroupAxis& axis) { return !axis.climbs.empty(); });
}

// The ways from the root; all hops as slow as the slowest where they are alike, or too many.
std::vector<std::vector<Hops>> sides_of(const Chain& c, const GroupNet& net, int root) {
  if ((same_links(net) && !over_switches(net)) || net.graph != nullptr || net.ranks() > kMostUnlike)
    return {{{c.depth, highest_latency(net), slowest(net)}}};
  const DevicePath path = device_path(net);
  const int n = net.ranks();
  const auto place =
      static_cast<int>(std::find(path.ranks.begin(), path.ranks.end(), root) - path.ranks.begin());
  std::vector<std::vector<Hops>> sides;
  if (!path.closed || c.round != Round::backwards)
    sides.push_back(side_of(net, path, place, path.closed ? n - 1 : n - 1 - place, false));
  if (!path.closed || c.round != Round::forwards)
    sides.push_back(side_of(net, path, place, path.closed ? n - 1 : place, true));
  std::erase_if(sides, [](const std::vector<Hops>& side) { return side.empty(); });
  return sides;
}

// Pieces of so many bytes along a way: each hop passes one after the other (permutation flow shop
// of equal jobs: the way of the first, then the longest hop for each further one; Johnson 1954).
Seconds along(const std::vector<Hops>& side, int pieces, Bytes piece, int rounds) {
  Seconds first, longest;
  for (const Hops& hops : side) {
    const Seconds slot = hops.latency + piece / hops.w1;
    first += hops.count * slot;
    longest = std::max(longest, slot);
  }
  return rounds * first + (pieces - 1) * longest;
}

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
  c.sides = sides_of(c, net, ask.root);
  return c;
}

// Whether every hop takes the same time whatever the others do.
bool in_step(const Chain& c, const GroupNet& net) {
  if (!over_switches(net)) return same_links(net);
  return !net.strided && net.ranks() <= kMostUnlike &&
         std::all_of(c.sides.begin(), c.sides.end(), [&](const std::vector<Hops>& side) {
           return side.size() == 1 && alike(side.front(), c.sides.front().front());
         });
}

// How often a piece goes the way without a pause: to the root and back over other links.
int rounds_of(const Chain& c) {
  return c.all_reduce && c.two_ports ? 2 : 1;
}

// The hop with the least bandwidth, and slots of it besides P: the way of the first piece.
struct Slowest {
  Hops hop;
  double fill = 0;
};

Slowest slowest_of(const Chain& c) {
  Slowest found;
  for (const std::vector<Hops>& side : c.sides) {
    const auto slow = std::min_element(side.begin(), side.end(), [](const Hops& a, const Hops& b) {
      return std::pair(a.w1, b.latency) < std::pair(b.w1, a.latency);
    });
    double slots = 0;
    for (const Hops& hops : side) slots += hops.count * (slow->w1 / hops.w1);
    const double fill = rounds_of(c) * slots - 1;
    if (found.hop.count == 0 || fill > found.fill) found = {*slow, fill};
  }
  return found;
}

int pieces_of(const CollectiveAsk& ask, const Chain& c) {
  if (ask.kind == Collective::barrier) return 1;
  const Slowest slow = slowest_of(c);
  return best_pieces(ask, slow.fill, 1, ask.bytes / static_cast<double>(c.ways()) / slow.hop.w1,
                     slow.hop.latency);
}

}  // namespace

int pieces_chain(const CollectiveAsk& ask, const GroupNet& net) {
  return pieces_of(ask, chain_of(ask, net));
}

CollectivePlan plan_chain(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  const Chain c = chain_of(ask, net);
  return from_broadcast(
      ask.kind,
      broadcast(frame("chain", net, fold, {}), chain(device_path(net), ask.root, c.round),
                pieces_of(ask, c), ask.root),
      c.ways(), !c.two_ports);
}

// A piece needs a slot per device on its way, the others follow slot by slot. An all-reduce goes to
// the root and back, on wires over other links, on a switch over the same ports, so one after the
// other (pipelined chain: Sanders, Speck, Träff 2009; Chan et al. 2007).
ClosedForm form_chain(const CollectiveAsk& ask, const GroupNet& net) {
  const Chain c = chain_of(ask, net);
  const int pieces = pieces_of(ask, c);
  const Bytes piece = ask.bytes / (static_cast<double>(c.ways()) * pieces);
  Seconds once;
  for (const std::vector<Hops>& side : c.sides)
    once = std::max(once, along(side, pieces, piece, rounds_of(c)));
  const bool twice = c.all_reduce && !c.two_ports;
  const std::string depth = c.depth == net.ranks() - 1 ? "N-1" : fmt::format("{}", c.depth);
  const std::string way = c.all_reduce && c.two_ports ? fmt::format("2*({})", depth) : depth;
  const Seconds time = (twice ? 2.0 : 1.0) * once;
  const bool unlike = c.sides.front().size() > 1;
  if (ask.kind == Collective::barrier) {
    return {time, unlike ? "2 * sum of a over hops" : fmt::format("2*({}) * a", depth),
            in_step(c, net)};
  }
  const std::string slots =
      unlike ? "[sum over hops of (a + V/(P*W1)) + (P - 1) * the longest]"
             : fmt::format("(P + {} - 1) * (a + V/({}P*W1))", way, c.ways() == 2 ? "2*" : "");
  return {time, fmt::format("{}{}, P = {} pieces", twice ? "2 * " : "", slots, pieces),
          in_step(c, net)};
}

double sends_chain(const CollectiveAsk& ask, const GroupNet& net) {
  const Chain c = chain_of(ask, net);
  const double n = net.ranks();
  return (there_and_back(ask.kind) ? 2.0 : 1.0) * c.ways() * pieces_of(ask, c) * (n - 1) / n;
}

}  // namespace shardsim
