#include "plan/routes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/must.h"
#include "plan/graph_paths.h"

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

}  // namespace

int nic_level(const Cluster& cluster, int level) {
  const std::vector<int>& up = cluster.levels[static_cast<std::size_t>(level)].up;
  if (up.empty()) return level;
  const Port& first = cluster.ports[static_cast<std::size_t>(up.front())];
  return cluster.axes[static_cast<std::size_t>(first.axis)].level;
}

namespace {

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

bool broken(const Cluster& cluster, const std::vector<Route>& all) {
  if (cluster.changed.empty()) return false;
  return std::any_of(all.begin(), all.end(), [&](const Route& route) {
    return std::any_of(route.links.begin(), route.links.end(),
                       [&](LinkId link) { return cluster.missing(link); });
  });
}

}  // namespace

Router::Router(const Cluster& cluster, Walks walks)
    : cluster_(cluster),
      walks_(cluster.changed.empty() ? walks : Walks::link_by_link),
      graphs_(cluster.levels.size()) {}
Router::~Router() = default;

GraphPaths& Router::graph(int level) {
  std::unique_ptr<GraphPaths>& made = graphs_[static_cast<std::size_t>(level)];
  if (!made) made = std::make_unique<GraphPaths>(cluster_, level);
  return *made;
}

std::vector<Route> Router::shortest(int level, DeviceId from, DeviceId to, int most) {
  std::vector<Route> result;
  for (std::vector<LinkId>& links : graph(level).taken(from, to, most)) {
    Route route{1.0, std::move(links), {}};
    for (const LinkId link : route.links) route.latency += cluster_.latency(link);
    result.push_back(std::move(route));
  }
  for (Route& route : result) route.share = 1.0 / static_cast<double>(result.size());
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
  // First to the right position inside, below the NICs, then across.
  Coordinates inside = at;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (cluster.axes[i].level < nic_level(cluster, l)) inside[i] = target[i];
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
  return on_graph() ? graph(0).count(from, to, kMostPaths)
                    : static_cast<int>(routes(from, to).size());
}

std::vector<Route> Router::neighbour(DeviceId from, DeviceId to, int axis, int direction) {
  if (on_graph()) return shortest(0, from, to, kMostPaths);
  std::vector<Route> regular = {hop(cluster_, from, to, axis, direction)};
  const int level = cluster_.axes[static_cast<std::size_t>(axis)].level;
  return broken(cluster_, regular) ? shortest(level, from, to, kMostDetours) : regular;
}

std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to) {
  return Router(cluster).routes(from, to);
}

Route hop(const Cluster& cluster, DeviceId from, DeviceId to, int axis, int direction) {
  const Axis& along = cluster.axes[static_cast<std::size_t>(axis)];
  if (along.wiring == Wiring::star || along.wiring == Wiring::full_mesh)
    return routes(cluster, from, to).front();
  return walk(cluster, cluster.coordinates(from), cluster.parts_of(axis), direction * along.stride);
}

Route through_switch(const Cluster& cluster, DeviceId device, int axis) {
  const Axis& on = cluster.axes[static_cast<std::size_t>(axis)];
  must(on.wiring == Wiring::star, "only a switch sends back");
  const std::vector<int> at = cluster.coordinates(device);
  return through_switch(cluster, cluster.levels[static_cast<std::size_t>(on.level)], at, at);
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
