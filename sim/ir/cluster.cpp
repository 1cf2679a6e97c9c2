#include "ir/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/must.h"
#include "base/same_name.h"

namespace shardsim {

int Cluster::devices() const {
  int n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

LinkId Cluster::link(DeviceId device, int port) const {
  const auto p = static_cast<std::size_t>(port);
  const auto count = static_cast<std::uint32_t>(ports.size());
  if (ports[p].block.empty()) {
    return LinkId{static_cast<std::uint32_t>(device) * count + static_cast<std::uint32_t>(port)};
  }
  std::vector<int> at = coordinates(device);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] -= at[i] % ports[p].block[i];
  return LinkId{static_cast<std::uint32_t>(this->device(at)) * count +
                static_cast<std::uint32_t>(port)};
}

LinkChange Cluster::figures(LinkId link) const {
  const auto at = changed.find(link);
  if (at != changed.end()) return at->second;
  const auto id = static_cast<std::size_t>(link);
  if (id >= port_links()) {
    const NodeLink& cable = cables[id - port_links()];
    return {cable.bandwidth, cable.latency};
  }
  return {port(link).bandwidth, port(link).latency};
}

double Cluster::speed_of(DeviceId device) const {
  const auto at = speed.find(device);
  return at == speed.end() ? 1.0 : at->second;
}

std::string Cluster::node_name(std::uint32_t node) const {
  const auto count = static_cast<std::uint32_t>(devices());
  return node < count ? std::to_string(node) : switches[node - count];
}

std::string Cluster::node_place(std::uint32_t node) const {
  const bool named = axes.size() < 2 || node >= static_cast<std::uint32_t>(devices());
  if (named) return node_name(node);
  return fmt::format("{} ({})", node_name(node), fmt::join(coordinates(DeviceId{node}), ","));
}

DeviceId Cluster::owner(LinkId link) const {
  return DeviceId{static_cast<std::uint32_t>(link) / static_cast<std::uint32_t>(ports.size())};
}

const Port& Cluster::port(LinkId link) const {
  return ports[static_cast<std::uint32_t>(link) % ports.size()];
}

int Cluster::port_of(int axis, int direction) const {
  const Axis& along = axes[static_cast<std::size_t>(axis)];
  if (along.wiring == Wiring::star) {
    return levels[static_cast<std::size_t>(along.level)].up.front();
  }
  must(direction > 0 || along.wiring != Wiring::ring_oneway, "a one-way ring has no way back");
  if (along.wiring == Wiring::pair) direction = 1;
  if (along.wiring == Wiring::full_mesh) {
    const int span = span_of(axis);
    direction = (direction * along.stride % span + span) % span;
  }
  const auto own = std::find_if(ports.begin(), ports.end(), [&](const Port& port) {
    return axes[static_cast<std::size_t>(port.axis)].hardware == along.hardware;
  });
  // Ports of a full mesh stand in the order of their displacements 1, 2, ...; those of a grid, +
  // and -.
  const auto port = own + (direction > 0 ? direction - 1 : 1);
  must(port < ports.end() && port->direction == direction,
       "every axis that is not a star owns a port");
  return static_cast<int>(port - ports.begin());
}

int Cluster::sharers(const Port& port) const {
  int n = 1;
  for (const int b : port.block) n *= b;
  return n;
}

std::pair<int, int> Cluster::parts_of(int axis) const {
  const auto same = [&](int i) {
    return axes[static_cast<std::size_t>(i)].hardware ==
           axes[static_cast<std::size_t>(axis)].hardware;
  };
  int first = axis, last = axis + 1;
  while (first > 0 && same(first - 1)) --first;
  while (last < static_cast<int>(axes.size()) && same(last)) ++last;
  return {first, last};
}

int Cluster::span_of(int axis) const {
  const auto [first, last] = parts_of(axis);
  int span = 1;
  for (int i = first; i < last; ++i) span *= axes[static_cast<std::size_t>(i)].size;
  return span;
}

bool Cluster::wraps(int axis) const {
  const Axis& a = axes[static_cast<std::size_t>(axis)];
  if (a.wiring == Wiring::pair || a.wiring == Wiring::line || a.wiring == Wiring::graph)
    return false;
  return a.wiring == Wiring::star || a.stride * a.size == span_of(axis);
}

bool Cluster::uniform(int axis) const {
  return axes[static_cast<std::size_t>(axis)].wiring == Wiring::pair || wraps(axis);
}

std::string Cluster::link_name(LinkId link) const {
  if (static_cast<std::size_t>(link) >= port_links()) {
    const NodeLink& cable = cables[static_cast<std::size_t>(link) - port_links()];
    return fmt::format("{} to {}", node_name(cable.from), node_name(cable.to));
  }
  const DeviceId device = owner(link);
  return fmt::format("{} of device {} ({})", port(link).name, static_cast<std::uint32_t>(device),
                     fmt::join(coordinates(device), ","));
}

std::vector<int> Cluster::coordinates(DeviceId device) const {
  std::vector<int> at(axes.size());
  auto rest = static_cast<int>(device);
  for (std::size_t i = axes.size(); i-- > 0;) {
    at[i] = rest % axes[i].size;
    rest /= axes[i].size;
  }
  return at;
}

DeviceId Cluster::device(std::span<const int> at) const {
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    id = id * static_cast<std::uint32_t>(axes[i].size) + static_cast<std::uint32_t>(at[i]);
  }
  return DeviceId{id};
}

void split_axis(Cluster& cluster, int axis, int major) {
  const auto i = static_cast<std::size_t>(axis);
  Axis& whole = cluster.axes[i];
  must(whole.size % major == 0, "the parts of an axis are equally long");
  must(whole.wiring != Wiring::pair && whole.wiring != Wiring::ring_oneway,
       "one cable or one direction does not come apart");
  Axis minor = whole;
  minor.size = whole.size / major;
  whole.size = major;
  whole.stride *= minor.size;
  minor.name += "2";
  whole.name += "1";
  cluster.axes.insert(cluster.axes.begin() + axis + 1, minor);
  for (Port& port : cluster.ports) {
    if (port.axis > axis) ++port.axis;
    if (port.block.empty()) continue;
    const int shared = std::min(port.block[i], minor.size);
    port.block[i] /= shared;
    port.block.insert(port.block.begin() + axis + 1, shared);
  }
}

Fold Fold::full(const Cluster& cluster) {
  Fold fold;
  for (const Axis& axis : cluster.axes) fold.step.push_back(axis.size);
  return fold;
}

namespace {

// Whether going `by` further along the axis leads from every link and chip that differs to one that
// differs alike.
bool alike_along(const Cluster& cluster, std::size_t axis, int by) {
  const auto moved = [&](DeviceId device) {
    std::vector<int> at = cluster.coordinates(device);
    at[axis] = (at[axis] + by) % cluster.axes[axis].size;
    return cluster.device(at);
  };
  for (const auto& [link, change] : cluster.changed) {
    if (static_cast<std::size_t>(link) >= cluster.port_links()) return false;
    const auto port = static_cast<int>(static_cast<std::size_t>(link) % cluster.ports.size());
    const auto there = cluster.changed.find(cluster.link(moved(cluster.owner(link)), port));
    if (there == cluster.changed.end() || there->second != change) return false;
  }
  return std::all_of(cluster.speed.begin(), cluster.speed.end(), [&](const auto& chip) {
    return cluster.speed_of(moved(chip.first)) == chip.second;
  });
}

// The smallest multiple of `step` that all that differs repeats after.
int symmetric_step(const Cluster& cluster, std::size_t axis, int step) {
  const int size = cluster.axes[axis].size;
  for (int s = step; s < size; s += step) {
    if (size % s == 0 && alike_along(cluster, axis, s)) return s;
  }
  return size;
}

}  // namespace

Fold Fold::orbits(const Cluster& cluster) {
  Fold fold{std::vector<int>(cluster.axes.size(), 1)};
  for (std::size_t i = 0; i < fold.step.size(); ++i) {
    const int size = cluster.axes[i].size;
    if (!cluster.uniform(static_cast<int>(i))) fold.step[i] = size;
    for (const Port& port : cluster.ports) {
      const bool part = !port.block.empty() && port.block[i] > 1 && port.block[i] < size;
      if (part) fold.step[i] = std::lcm(fold.step[i], port.block[i]);
    }
    fold.step[i] = symmetric_step(cluster, i, fold.step[i]);
  }
  return fold;
}

std::uint32_t Fold::orbit_of(const Cluster& cluster, LinkId link) const {
  const auto id = static_cast<std::uint32_t>(link);
  const auto ports = static_cast<std::uint32_t>(cluster.ports.size());
  const auto owned = static_cast<std::uint32_t>(cluster.port_links());
  if (id >= owned) return static_cast<std::uint32_t>(classes()) * ports + id - owned;
  return class_of(cluster, cluster.owner(link)) * ports + id % ports;
}

int Fold::stabiliser(const Cluster& cluster, const Port& port) const {
  int n = 1;
  for (std::size_t i = 0; i < port.block.size(); ++i) {
    if (port.block[i] == cluster.axes[i].size) n *= cluster.axes[i].size / step[i];
  }
  return n;
}

int Fold::classes() const {
  int n = 1;
  for (const int s : step) n *= s;
  return n;
}

DeviceId Fold::representative(const Cluster& cluster, DeviceId device) const {
  std::vector<int> at = cluster.coordinates(device);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] %= step[i];
  return cluster.device(at);
}

std::uint32_t Fold::class_of(const Cluster& cluster, DeviceId device) const {
  auto rest = static_cast<int>(device);
  std::uint32_t index = 0;
  std::uint32_t weight = 1;
  for (std::size_t i = step.size(); i-- > 0;) {
    index += weight * static_cast<std::uint32_t>(rest % cluster.axes[i].size % step[i]);
    weight *= static_cast<std::uint32_t>(step[i]);
    rest /= cluster.axes[i].size;
  }
  return index;
}

std::vector<DeviceId> Fold::representatives(const Cluster& cluster) const {
  std::vector<DeviceId> result;
  std::vector<int> at(step.size(), 0);
  for (int i = 0; i < classes(); ++i) {
    result.push_back(cluster.device(at));
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < step[k]) break;
      at[k] = 0;
    }
  }
  return result;
}

const MeshAxis* Mesh::find(std::string_view name) const {
  for (const MeshAxis& axis : axes) {
    if (same_name(axis.name, name)) return &axis;
  }
  return nullptr;
}

int Mesh::size_of(std::span<const std::string> names_) const {
  int n = 1;
  for (const std::string& name : names_) {
    const MeshAxis* axis = find(name);
    must(axis != nullptr, "size_of a mesh axis that does not exist");
    n *= axis->size;
  }
  return n;
}

std::vector<std::string> Mesh::resolve(const std::string& name) const {
  if (find(name) != nullptr) return {name};
  std::vector<std::string> result;
  for (const AxisParts& axis : apart) {
    if (axis.axis != name) continue;
    for (const std::string& part : axis.parts) {
      const std::vector<std::string> axes_of_part = resolve(part);
      result.insert(result.end(), axes_of_part.begin(), axes_of_part.end());
    }
  }
  return result;
}

std::vector<std::string> Mesh::names() const {
  std::vector<std::string> result;
  for (const MeshAxis& axis : axes) result.push_back(axis.name);
  return result;
}

}  // namespace shardsim
