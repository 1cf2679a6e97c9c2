#include "plan/routes.h"

#include <algorithm>
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
    route.latency += cluster.ports[static_cast<std::size_t>(port)].latency;
    step(cluster, parts, direction, at);
  }
  return route;
}

Route cable(const Cluster& cluster, const Coordinates& at, int axis, int displacement) {
  const int stride = cluster.axes[static_cast<std::size_t>(axis)].stride;
  must(displacement % stride == 0, "a cable of a full mesh joins two devices of the axis");
  const int port = cluster.port_of(axis, displacement / stride);
  return {1.0,
          {cluster.link(cluster.device(at), port)},
          cluster.ports[static_cast<std::size_t>(port)].latency};
}

Route through_switch(const Cluster& cluster, const Level& level, const Coordinates& from,
                     const Coordinates& to) {
  Route route;
  for (const int port : level.up) route.links.push_back(cluster.link(cluster.device(from), port));
  for (std::size_t i = level.down.size(); i-- > 0;) {
    route.links.push_back(cluster.link(cluster.device(to), level.down[i]));
  }
  route.latency = level.latency;
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
      result.push_back(std::move(route));
    }
  }
  return result;
}

// Position along a hardware axis.
int position(const Cluster& cluster, std::pair<int, int> parts, const Coordinates& at) {
  int p = 0;
  for (int i = parts.first; i < parts.second; ++i) {
    p = p * cluster.axes[static_cast<std::size_t>(i)].size + at[static_cast<std::size_t>(i)];
  }
  return p;
}

// Routes along one hardware axis, and `at` moved to the end of them; empty: nothing to do.
std::vector<Route> along(const Cluster& cluster, std::pair<int, int> parts,
                         const Coordinates& target, Coordinates& at) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(parts.second - 1)];
  const int from = position(cluster, parts, at);
  const int to = position(cluster, parts, target);
  if (from == to) return {};
  std::vector<Route> result;
  if (axis.wiring == Wiring::full_mesh) {
    result.push_back(cable(cluster, at, parts.second - 1, to - from));
  } else {
    for (const Way& way : ways(axis, cluster.span_of(parts.first), from, to)) {
      result.push_back(walk(cluster, at, parts, way.hops));
      result.back().share = way.share;
    }
  }
  for (int i = parts.first; i < parts.second; ++i) {
    at[static_cast<std::size_t>(i)] = target[static_cast<std::size_t>(i)];
  }
  return result;
}

// From `at` to `target`, which differ in no axis outside level `outermost`.
std::vector<Route> within(const Cluster& cluster, int outermost, Coordinates at,
                          const Coordinates& target) {
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
  std::vector<Route> result = within(cluster, l - 1, at, inside);
  if (result.empty()) result.push_back({});
  if (!level.up.empty()) {
    return joined(result, {through_switch(cluster, level, inside, target)});
  }
  for (int i = 0; i < static_cast<int>(at.size());) {
    const std::pair<int, int> parts = cluster.parts_of(i);
    if (cluster.axes[static_cast<std::size_t>(i)].level == l) {
      const std::vector<Route> next = along(cluster, parts, target, inside);
      if (!next.empty()) result = joined(result, next);
    }
    i = parts.second;
  }
  return result;
}

// Up one port and down the other; the switch charges its latency once.

}  // namespace

std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to) {
  must(from != to, "a route leads to another device");
  return within(cluster, static_cast<int>(cluster.levels.size()) - 1, cluster.coordinates(from),
                cluster.coordinates(to));
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

}  // namespace shardsim
