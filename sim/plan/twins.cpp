#include "plan/twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plan/graph_paths.h"
#include "plan/routes.h"

namespace shardsim {

namespace {

// A link as one of its nodes sees it: the other node, whether it leads there, its figures.
using Tie = std::tuple<std::uint32_t, bool, double, double>;
using Ties = std::vector<Tie>;

constexpr std::size_t kMostKinds = 256;  // of devices, each pair of which is looked at

LinkId cable_id(const Cluster& cluster, std::size_t index) {
  return LinkId{static_cast<std::uint32_t>(cluster.port_links() + index)};
}

std::vector<Ties> ties_of(const Cluster& cluster) {
  std::vector<Ties> ties(static_cast<std::size_t>(cluster.devices()) + cluster.switches.size());
  for (std::size_t i = 0; i < cluster.cables.size(); ++i) {
    const LinkChange is = cluster.figures(cable_id(cluster, i));
    if (is.missing) continue;
    const NodeLink& cable = cluster.cables[i];
    const double w1 = is.bandwidth / BytesPerSec{1}, latency = is.latency / Seconds{1};
    ties[cable.from].emplace_back(cable.to, true, w1, latency);
    ties[cable.to].emplace_back(cable.from, false, w1, latency);
  }
  for (Ties& its : ties) std::sort(its.begin(), its.end());
  return ties;
}

// [nodes] the first node with the same links, among devices or among switches.
std::vector<std::uint32_t> first_alike(const Cluster& cluster) {
  const std::vector<Ties> ties = ties_of(cluster);
  const auto devices = static_cast<std::uint32_t>(cluster.devices());
  std::map<std::pair<bool, Ties>, std::uint32_t> seen;
  std::vector<std::uint32_t> first;
  for (std::uint32_t node = 0; node < ties.size(); ++node)
    first.push_back(seen.try_emplace({node < devices, ties[node]}, node).first->second);
  return first;
}

// Whether every path between two devices of `made` stands for as many as the others, and all of
// them are taken. Devices with the same links have as many paths as each other: two of each kind
// are enough. `first`: of the devices; `alike`: [nodes of made] how many nodes each stands for.
bool even_splits(const Cluster& made, const std::vector<std::uint32_t>& first,
                 const std::vector<int>& alike) {
  std::map<std::uint32_t, int> met;
  std::vector<DeviceId> some;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(made.devices()); ++d)
    if (met[first[d]]++ < 2) some.push_back(DeviceId{d});
  if (some.size() > kMostKinds) return false;
  GraphPaths paths(made, 0);
  const auto stands_for = [&](const std::vector<LinkId>& path) {
    double n = 1;
    for (const LinkId link : path) n *= alike[ends(made, link)->second];
    return n;
  };
  const auto even = [&](DeviceId from, DeviceId to) {
    const int count = paths.count(from, to, kMostPaths + 1);
    if (count > kMostPaths) return false;
    const std::vector<std::vector<LinkId>> all = paths.taken(from, to, count);
    const double each = stands_for(all.front());
    return each * count <= kMostPaths &&
           std::all_of(all.begin(), all.end(),
                       [&](const std::vector<LinkId>& path) { return stands_for(path) == each; });
  };
  return std::all_of(some.begin(), some.end(), [&](DeviceId to) {
    return std::all_of(some.begin(), some.end(),
                       [&](DeviceId from) { return from == to || even(from, to); });
  });
}

}  // namespace

TwinsAsOne twins_as_one(const Cluster& cluster) {
  const auto devices = static_cast<std::uint32_t>(cluster.devices());
  if (cluster.switches.size() < 2) return {cluster, {}};
  const std::vector<std::uint32_t> first = first_alike(cluster);
  std::vector<int> alike(first.size(), 0);
  for (const std::uint32_t node : first) ++alike[node];
  const bool twins = std::any_of(alike.begin() + devices, alike.end(), [](int n) { return n > 1; });
  if (!twins) return {cluster, {}};

  TwinsAsOne one{cluster, {}};
  Cluster& made = one.cluster;
  made.switches.clear();
  made.cables.clear();
  made.changed.clear();
  std::vector<std::uint32_t> number(first.size());  // of the nodes that stay
  std::vector<int> stand_for(devices, 1);           // [nodes of made]
  for (std::uint32_t node = 0; node < first.size(); ++node) {
    if (node < devices) alike[node] = 1;
    if (node >= devices && first[node] != node) continue;
    number[node] =
        node < devices ? node : devices + static_cast<std::uint32_t>(made.switches.size());
    if (node < devices) continue;
    stand_for.push_back(alike[node]);
    const std::string& name = cluster.switches[node - devices];
    made.switches.push_back(alike[node] == 1 ? name : fmt::format("{} like {}", alike[node], name));
    if (alike[node] > 1) one.said.push_back(made.switches.back());
  }
  const auto stays = [&](std::uint32_t node) { return node < devices || first[node] == node; };
  for (std::size_t i = 0; i < cluster.cables.size(); ++i) {
    NodeLink cable = cluster.cables[i];
    if (!stays(cable.from) || !stays(cable.to)) continue;
    const double together = static_cast<double>(alike[cable.from]) * alike[cable.to];
    const auto change = cluster.changed.find(cable_id(cluster, i));
    if (change != cluster.changed.end()) {
      LinkChange is = change->second;
      is.bandwidth = is.bandwidth * together;
      made.changed.emplace(cable_id(made, made.cables.size()), is);
    }
    cable.from = number[cable.from];
    cable.to = number[cable.to];
    cable.bandwidth = cable.bandwidth * together;
    made.cables.push_back(cable);
  }
  if (!even_splits(made, first, stand_for)) return {cluster, {}};
  return one;
}

}  // namespace shardsim
