#include "plan/graph_paths.h"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/must.h"
#include "plan/routes.h"

namespace shardsim {

namespace {

// Towards one node: links from every node (-1: no way), and how many shortest paths.
struct Towards {
  std::vector<int> hops;
  std::vector<double> paths;
  std::vector<std::uint32_t> next;  // [nodes] the first edge on one of them
};

struct Edge {
  std::uint32_t from, to;
  LinkId link;
};

// The links of a level that join nodes and are not missing, by the node that they leave, in the
// order of their ids: ports in their order, so that translations keep it. A graph is one level.
std::vector<Edge> edges_of(const Cluster& cluster, int level) {
  std::vector<Edge> edges;
  for (std::uint32_t id = 0; id < cluster.link_count(); ++id) {
    const bool cable = id >= cluster.port_links();
    const auto its_level = [&](const Port& port) {
      return cluster.axes[static_cast<std::size_t>(port.axis)].level;
    };
    if (!cable && its_level(cluster.port(LinkId{id})) != level) continue;
    const auto nodes = ends(cluster, LinkId{id});
    if (nodes && !cluster.missing(LinkId{id}))
      edges.push_back({nodes->first, nodes->second, LinkId{id}});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.from < b.from; });
  return edges;
}

using Search =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

Search search_graph(const std::vector<Edge>& edges, std::size_t nodes, bool backwards) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Edge& e : edges)
    pairs.emplace_back(backwards ? e.to : e.from, backwards ? e.from : e.to);
  return {boost::edges_are_unsorted_multi_pass, pairs.begin(), pairs.end(),
          static_cast<std::uint32_t>(nodes)};
}

// Links from the root to every node; -1: no way.
std::vector<int> hops_from(const Search& graph, std::uint32_t root) {
  std::vector<int> hops(boost::num_vertices(graph), -1);
  hops[root] = 0;
  const auto recorder = boost::record_distances(hops.data(), boost::on_tree_edge());
  boost::breadth_first_search(graph, root, boost::visitor(boost::make_bfs_visitor(recorder)));
  return hops;
}

std::size_t node_count(const Cluster& cluster) {
  return static_cast<std::size_t>(cluster.devices()) + cluster.switches.size();
}

}  // namespace

struct GraphPaths::Graph {
  Graph(const Cluster& cluster, int level)
      : edges(edges_of(cluster, level)), backwards(search_graph(edges, node_count(cluster), true)) {
    first.assign(node_count(cluster) + 1, 0);
    for (const Edge& e : edges) ++first[e.from + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
  }

  const Towards& towards(std::uint32_t node) {
    const auto [at, fresh] = known.try_emplace(node);
    Towards& t = at->second;
    if (!fresh) return t;
    t.hops = hops_from(backwards, node);
    t.paths.assign(t.hops.size(), 0.0);
    t.paths[node] = 1;
    t.next.assign(t.hops.size(), 0);
    std::vector<std::uint32_t> order(t.hops.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return t.hops[a] < t.hops[b]; });
    for (const std::uint32_t v : order) {
      for (std::uint32_t e = first[v + 1]; t.hops[v] > 0 && e-- > first[v];) {
        if (t.hops[edges[e].to] != t.hops[v] - 1) continue;
        t.paths[v] += t.paths[edges[e].to];
        t.next[v] = e;
      }
    }
    return t;
  }

  // The shortest path of that rank, in the order of their links.
  std::vector<LinkId> path(std::uint32_t from, const Towards& t, double rank) const {
    std::vector<LinkId> links;
    while (t.hops[from] > 0) {
      std::uint32_t taken = 0;
      for (std::uint32_t e = t.next[from]; e < first[from + 1]; ++e) {
        if (t.hops[edges[e].to] != t.hops[from] - 1) continue;
        taken = e;
        if (rank < t.paths[edges[e].to]) break;
        rank -= t.paths[edges[e].to];
      }
      links.push_back(edges[taken].link);
      from = edges[taken].to;
    }
    return links;
  }

  std::vector<Edge> edges;
  std::vector<std::uint32_t> first;  // [nodes + 1] into edges
  Search backwards;
  std::unordered_map<std::uint32_t, Towards> known;
};

GraphPaths::GraphPaths(const Cluster& cluster, int level)
    : graph_(std::make_unique<Graph>(cluster, level)) {}
GraphPaths::~GraphPaths() = default;

int GraphPaths::count(DeviceId from, DeviceId to, int most) {
  const double paths =
      graph_->towards(static_cast<std::uint32_t>(to)).paths[static_cast<std::size_t>(from)];
  must(paths >= 1, "every device of a cluster reaches every other");
  return static_cast<int>(std::min<double>(paths, most));
}

std::vector<std::vector<LinkId>> GraphPaths::taken(DeviceId from, DeviceId to, int most) {
  const int count_taken = count(from, to, most);
  const Towards& t = graph_->towards(static_cast<std::uint32_t>(to));
  std::vector<std::vector<LinkId>> result;
  result.reserve(static_cast<std::size_t>(count_taken));
  for (int i = 0; i < count_taken; ++i) {
    const double rank =
        std::floor((i + 0.5) * t.paths[static_cast<std::size_t>(from)] / count_taken);
    result.push_back(graph_->path(static_cast<std::uint32_t>(from), t, rank));
  }
  return result;
}

namespace {

// The device in the same place outside the level, in its first place there.
DeviceId first_of(const Cluster& cluster, DeviceId device, int level) {
  std::vector<int> at = cluster.coordinates(device);
  for (std::size_t i = 0; i < at.size(); ++i)
    if (cluster.axes[i].level == level) at[i] = 0;
  return cluster.device(at);
}

}  // namespace

std::optional<std::pair<DeviceId, DeviceId>> unreachable_pair(const Cluster& cluster) {
  const std::size_t nodes = node_count(cluster);
  const auto root = static_cast<std::uint32_t>(nodes);  // leads to the first device of every part
  for (int level = 0; level < static_cast<int>(cluster.levels.size()); ++level) {
    if (!cluster.levels[static_cast<std::size_t>(level)].up.empty()) continue;
    for (const bool backwards : {false, true}) {
      std::vector<Edge> edges = edges_of(cluster, level);
      if (backwards)
        for (Edge& e : edges) std::swap(e.from, e.to);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(cluster.devices()); ++d) {
        if (first_of(cluster, DeviceId{d}, level) == DeviceId{d}) edges.push_back({root, d, {}});
      }
      const std::vector<int> hops = hops_from(search_graph(edges, nodes + 1, false), root);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(cluster.devices()); ++d) {
        if (hops[d] >= 0) continue;
        const DeviceId first = first_of(cluster, DeviceId{d}, level);
        return backwards ? std::pair{DeviceId{d}, first} : std::pair{first, DeviceId{d}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace shardsim
