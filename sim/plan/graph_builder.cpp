#include "plan/graph_builder.h"

#include <algorithm>

namespace shardsim {

GraphBuilder::GraphBuilder(const Cluster& cluster, const Fold& fold)
    : cluster_(cluster), fold_(fold) {
  const std::vector<DeviceId> devices = fold.representatives(cluster);
  graph_.device_classes = static_cast<std::uint32_t>(devices.size());
  graph_.links.reserve(devices.size() * cluster.ports.size());
  std::uint32_t owner = 0;
  for (const DeviceId device : devices) {
    for (std::size_t p = 0; p < cluster.ports.size(); ++p) {
      const LinkId link = cluster.link(device, static_cast<int>(p));
      add_link(link, devices.size() == 1 ? cluster.ports[p].name : cluster.link_name(link),
               fold.stabiliser(cluster, cluster.ports[p]), owner);
    }
    ++owner;
  }
  for (std::size_t i = 0; i < cluster.cables.size(); ++i) {
    const LinkId link{static_cast<std::uint32_t>(cluster.port_links() + i)};
    add_link(link, cluster.link_name(link), 1, cluster.cables[i].from);
  }
}

// A missing link keeps its place; no route passes it.
void GraphBuilder::add_link(LinkId link, std::string name, int carries, std::uint32_t owner) {
  const LinkChange is = cluster_.figures(link);
  graph_.links.push_back(
      {is.missing ? name + " (missing)" : std::move(name), is.bandwidth / carries, owner});
}

std::uint32_t GraphBuilder::link_index(LinkId link) const {
  return fold_.orbit_of(cluster_, link);
}

std::size_t GraphBuilder::RouteHash::operator()(const std::vector<std::uint32_t>& links) const {
  std::size_t h = 14695981039346656037ull;  // FNV-1a over words
  for (const std::uint32_t l : links) h = (h ^ l) * 1099511628211ull;
  return h;
}

RouteId GraphBuilder::route(std::vector<std::uint32_t> links) {
  std::sort(links.begin(), links.end());
  const auto next = static_cast<std::uint32_t>(graph_.route_offset.size() - 1);
  const auto [at, fresh] = routes_.try_emplace(std::move(links), RouteId{next});
  if (fresh) {
    graph_.route_links.insert(graph_.route_links.end(), at->first.begin(), at->first.end());
    graph_.route_offset.push_back(static_cast<std::uint32_t>(graph_.route_links.size()));
  }
  return at->second;
}

std::uint32_t GraphBuilder::origin(Origin origin) {
  graph_.origins.push_back(std::move(origin));
  return static_cast<std::uint32_t>(graph_.origins.size() - 1);
}

void GraphBuilder::reserve(std::size_t ops, std::size_t waits) {
  const auto grow = [](auto& vector, std::size_t more) {
    // Doubling, so that many small requests stay linear.
    if (vector.capacity() < vector.size() + more)
      vector.reserve(std::max(vector.size() + more, 2 * vector.size()));
  };
  grow(graph_.ops, ops);
  grow(graph_.dep_offset, ops);
  grow(graph_.deps, waits);
}

OpId GraphBuilder::add(const Op& op, std::span<const OpId> waits) {
  graph_.ops.push_back(op);
  graph_.deps.insert(graph_.deps.end(), waits.begin(), waits.end());
  graph_.dep_offset.push_back(static_cast<std::uint32_t>(graph_.deps.size()));
  return OpId{static_cast<std::uint32_t>(graph_.ops.size() - 1)};
}

OpId GraphBuilder::join(std::vector<OpId> waits, std::uint32_t device, std::uint32_t origin_) {
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  Op op;
  op.kind = OpKind::join;
  op.device = device;
  op.origin = origin_;
  return add(op, waits);
}

std::uint32_t GraphBuilder::phases(std::uint32_t count) {
  const std::uint32_t first = graph_.phases;
  graph_.phases += count;
  return first;
}

}  // namespace shardsim
