#include "plan/node_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/file.h"
#include "plan/algorithm_parts.h"
#include "plan/gather.h"
#include "plan/nodes.h"
#include "plan/trees.h"

namespace shardsim {

namespace {

constexpr int kTrees = 2;

// The double binary tree over the nodes, root 0.
struct NodeTrees {
  explicit NodeTrees(int nodes) : edges(double_binary_tree(nodes, 0).edges) {
    std::vector<std::array<int, kTrees>> depths(static_cast<std::size_t>(nodes), {0, 0});
    std::vector<std::array<int, kTrees>> children = depths;
    std::vector<int> all(static_cast<std::size_t>(nodes), 0);
    for (const TreeEdge& edge : edges) {
      const auto tree = static_cast<std::size_t>(edge.tree);
      const auto from = static_cast<std::size_t>(edge.from);
      depth.push_back(depths[static_cast<std::size_t>(edge.to)][tree] = depths[from][tree] + 1);
      child.push_back(children[from][tree]++);
      deepest = std::max(deepest, depth.back());
      most_children = std::max(most_children, ++all[from]);
    }
  }

  std::vector<TreeEdge> edges;  // parents before children
  std::vector<int> depth;       // [edges] of their lower end
  std::vector<int> child;       // [edges] which of its parent's in that tree
  int deepest = 0;
  int most_children = 0;  // of a node, in both trees
};

// Writes the plan: what goes up and down along an edge is found by who sends it.
class Writer {
 public:
  Writer(const PlanFrame& frame, const GroupNet& net, int pieces)
      : plan_(empty_plan(frame, Collective::all_reduce)),
        nodes_(net),
        trees_(nodes_.count),
        pieces_(pieces) {
    for (std::size_t a = 0; a < net.axes.size(); ++a)
      if (net.axes[a].level != nodes_.level) across_ |= 1u << a;
    for (int position = 0; position < nodes_.inside; ++position) {
      const int rank = nodes_.rank(0, position);
      if (plan_.representative(rank) == rank) senders_.push_back(position);
    }
  }

  CollectivePlan take() {
    for (int q = 0; q < pieces_; ++q) {
      throw_if_interrupted();
      for (int tree = 0; tree < kTrees; ++tree) {
        up(tree, q);
        down(tree, q);
      }
    }
    return std::move(plan_);
  }

 private:
  enum class Way { chain_up, up, down, chain_down };
  // Node and place in the chain (0: the NIC's) of the sender; of a send down the edge of the tree.
  struct Step {
    Way way;
    int node = 0, place = 0, edge = 0;
  };

  void up(int tree, int q) {
    for (int place = nodes_.inside - 1; place > 0; --place) {
      for (int node = 0; node < nodes_.count; ++node) {
        std::vector<Step> needs;
        if (place + 1 < nodes_.inside) needs.push_back({Way::chain_up, node, place + 1});
        send({Way::chain_up, node, place}, node, place - 1, tree, q, needs);
      }
    }
    for (std::size_t e = trees_.edges.size(); e-- > 0;) {  // children before parents
      const TreeEdge& edge = trees_.edges[e];
      if (edge.tree != tree) continue;
      send({Way::up, edge.to, 0, static_cast<int>(e)}, edge.from, 0, tree, q,
           collected(edge.to, tree));
    }
  }

  // What a node's NIC waits for: its own chain, and the nodes below it.
  std::vector<Step> collected(int node, int tree) const {
    std::vector<Step> needs = {{Way::chain_up, node, 1}};
    for (std::size_t e = 0; e < trees_.edges.size(); ++e) {
      const TreeEdge& edge = trees_.edges[e];
      if (edge.tree == tree && edge.from == node)
        needs.push_back({Way::up, edge.to, 0, static_cast<int>(e)});
    }
    return needs;
  }

  void down(int tree, int q) {
    std::vector<std::vector<Step>> brought(static_cast<std::size_t>(nodes_.count));
    brought[0] = collected(0, tree);
    for (std::size_t e = 0; e < trees_.edges.size(); ++e) {
      const TreeEdge& edge = trees_.edges[e];
      if (edge.tree != tree) continue;
      const Step step{Way::down, edge.from, 0, static_cast<int>(e)};
      send(step, edge.to, 0, tree, q, brought[static_cast<std::size_t>(edge.from)]);
      brought[static_cast<std::size_t>(edge.to)] = {step};
    }
    for (int place = 0; place + 1 < nodes_.inside; ++place) {
      for (int node = 0; node < nodes_.count; ++node) {
        const Step step{Way::chain_down, node, place};
        auto& needs = brought[static_cast<std::size_t>(node)];
        send(step, node, place + 1, tree, q, needs);
        needs = {step};
      }
    }
  }

  int position(int rail, int place) const { return (rail + place) % nodes_.inside; }

  using Key = std::tuple<Way, int, int, int, int, int>;  // of a step, tree and piece, and sender
  Key key(const Step& step, int tree, int q, int rank) const {
    return {step.way, step.edge, step.place, tree, q, plan_.representative(rank)};
  }

  void send(const Step& step, int to_node, int to_place, int tree, int q,
            const std::vector<Step>& needs) {
    for (const int sender : senders_) {
      const int rail = (sender - step.place + nodes_.inside) % nodes_.inside;
      Send made{.from = nodes_.rank(step.node, sender),
                .to = nodes_.rank(to_node, position(rail, to_place))};
      made.chunks = {.origin = nodes_.rank(0, rail), .spread = across_};
      made.chunks.piece = kTrees * q + tree;
      made.share = plan_.share_of(made.chunks);
      made.reduces = step.way == Way::chain_up || step.way == Way::up;
      made.phase = kTrees * (q * steps() + number(step)) + tree;
      std::vector<std::uint32_t> waits;
      for (const Step& need : needs) {
        const int from = nodes_.rank(need.node, position(rail, need.place));
        waits.push_back(sent_.at(key(need, tree, q, from)));
      }
      const auto before = sent_.find(key(step, tree, q - 1, made.from));
      if (before != sent_.end()) waits.push_back(before->second);
      std::sort(waits.begin(), waits.end());
      sent_[key(step, tree, q, made.from)] = plan_.add(made, waits);
    }
  }

  // Steps of a piece that are one after the other, and which of them a step is.
  int steps() const { return 2 * nodes_.inside + 4 * (trees_.deepest + 1); }
  int number(const Step& step) const {
    const int levels = 2 * (trees_.deepest + 1);
    const auto edge = static_cast<std::size_t>(step.edge);
    switch (step.way) {
      case Way::chain_up:
        return nodes_.inside - 1 - step.place;
      case Way::up:
        return nodes_.inside + 2 * (trees_.deepest - trees_.depth[edge]) + trees_.child[edge];
      case Way::down:
        return nodes_.inside + levels + 2 * trees_.depth[edge] + trees_.child[edge];
      case Way::chain_down:
        return nodes_.inside + 2 * levels + step.place;
    }
    return 0;
  }

  CollectivePlan plan_;
  Nodes nodes_;
  NodeTrees trees_;
  int pieces_;
  std::uint32_t across_ = 0;  // axes, as bits
  std::vector<int> senders_;  // positions that are representatives
  std::map<Key, std::uint32_t> sent_;
};

struct Rates {
  BytesPerSec w1;
  Seconds latency;
};

// The slowest axis inside the nodes, or across.
Rates rates_of(const GroupNet& net, bool inside) {
  const Nodes nodes(net);
  Rates rates;
  for (const GroupAxis& axis : net.axes) {
    if ((axis.level == nodes.level) != inside) continue;
    rates.latency = std::max(rates.latency, axis.latency);
    rates.w1 = rates.w1 == BytesPerSec{} ? axis.w1 : std::min(rates.w1, axis.w1);
  }
  return rates;
}

// Between two times. Pieces in step: the first one goes up and down with none but its other tree's,
// then a piece of all trees and both ways follows as often as the busiest port has passed it, each
// after the latency. Out of step: latency hides behind other pieces, and what counts is the work of
// a port, from when the first piece reaches it until the last one has left.
Seconds time_in_pieces(const CollectiveAsk& ask, const GroupNet& net, const NodeTrees& trees,
                       int pieces) {
  const Nodes nodes(net);
  const Rates in = rates_of(net, true), out = rates_of(net, false);
  const Bytes piece = ask.bytes / (static_cast<double>(nodes.inside) * kTrees * pieces);
  const auto work = [&](const Rates& rates, double messages) {
    return messages * piece / rates.w1;
  };
  const auto step = [&](const Rates& rates, double messages) {
    return rates.latency + work(rates, messages);
  };
  const double at_port = 2.0 * kTrees * (nodes.inside - 1), at_nic = kTrees + trees.most_children;
  const Seconds chains = 2.0 * (nodes.inside - 1) * step(in, kTrees);
  const Seconds first = chains + 2.0 * trees.deepest * step(out, kTrees);
  const double more = pieces - 1;
  const Seconds in_step = first + more * std::max(step(out, at_nic), step(in, at_port));
  const Seconds far = 2.0 * trees.deepest * out.latency;
  const Seconds at_work =
      std::max({first + more * std::max(step(out, kTrees), step(in, kTrees)),
                far + pieces * work(in, at_port), chains + far + pieces * work(out, at_nic)});
  return (in_step + at_work) / 2.0;
}

constexpr std::array<int, 16> kPieces = {1,  2,  3,  4,  6,  8,   12,  16,
                                         24, 32, 48, 64, 96, 128, 192, 256};

}  // namespace

std::string node_trees_suit(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind != Collective::all_reduce) {
    return fmt::format("it is for all-reduce, not {}", to_text(ask.kind));
  }
  if (!levels(net)) return "the group is inside one level";
  int inside = 0, outside = 0;  // axes; outside: of the level next to it
  const Nodes nodes(net);
  const std::vector<int> order = outside_in(net);
  const int outer = net.axes[static_cast<std::size_t>(order.front())].level;
  for (const GroupAxis& axis : net.axes) {
    if (axis.wiring != Wiring::star) break;
    if (axis.level == nodes.level) ++inside;
    if (axis.level == outer) ++outside;
  }
  if (inside == 1 && inside + outside == static_cast<int>(net.axes.size())) return "";
  return "it is for nodes with a switch inside, an axis each, and one level of switches outside";
}

int pieces_node_trees(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.pieces > 0) return ask.pieces;
  const NodeTrees trees(Nodes(net).count);
  return *std::min_element(kPieces.begin(), kPieces.end(), [&](int a, int b) {
    return time_in_pieces(ask, net, trees, a) < time_in_pieces(ask, net, trees, b);
  });
}

CollectivePlan plan_node_trees(const CollectiveAsk& ask, const GroupNet& net,
                               const std::vector<int>& fold) {
  const int pieces = pieces_node_trees(ask, net);
  const auto count = static_cast<std::size_t>(kTrees * pieces);
  const std::vector<double> shares(count, 1.0 / static_cast<double>(count));
  return Writer(frame("node-trees", net, fold, shares), net, pieces).take();
}

ClosedForm form_node_trees(const CollectiveAsk& ask, const GroupNet& net) {
  const NodeTrees trees(Nodes(net).count);
  const int pieces = pieces_node_trees(ask, net);
  return {time_in_pieces(ask, net, trees, pieces),
          fmt::format("2 * [(k-1) steps inside + {} across] + (P-1) * the busiest port's step, or "
                      "its work alone, half way between; P = {} pieces per tree",
                      trees.deepest, pieces),
          false};
}

double sends_node_trees(const CollectiveAsk& ask, const GroupNet& net) {
  const Nodes nodes(net);
  const double across = (nodes.count - 1.0) / nodes.count;
  return 2.0 * kTrees * pieces_node_trees(ask, net) * (nodes.inside - 1 + across);
}

// Rails are alike, nodes are not.
std::vector<int> fold_node_trees(const CollectiveAsk&, const GroupNet& net) {
  const Nodes nodes(net);
  std::vector<int> fold;
  for (const GroupAxis& axis : net.axes) fold.push_back(axis.level == nodes.level ? 1 : axis.size);
  return fold;
}

}  // namespace shardsim
