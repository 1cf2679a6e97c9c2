#include "plan/node_rings.h"

#include <algorithm>
#include <set>

#include "plan/algorithm_parts.h"
#include "plan/gather_rings.h"

namespace shardsim {

namespace {

// The innermost level of the group, and how many nodes of it there are.
struct Nodes {
  int level = 0;
  int inside = 1;  // ranks of a node
  int count = 1;

  explicit Nodes(const GroupNet& net) : level(net.axes[0].level) {
    for (const GroupAxis& axis : net.axes) level = std::min(level, axis.level);
    for (const GroupAxis& axis : net.axes) (axis.level == level ? inside : count) *= axis.size;
  }
};

// The rank at a position of a node: both are row-major over their own axes.
int rank_in(const GroupNet& net, const Nodes& nodes, int node, int position) {
  std::vector<int> at(net.axes.size());
  for (std::size_t i = net.axes.size(); i-- > 0;) {
    int& rest = net.axes[i].level == nodes.level ? position : node;
    at[i] = rest % net.axes[i].size;
    rest /= net.axes[i].size;
  }
  return rank_at(net.sizes(), at);
}

// Ring `first`: through the positions from `first` on in nodes 0, 2, …, back in nodes 1, 3, …
DevicePath ring_of(const GroupNet& net, const Nodes& nodes, int first) {
  DevicePath ring;
  ring.closed = true;
  for (int node = 0; node < nodes.count; ++node) {
    for (int i = 0; i < nodes.inside; ++i) {
      const int step = node % 2 == 0 ? i : nodes.inside - 1 - i;
      ring.ranks.push_back(rank_in(net, nodes, node, (first + step) % nodes.inside));
    }
  }
  ring.hops.resize(ring.ranks.size());
  return ring;
}

}  // namespace

std::string node_rings_suit(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (!levels(net)) return "the group is inside one level";
  const bool switches = std::all_of(net.axes.begin(), net.axes.end(), [](const GroupAxis& axis) {
    return axis.wiring == Wiring::star;
  });
  if (!switches) return "it is for nodes with a switch inside and switches outside";
  const Nodes nodes(net);
  std::set<int> inside, outside;  // ports that routes begin with
  for (const GroupAxis& axis : net.axes) {
    (axis.level == nodes.level ? inside : outside).insert(axis.climbs.front().port);
  }
  return inside == outside ? "its nodes have no NICs of their own" : "";
}

CollectivePlan plan_node_rings(const CollectiveAsk& ask, const GroupNet& net,
                               const std::vector<int>& fold) {
  const Nodes nodes(net);
  std::vector<DevicePath> rings;
  for (int j = 0; j < nodes.inside; ++j) rings.push_back(ring_of(net, nodes, j));
  const std::vector<double> shares(rings.size(), 1.0 / static_cast<double>(rings.size()));
  return from_gather(ask.kind, [&](int) {
    return gather_round_rings(frame("node-rings", net, fold, shares, ask.merged), rings);
  });
}

// N-1 steps, each as long as the slowest hop, which passes on one part after the other: V/(N*k)
// over a NIC, k-1 of them at once over a device's port inside, k the ranks of a node (Chan et al.
// 2007, bucket algorithm, k times). An all-reduce is a little faster: some ranks have their sums
// early.
ClosedForm form_node_rings(const CollectiveAsk& ask, const GroupNet& net) {
  const Nodes nodes(net);
  const double n = net.ranks(), k = nodes.inside;
  const Bytes part = ask.bytes / (n * k);
  Seconds inside, outside, latency_inside;
  int levels_used = 1;
  bool rails = false;
  for (const GroupAxis& axis : net.axes) {
    if (axis.level == nodes.level) {
      inside = std::max(inside, axis.latency + (k - 1) * part / axis.w1);
      latency_inside = std::max(latency_inside, axis.latency);
    } else {
      // All positions of a node send, but of the nodes under a leaf one at a time crosses a spine.
      for (const Climb& climb : axis.climbs)
        outside = std::max(outside, axis.latency + part / climb.node);
      levels_used = std::max(levels_used, axis.level - nodes.level + 1);
      rails = rails || axis.aligned;
    }
  }
  const bool home = !rails || nodes.count % 2 == 0;  // no ring changes rails
  if (!home) outside += latency_inside;
  return {rounds(ask.kind) * (n - 1) * std::max(inside, outside),
          times(ask.kind,
                "(N-1) * max(a + V/(N*k*W1) over one NIC, a + (k-1)/k * V/(N*W1) inside), k rings"),
          ask.kind != Collective::all_reduce && home && levels_used == 2 && outside >= inside};
}

double sends_node_rings(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * Nodes(net).inside * (ask.merged ? 1 : net.ranks() - 1);
}

}  // namespace shardsim
