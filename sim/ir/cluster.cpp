#include "ir/cluster.h"

#include <fmt/format.h>

#include "base/must.h"

namespace shardsim {

int Cluster::devices() const {
  int n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

LinkId Cluster::link(DeviceId device, int port) const {
  return LinkId{static_cast<std::uint32_t>(device) * static_cast<std::uint32_t>(ports.size()) +
                static_cast<std::uint32_t>(port)};
}

DeviceId Cluster::owner(LinkId link) const {
  return DeviceId{static_cast<std::uint32_t>(link) / static_cast<std::uint32_t>(ports.size())};
}

const Port& Cluster::port(LinkId link) const {
  return ports[static_cast<std::uint32_t>(link) % ports.size()];
}

int Cluster::port_of(int axis, int direction) const {
  const Wiring wiring = axes[static_cast<std::size_t>(axis)].wiring;
  if (wiring == Wiring::star) return 0;
  must(direction > 0 || wiring != Wiring::ring_oneway, "a one-way ring has no way back");
  const bool back = direction < 0 && wiring == Wiring::ring;
  for (std::size_t p = 0; p < ports.size(); ++p) {
    if (ports[p].axis == axis) return static_cast<int>(p) + (back ? 1 : 0);
  }
  must(false, "every axis that is not a star owns a port");
  return 0;
}

std::string Cluster::link_name(LinkId link) const {
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

Fold Fold::full(const Cluster& cluster) {
  Fold fold;
  for (const Axis& axis : cluster.axes) fold.step.push_back(axis.size);
  return fold;
}

Fold Fold::orbits(const Cluster& cluster) {
  return Fold{std::vector<int>(cluster.axes.size(), 1)};
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
    if (axis.name == name) return &axis;
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
