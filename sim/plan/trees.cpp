#include "plan/trees.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "plan/algorithm_parts.h"
#include "plan/gather_parts.h"

namespace shardsim {

namespace {

// A piece on an edge.
struct Passage {
  int slot = 0;
  std::uint32_t edge = 0;
  int piece = 0;
};

// Calls visit(passage) for every passage, in the order of their slots.
template <class Visit>
void each_passage(const Forest& forest, int pieces, Visit visit) {
  const int first_slots = forest.slots();
  std::vector<std::vector<std::uint32_t>> edges(static_cast<std::size_t>(first_slots));  // by slot
  for (std::uint32_t e = 0; e < forest.edges.size(); ++e) {
    edges[static_cast<std::size_t>(forest.edges[e].slot)].push_back(e);
  }
  const int slots = first_slots + forest.period * (pieces - 1);
  for (int slot = 0; slot < slots; ++slot) {
    throw_if_interrupted();
    const int oldest = std::max(slot % forest.period, slot - forest.period * (pieces - 1));
    for (int first = oldest; first < first_slots && first <= slot; first += forest.period) {
      const int piece = (slot - first) / forest.period;
      for (const std::uint32_t e : edges[static_cast<std::size_t>(first)]) {
        visit(Passage{slot, e, piece});
      }
    }
  }
}

// Per edge: the edge into its sender in the same tree (kNone at the root), and numbers for the
// ports that it leaves and enters. A link is a port of its own at both ends, a switch port serves
// all.
struct Ports {
  explicit Ports(const Forest& forest) {
    std::size_t ranks = 0, directions = 2;  // a switch has one port in and one out
    for (const TreeEdge& edge : forest.edges) {
      ranks = std::max({ranks, index(edge.from) + 1, index(edge.to) + 1});
      directions = std::max(directions, 2 * index(edge.hop.axis + 1));
    }
    count = ranks * directions;
    std::vector<std::uint32_t> into(ranks * index(forest.trees), kNone);  // [rank][tree] edge
    for (std::uint32_t e = 0; e < forest.edges.size(); ++e) {
      const TreeEdge& edge = forest.edges[e];
      const bool star = edge.hop.axis < 0;
      const std::size_t side = star ? 0 : 2 * index(edge.hop.axis) + (edge.hop.direction > 0);
      before.push_back(into[index(edge.from) * index(forest.trees) + index(edge.tree)]);
      into[index(edge.to) * index(forest.trees) + index(edge.tree)] = e;
      out.push_back(index(edge.from) * directions + side);
      in.push_back(star ? index(edge.to) * directions + 1 : out.back());
    }
  }

  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  std::vector<std::uint32_t> before;  // [edges]
  std::vector<std::size_t> out, in;   // [edges]
  std::size_t count = 0;
};

int relative(int ranks, int root, int rank) {
  return (root + rank) % ranks;
}

}  // namespace

int Forest::slots() const {
  int last = 0;
  for (const TreeEdge& edge : edges) last = std::max(last, edge.slot + 1);
  return last;
}

Forest chain(const DevicePath& path, int root, Round round) {
  Forest forest;
  const auto n = static_cast<int>(path.ranks.size());
  const auto place =
      static_cast<int>(std::find(path.ranks.begin(), path.ranks.end(), root) - path.ranks.begin());
  const auto at = [&](int p) { return path.ranks[static_cast<std::size_t>((p + n) % n)]; };
  const auto walk = [&](int steps, int direction, int tree) {
    for (int s = 0; s < steps; ++s) {
      const int from = place + s * direction;
      const Hop& ahead = path.hops[static_cast<std::size_t>((from - (direction < 0) + n) % n)];
      forest.edges.push_back(
          {at(from), at(from + direction), tree, s, direction > 0 ? ahead : reversed(ahead)});
    }
  };
  if (path.closed) {
    forest.trees = round == Round::both ? 2 : 1;
    if (round != Round::backwards) walk(n - 1, 1, 0);
    if (round != Round::forwards) walk(n - 1, -1, forest.trees - 1);
  } else {
    walk(n - 1 - place, 1, 0);
    walk(place, -1, 0);
  }
  return forest;
}

Reach reach(const GroupAxis& axis, int at, bool backwards) {
  const int all = axis.size - 1;
  if (one_way(axis)) return backwards ? Reach{0, all} : Reach{all, 0};
  if (wrapped(axis)) return {axis.size / 2, all / 2};
  return {all - at, at};
}

Forest axis_tree(const GroupNet& net, int root, bool backwards) {
  Forest forest;
  const std::vector<int> sizes = net.sizes();
  std::vector<std::pair<int, int>> reached = {{root, 0}};  // rank, slot of the first piece there
  for (int a = 0; a < static_cast<int>(sizes.size()); ++a) {
    const auto axis = static_cast<std::size_t>(a);
    const int at = rank_coordinates(sizes, root)[axis];
    const Reach far = reach(net.axes[axis], at, backwards);
    const std::size_t count = reached.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const int direction : {1, -1}) {
        auto [rank, slot] = reached[i];
        const int steps = direction > 0 ? far.forwards : far.backwards;
        for (int step = 0; step < steps; ++step) {
          const int next = shifted(sizes, rank, a, direction);
          forest.edges.push_back({rank, next, 0, slot++, {a, direction}});
          reached.emplace_back(rank = next, slot);
        }
      }
    }
  }
  return forest;
}

Forest binomial_tree(int ranks, int root) {
  Forest forest;
  int steps = 0;
  while ((1 << steps) < ranks) ++steps;
  for (int step = 0; step < steps; ++step) {  // the farthest first, as a scatter needs it
    const int distance = 1 << (steps - 1 - step);
    for (int rank = 0; rank + distance < ranks; rank += 2 * distance) {
      forest.edges.push_back(
          {relative(ranks, root, rank), relative(ranks, root, rank + distance), 0, step, {}});
    }
  }
  return forest;
}

namespace {

// Children of a node of the binary tree over 1..nodes in which in-order is the order of numbers and
// odd numbers are leaves; 0: none. `half` is half of the span of its subtree.
std::array<int, 2> children(int node, int nodes) {
  int half = (node & -node) / 2;
  if (half == 0) return {0, 0};
  const int left = node - half;
  while (half > 0 && node + half > nodes) half /= 2;
  return {left, half == 0 ? 0 : node + half};
}

// The edges of one tree over ranks 1..nodes (relative to the root), parents before children, with
// the edge from rank 0 first. `number` gives the rank that plays a node.
template <class RankOf>
std::vector<TreeEdge> binary_edges(int nodes, int tree, RankOf rank_of) {
  int top = 1;
  while (2 * top <= nodes) top *= 2;
  std::vector<TreeEdge> edges = {{0, rank_of(top), tree, 0, {}}};
  std::vector<int> open = {top};
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const int child : children(open[i], nodes)) {
      if (child == 0) continue;
      edges.push_back({rank_of(open[i]), rank_of(child), tree, 0, {}});
      open.push_back(child);
    }
  }
  return edges;
}

// Colours 0 and 1 such that the two edges into a rank differ, and the two out of a rank. Each edge
// is in one pair of either sort, so the pairs form paths and even cycles.
std::vector<int> two_colours(const std::vector<TreeEdge>& edges, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<std::uint32_t>> into(n), out(n);
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    into[static_cast<std::size_t>(edges[e].to)].push_back(e);
    out[static_cast<std::size_t>(edges[e].from)].push_back(e);
  }
  std::vector<int> colour(edges.size(), -1);
  std::vector<std::uint32_t> open;
  for (std::uint32_t first = 0; first < edges.size(); ++first) {
    if (colour[first] >= 0) continue;
    colour[first] = 0;
    open = {first};
    while (!open.empty()) {
      const std::uint32_t e = open.back();
      open.pop_back();
      for (const auto* pair : {&into[static_cast<std::size_t>(edges[e].to)],
                               &out[static_cast<std::size_t>(edges[e].from)]}) {
        for (const std::uint32_t other : *pair) {
          if (colour[other] >= 0) continue;
          colour[other] = 1 - colour[e];
          open.push_back(other);
        }
      }
    }
  }
  return colour;
}

}  // namespace

Forest double_binary_tree(int ranks, int root) {
  const int nodes = ranks - 1;
  Forest forest;
  forest.trees = 2;
  forest.period = 2;
  forest.edges = binary_edges(nodes, 0, [](int node) { return node; });
  // Mirrored, or shifted by one: what is a leaf in one tree may be inner in the other.
  const std::vector<TreeEdge> second = binary_edges(nodes, 1, [&](int node) {
    if (nodes % 2 == 0) return nodes + 1 - node;
    return node == 1 ? nodes : node - 1;
  });
  forest.edges.insert(forest.edges.end(), second.begin(), second.end());
  const std::vector<int> colour = two_colours(forest.edges, ranks);
  std::vector<std::array<int, 2>> here(static_cast<std::size_t>(ranks), {0, 0});  // [rank][tree]
  for (std::size_t e = 0; e < forest.edges.size(); ++e) {
    TreeEdge& edge = forest.edges[e];
    const auto tree = static_cast<std::size_t>(edge.tree);
    const int held = here[static_cast<std::size_t>(edge.from)][tree];
    edge.slot = held + (held + colour[e]) % 2;
    here[static_cast<std::size_t>(edge.to)][tree] = edge.slot + 1;
    edge.from = relative(ranks, root, edge.from);
  }
  for (TreeEdge& edge : forest.edges) edge.to = relative(ranks, root, edge.to);
  return forest;
}

CollectivePlan broadcast(PlanFrame frame, const Forest& forest, int pieces, int root) {
  const auto count = static_cast<std::size_t>(pieces * forest.trees);
  frame.piece_share.assign(count, 1.0 / static_cast<double>(count));
  CollectivePlan plan = empty_plan(frame, Collective::broadcast);
  plan.root = root;
  const Ports ports(forest);
  const auto axes = static_cast<int>(plan.sizes.size());
  const std::size_t edges = forest.edges.size();
  std::vector<std::uint32_t> last(ports.count, kNone);  // send through the port
  std::vector<std::uint32_t> sent(edges * static_cast<std::size_t>(pieces), kNone);
  const auto slot = [&](std::uint32_t edge, int piece) -> std::uint32_t& {
    return sent[static_cast<std::size_t>(piece) * edges + edge];
  };
  each_passage(forest, pieces, [&](const Passage& p) {
    const TreeEdge& edge = forest.edges[p.edge];
    Send send{
        .from = edge.from, .to = edge.to, .chunks = plan.whole(p.piece * forest.trees + edge.tree)};
    send.share = plan.share_of(send.chunks);
    send.hop_along(edge.hop.axis, edge.hop.direction);
    // Along unlike axes a slot takes unlike times.
    send.phase = p.slot * axes + std::max(0, edge.hop.axis);
    const std::uint32_t before = ports.before[p.edge];
    std::vector<std::uint32_t> waits = {last[ports.out[p.edge]], last[ports.in[p.edge]],
                                        before == kNone ? kNone : slot(before, p.piece)};
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::erase(waits, kNone);
    const std::uint32_t index = plan.add(send, waits);
    last[ports.out[p.edge]] = last[ports.in[p.edge]] = slot(p.edge, p.piece) = index;
  });
  return plan;
}

int makespan_in_slots(const Forest& forest, int pieces) {
  // Once both trees have come to every rank, a further piece takes a further period.
  const int kept = std::min(pieces, forest.slots() / 2 + 2);
  const Ports ports(forest);
  const std::size_t edges = forest.edges.size();
  std::vector<int> free(ports.count, 0);
  std::vector<int> done(edges * static_cast<std::size_t>(kept), 0);
  int end = 0;
  each_passage(forest, kept, [&](const Passage& p) {
    const std::size_t row = static_cast<std::size_t>(p.piece) * edges;
    const std::uint32_t before = ports.before[p.edge];
    int now = std::max(free[ports.out[p.edge]], free[ports.in[p.edge]]);
    if (before != kNone) now = std::max(now, done[row + before]);
    free[ports.out[p.edge]] = free[ports.in[p.edge]] = done[row + p.edge] = now + 1;
    end = std::max(end, now + 1);
  });
  return end + forest.period * (pieces - kept);
}

}  // namespace shardsim
