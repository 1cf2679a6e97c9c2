#include "plan/routes.h"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/must.h"

namespace shardsim {

namespace {

using Coordinates = std::vector<int>;

// The ways along one hardware axis: signed hops, and the share of the message on each.
struct Way {
  double share;
  int hops;
};

std::vector<Way> ways(const Axis& axis, int span, int from, int to) {
  const int forward = (to - from + span) % span;
  const int back = span - forward;
  if (forward == 0) return {};
  switch (axis.wiring) {
    case Wiring::line:
      return {{1.0, to - from}};
    case Wiring::ring:
      if (forward == back) return {{0.5, forward}, {0.5, -back}};
      return {{1.0, forward < back ? forward : -back}};
    case Wiring::ring_oneway:
    case Wiring::pair:
      return {{1.0, forward}};
    case Wiring::star:
    case Wiring::full_mesh:
    case Wiring::graph:
      break;
  }
  must(false, "a switch and a full mesh have no neighbours to pass");
  return {};
}

// One hop along the hardware axis of parts [first, last): carries from part to part.
void step(const Cluster& cluster, std::pair<int, int> parts, int direction, Coordinates& at) {
  for (int i = parts.second; i-- > parts.first;) {
    const int size = cluster.axes[static_cast<std::size_t>(i)].size;
    int& c = at[static_cast<std::size_t>(i)];
    c += direction;
    if (c >= 0 && c < size) return;
    c = (c + size) % size;
  }
}

Route walk(const Cluster& cluster, Coordinates at, std::pair<int, int> parts, int hops) {
  Route route;
  const int direction = hops < 0 ? -1 : 1;
  const int port = cluster.port_of(parts.second - 1, direction);
  for (int h = 0; h != hops; h += direction) {
    route.links.push_back(cluster.link(cluster.device(at), port));
    route.latency += cluster.latency(route.links.back());
    step(cluster, parts, direction, at);
  }
  return route;
}

// Position along a hardware axis.
int position(const Cluster& cluster, std::pair<int, int> parts, const Coordinates& at) {
  int p = 0;
  for (int i = parts.first; i < parts.second; ++i) {
    p = p * cluster.axes[static_cast<std::size_t>(i)].size + at[static_cast<std::size_t>(i)];
  }
  return p;
}

void set_position(const Cluster& cluster, std::pair<int, int> parts, int position,
                  Coordinates& at) {
  for (int i = parts.second; i-- > parts.first;) {
    const int size = cluster.axes[static_cast<std::size_t>(i)].size;
    at[static_cast<std::size_t>(i)] = position % size;
    position /= size;
  }
}

// The same as walk(), up to the wrap and from there. REQUIRES: no single link differs.
Route stretch(const Cluster& cluster, Coordinates at, std::pair<int, int> parts, int hops) {
  const int port = cluster.port_of(parts.second - 1, hops < 0 ? -1 : 1);
  const int links = std::abs(hops);
  const int span = cluster.span_of(parts.first);
  const int from = position(cluster, parts, at);
  const int to_end = hops < 0 ? from + 1 : span - from;
  Route route;
  route.latency = links * cluster.ports[static_cast<std::size_t>(port)].latency;
  const LinkId first = cluster.link(cluster.device(at), port);
  route.stretches.push_back({first, std::min(links, to_end)});
  if (links <= to_end) return route;
  set_position(cluster, parts, hops < 0 ? span - 1 : 0, at);
  route.stretches.push_back({cluster.link(cluster.device(at), port), links - to_end});
  return route;
}

Route through_switch(const Cluster& cluster, const Level& level, const Coordinates& from,
                     const Coordinates& to) {
  Route route;
  for (const int port : level.up) route.links.push_back(cluster.link(cluster.device(from), port));
  for (std::size_t i = level.down.size(); i-- > 0;) {
    route.links.push_back(cluster.link(cluster.device(to), level.down[i]));
  }
  route.latency = level.latency;
  for (const LinkId link : route.links) {
    route.latency += cluster.latency(link) - cluster.port(link).latency;
  }
  return route;
}

// Every way of `first` followed by every way of `then`.
std::vector<Route> joined(const std::vector<Route>& first, const std::vector<Route>& then) {
  std::vector<Route> result;
  for (const Route& next : then) {
    for (const Route& before : first) {
      Route route = before;
      route.share *= next.share;
      route.latency += next.latency;
      route.links.insert(route.links.end(), next.links.begin(), next.links.end());
      route.stretches.insert(route.stretches.end(), next.stretches.begin(), next.stretches.end());
      result.push_back(std::move(route));
    }
  }
  return result;
}

// Routes along one hardware axis, and `at` moved to the end of them; empty: nothing to do.
std::vector<Route> along(const Cluster& cluster, std::pair<int, int> parts,
                         const Coordinates& target, Walks walks, Coordinates& at) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(parts.second - 1)];
  const int from = position(cluster, parts, at);
  const int to = position(cluster, parts, target);
  if (from == to) return {};
  std::vector<Route> result;
  if (axis.wiring == Wiring::full_mesh) {
    const LinkId cable =
        cluster.link(cluster.device(at), cluster.port_of(parts.second - 1, to - from));
    result.push_back({1.0, {cable}, cluster.latency(cable)});
  } else {
    for (const Way& way : ways(axis, cluster.span_of(parts.first), from, to)) {
      result.push_back(walks == Walks::in_stretches ? stretch(cluster, at, parts, way.hops)
                                                    : walk(cluster, at, parts, way.hops));
      result.back().share = way.share;
    }
  }
  set_position(cluster, parts, to, at);
  return result;
}

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

bool broken(const Cluster& cluster, const std::vector<Route>& all) {
  if (cluster.changed.empty()) return false;
  return std::any_of(all.begin(), all.end(), [&](const Route& route) {
    return std::any_of(route.links.begin(), route.links.end(),
                       [&](LinkId link) { return cluster.missing(link); });
  });
}

}  // namespace

struct Router::Graph {
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

Router::Router(const Cluster& cluster, Walks walks)
    : cluster_(cluster),
      walks_(cluster.changed.empty() ? walks : Walks::link_by_link),
      graphs_(cluster.levels.size()) {}
Router::~Router() = default;

Router::Graph& Router::graph(int level) {
  std::unique_ptr<Graph>& made = graphs_[static_cast<std::size_t>(level)];
  if (!made) made = std::make_unique<Graph>(cluster_, level);
  return *made;
}

int Router::paths(int level, DeviceId from, DeviceId to, int most) {
  const double paths =
      graph(level).towards(static_cast<std::uint32_t>(to)).paths[static_cast<std::size_t>(from)];
  must(paths >= 1, "every device of a cluster reaches every other");
  return static_cast<int>(std::min<double>(paths, most));
}

std::vector<Route> Router::shortest(int level, DeviceId from, DeviceId to, int most) {
  const int taken = paths(level, from, to, most);
  const Graph& on = graph(level);
  const Towards& t = graph(level).towards(static_cast<std::uint32_t>(to));
  std::vector<Route> result;
  result.reserve(static_cast<std::size_t>(taken));
  for (int i = 0; i < taken; ++i) {
    Route route{1.0 / taken, {}, {}};
    const double rank = std::floor((i + 0.5) * t.paths[static_cast<std::size_t>(from)] / taken);
    route.links = on.path(static_cast<std::uint32_t>(from), t, rank);
    for (const LinkId link : route.links) route.latency += cluster_.latency(link);
    result.push_back(std::move(route));
  }
  return result;
}

std::vector<Route> Router::within(int outermost, std::vector<int> at,
                                  const std::vector<int>& target) {
  const Cluster& cluster = cluster_;
  const auto differs = [&](int level) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (cluster.axes[i].level == level && at[i] != target[i]) return true;
    }
    return false;
  };
  int l = outermost;
  while (l >= 0 && !differs(l)) --l;
  if (l < 0) return {};
  const Level& level = cluster.levels[static_cast<std::size_t>(l)];
  if (!level.up.empty() && !level.rails) {
    return {through_switch(cluster, level, at, target)};
  }
  // First to the right position inside, then across.
  Coordinates inside = at;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (cluster.axes[i].level < l) inside[i] = target[i];
  }
  std::vector<Route> result = within(l - 1, at, inside);
  if (result.empty()) result.push_back({});
  if (!level.up.empty()) {
    return joined(result, {through_switch(cluster, level, inside, target)});
  }
  const DeviceId entry = cluster.device(inside);
  std::vector<Route> across = {{}};
  for (int i = 0; i < static_cast<int>(at.size());) {
    const std::pair<int, int> parts = cluster.parts_of(i);
    if (cluster.axes[static_cast<std::size_t>(i)].level == l) {
      const std::vector<Route> next = along(cluster, parts, target, walks_, inside);
      if (!next.empty()) across = joined(across, next);
    }
    i = parts.second;
  }
  if (broken(cluster, across)) across = shortest(l, entry, cluster.device(target), kMostDetours);
  return joined(result, across);
}

bool Router::on_graph() const {
  return cluster_.axes.front().wiring == Wiring::graph;
}

std::vector<Route> Router::routes(DeviceId from, DeviceId to) {
  must(from != to, "a route leads to another device");
  if (on_graph()) return shortest(0, from, to, kMostPaths);
  return within(static_cast<int>(cluster_.levels.size()) - 1, cluster_.coordinates(from),
                cluster_.coordinates(to));
}

int Router::split(DeviceId from, DeviceId to) {
  return on_graph() ? paths(0, from, to, kMostPaths) : static_cast<int>(routes(from, to).size());
}

std::vector<Route> Router::neighbour(DeviceId from, DeviceId to, int axis, int direction) {
  if (on_graph()) return shortest(0, from, to, kMostPaths);
  std::vector<Route> regular = {hop(cluster_, from, axis, direction)};
  const int level = cluster_.axes[static_cast<std::size_t>(axis)].level;
  return broken(cluster_, regular) ? shortest(level, from, to, kMostDetours) : regular;
}

std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to) {
  return Router(cluster).routes(from, to);
}

Route hop(const Cluster& cluster, DeviceId from, int axis, int direction) {
  const Axis& along = cluster.axes[static_cast<std::size_t>(axis)];
  Coordinates at = cluster.coordinates(from);
  if (along.wiring != Wiring::star && along.wiring != Wiring::full_mesh) {
    return walk(cluster, at, cluster.parts_of(axis), direction * along.stride);
  }
  int& c = at[static_cast<std::size_t>(axis)];
  c = (c + direction + along.size) % along.size;
  return routes(cluster, from, cluster.device(at)).front();
}

Route through_switch(const Cluster& cluster, DeviceId device, int axis) {
  const Axis& on = cluster.axes[static_cast<std::size_t>(axis)];
  must(on.wiring == Wiring::star, "only a switch sends back");
  const std::vector<int> at = cluster.coordinates(device);
  return through_switch(cluster, cluster.levels[static_cast<std::size_t>(on.level)], at, at);
}

namespace {

// The device in the same place outside the level, in its first place there.
DeviceId first_of(const Cluster& cluster, DeviceId device, int level) {
  Coordinates at = cluster.coordinates(device);
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

std::optional<std::pair<std::uint32_t, std::uint32_t>> ends(const Cluster& cluster, LinkId link) {
  const auto id = static_cast<std::size_t>(link);
  if (id >= cluster.port_links()) {
    const NodeLink& cable = cluster.cables[id - cluster.port_links()];
    return std::pair{cable.from, cable.to};
  }
  const Port& port = cluster.port(link);
  const Axis& axis = cluster.axes[static_cast<std::size_t>(port.axis)];
  if (axis.wiring == Wiring::star) return std::nullopt;
  const std::pair<int, int> parts = cluster.parts_of(port.axis);
  const Coordinates from = cluster.coordinates(cluster.owner(link));
  const int here = position(cluster, parts, from);
  const int there = here + port.direction;
  const int span = cluster.span_of(port.axis);
  if (axis.wiring == Wiring::line && (there < 0 || there >= span)) return std::nullopt;
  Coordinates to = from;
  set_position(cluster, parts, (there + span) % span, to);
  return std::pair{static_cast<std::uint32_t>(cluster.owner(link)),
                   static_cast<std::uint32_t>(cluster.device(to))};
}

}  // namespace shardsim
