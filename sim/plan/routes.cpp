#include "plan/routes.h"

#include <array>

#include "base/must.h"

namespace shardsim {

namespace {

// The ways along one axis: signed hops, and the share of the message on each.
struct Way {
  double share;
  int hops;
};

std::vector<Way> ways(const Axis& axis, int from, int to) {
  const int forward = (to - from + axis.size) % axis.size;
  const int back = axis.size - forward;
  if (forward == 0) return {{1.0, 0}};
  if (axis.wiring != Wiring::ring || forward < back) return {{1.0, forward}};
  if (back < forward) return {{1.0, -back}};
  return {{0.5, forward}, {0.5, -back}};
}

void walk(const Cluster& cluster, std::vector<int>& at, int axis, int hop_count, Route& route) {
  const int direction = hop_count < 0 ? -1 : 1;
  const int port = cluster.port_of(axis, direction);
  const auto i = static_cast<std::size_t>(axis);
  const int size = cluster.axes[i].size;
  for (int h = 0; h != hop_count; h += direction) {
    route.links.push_back(cluster.link(cluster.device(at), port));
    route.latency += cluster.ports[static_cast<std::size_t>(port)].latency;
    at[i] = (at[i] + direction + size) % size;
  }
}

}  // namespace

std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to) {
  must(from != to, "a route leads to another device");
  if (cluster.axes[0].wiring == Wiring::star) {
    return {Route{1.0, {cluster.link(from, 0), cluster.link(to, 1)}, cluster.ports[0].latency}};
  }
  const std::vector<int> source = cluster.coordinates(from);
  const std::vector<int> target = cluster.coordinates(to);
  std::vector<std::vector<Way>> choices;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < source.size(); ++i) {
    choices.push_back(ways(cluster.axes[i], source[i], target[i]));
    combinations *= choices.back().size();
  }
  std::vector<Route> result;
  for (std::size_t c = 0; c < combinations; ++c) {
    Route route;
    std::vector<int> at = source;
    std::size_t rest = c;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const Way& way = choices[i][rest % choices[i].size()];
      rest /= choices[i].size();
      route.share *= way.share;
      walk(cluster, at, static_cast<int>(i), way.hops, route);
    }
    result.push_back(std::move(route));
  }
  return result;
}

Route hop(const Cluster& cluster, DeviceId from, int axis, int direction) {
  Route route;
  std::vector<int> at = cluster.coordinates(from);
  walk(cluster, at, axis, direction, route);
  return route;
}

}  // namespace shardsim
