#include "plan/routed_load.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

RoutedLoads::RoutedLoads(const GroupNet& net)
    : net_(net), cluster_(*net.graph), router_(*net.graph) {
  const std::vector<int>& axes = net.axes.front().axes;
  for (const int a : axes) sizes_.push_back(cluster_.axes[static_cast<std::size_t>(a)].size);
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(cluster_.devices()); ++d) {
    const std::vector<int> at = cluster_.coordinates(DeviceId{d});
    const bool first = std::all_of(axes.begin(), axes.end(),
                                   [&](int a) { return at[static_cast<std::size_t>(a)] == 0; });
    if (first) bases_.push_back(DeviceId{d});
  }
}

DeviceId RoutedLoads::device(DeviceId base, int rank) const {
  std::vector<int> at = cluster_.coordinates(base);
  const std::vector<int> in_group = rank_coordinates(sizes_, rank);
  const std::vector<int>& axes = net_.axes.front().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) at[static_cast<std::size_t>(axes[i])] = in_group[i];
  return cluster_.device(at);
}

RoutedLoad RoutedLoads::of(std::span<const Message> messages) {
  RoutedLoad load{std::vector<Seconds>(cluster_.cables.size()), {}, {}, {}, true};
  std::vector<Route> taken;
  for (const DeviceId base : bases_) {
    for (const auto& [from, to] : messages) {
      for (Route& route : router_.routes(device(base, from), device(base, to))) {
        for (const LinkId link : route.links) {
          load.links[static_cast<std::size_t>(link)] +=
              route.share * (Bytes{1} / cluster_.bandwidth(link));
        }
        load.nearest = taken.empty() ? route.latency : std::min(load.nearest, route.latency);
        load.farthest = std::max(load.farthest, route.latency);
        taken.push_back(std::move(route));
      }
    }
  }
  for (const Seconds s : load.links) load.busiest = std::max(load.busiest, s);
  load.alike = load.nearest == load.farthest &&
               std::all_of(taken.begin(), taken.end(), [&](const Route& route) {
                 return std::any_of(route.links.begin(), route.links.end(), [&](LinkId link) {
                   return load.links[static_cast<std::size_t>(link)] >= load.busiest * (1 - 1e-12);
                 });
               });
  return load;
}

RoutedLoad RoutedLoads::of_displacement(int displacement) {
  std::vector<Message> messages;
  const int ranks = net_.ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    messages.emplace_back(rank, ((rank + displacement) % ranks + ranks) % ranks);
  }
  return of(messages);
}

double RoutedLoads::mean_paths(Pairs pairs) {
  constexpr int kMostDestinations = 64;
  constexpr double kGolden = 0.6180339887498949;  // its multiples modulo 1 fall between each other
                                                  // (Weyl sequence): no stride of leaves is met
  const int ranks = net_.ranks();
  const auto all = static_cast<double>(bases_.size()) * ranks;
  const int taken = static_cast<int>(std::min<double>(all, kMostDestinations));
  double paths = 0, messages = 0;
  for (int i = 0; i < taken; ++i) {
    const double place =
        taken < kMostDestinations ? i : all * (i * kGolden - std::floor(i * kGolden));
    const auto at = static_cast<std::size_t>(place);
    const DeviceId base = bases_[at / static_cast<std::size_t>(ranks)];
    const int to = static_cast<int>(at % static_cast<std::size_t>(ranks));
    for (int from = 0; from < ranks; ++from) {
      const bool meant = pairs == Pairs::any ? from != to : (from + 1) % ranks == to;
      if (!meant) continue;
      paths += router_.split(device(base, from), device(base, to));
      ++messages;
    }
  }
  return paths / messages;
}

StepTime neighbour_step(const GroupNet& net, Bytes bytes, std::initializer_list<int> directions) {
  const GroupAxis& axis = net.axes.front();
  if (net.graph == nullptr) return {axis.latency + bytes / axis.w1, true};
  std::vector<RoutedLoads::Message> messages;
  for (const int d : directions) {
    for (int rank = 0; rank < axis.size; ++rank) {
      messages.emplace_back(rank, (rank + d + axis.size) % axis.size);
    }
  }
  const RoutedLoad load = RoutedLoads(net).of(messages);
  return {load.farthest + (bytes / Bytes{1}) * load.busiest, load.alike};
}

}  // namespace shardsim
