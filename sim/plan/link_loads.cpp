#include "plan/link_loads.h"

#include <algorithm>

namespace shardsim {

namespace {

constexpr std::size_t kMostDense = 1u << 24;

std::int64_t device_stride(const Cluster& cluster, int axis) {
  std::int64_t stride = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < cluster.axes.size(); ++i)
    stride *= cluster.axes[i].size;
  return stride;
}

}  // namespace

LinkLoads::LinkLoads(const Cluster& cluster, const Fold& fold)
    : cluster_(cluster), fold_(fold), marked_(cluster.ports.size(), false) {
  if (cluster.link_count() <= kMostDense) dense_.resize(cluster.link_count(), 0.0);
  for (const Port& port : cluster.ports) {
    const int minor = cluster.parts_of(port.axis).second - 1;
    ahead_.push_back(port.direction * device_stride(cluster, minor));
  }
}

void LinkLoads::add(LinkId link, double share) {
  double& sum = dense_.empty() ? sparse_[link] : dense_[static_cast<std::size_t>(link)];
  if (sum == 0) loaded_.push_back(link);
  sum += share;
}

void LinkLoads::add(const Stretch& stretch, double share) {
  const std::size_t port = static_cast<std::size_t>(stretch.first) % cluster_.ports.size();
  const auto [first, last] = cluster_.parts_of(cluster_.ports[port].axis);
  const bool one_orbit = std::all_of(fold_.step.begin() + first, fold_.step.begin() + last,
                                     [](int step) { return step == 1; });
  if (one_orbit) return add(stretch.first, share * stretch.links);
  if (stretch.links == 1) return add(stretch.first, share);
  marks_.resize(cluster_.port_links());
  marked_[port] = true;
  const auto begin = static_cast<std::int64_t>(stretch.first);
  const auto ports = static_cast<std::int64_t>(cluster_.ports.size());
  Mark& from = marks_[static_cast<std::size_t>(begin)];
  from.begins += share;
  ++from.begun;
  Mark& to = marks_[static_cast<std::size_t>(begin + (stretch.links - 1) * ports * ahead_[port])];
  to.ends += share;
  ++to.ended;
}

void LinkLoads::add(const Route& route, double share) {
  for (const LinkId link : route.links) add(link, share);
  for (const Stretch& stretch : route.stretches) add(stretch, share);
}

// Along every line of the port's axis at once: devices in its direction, each after the one behind
// it. Nothing goes on from the end of a line to the next.
void LinkLoads::settle(std::size_t port) {
  const auto devices = static_cast<std::int64_t>(cluster_.devices());
  const auto mark = [&](std::int64_t device) -> Mark& {
    return marks_[static_cast<std::size_t>(device) * cluster_.ports.size() + port];
  };
  for (std::int64_t i = 0; i < devices; ++i) {
    const std::int64_t device = ahead_[port] > 0 ? i : devices - 1 - i;
    const std::int64_t behind = device - ahead_[port];
    Mark& here = mark(device);
    if (behind >= 0 && behind < devices && mark(behind).begun > 0) {
      here.begins += mark(behind).begins;
      here.begun += mark(behind).begun;
    }
    if (here.begun == 0) continue;
    add(cluster_.link(DeviceId{static_cast<std::uint32_t>(device)}, static_cast<int>(port)),
        here.begins);
    here.begins -= here.ends;
    here.begun -= here.ended;
  }
  for (std::int64_t device = 0; device < devices; ++device) mark(device) = {};
  marked_[port] = false;
}

void LinkLoads::settle() {
  for (std::size_t port = 0; port < marked_.size(); ++port)
    if (marked_[port]) settle(port);
}

double LinkLoads::of(LinkId link) const {
  return dense_.empty() ? sparse_.at(link) : dense_[static_cast<std::size_t>(link)];
}

void LinkLoads::clear() {
  if (!dense_.empty()) {
    for (const LinkId link : loaded_) dense_[static_cast<std::size_t>(link)] = 0;
  }
  sparse_.clear();
  loaded_.clear();
}

}  // namespace shardsim
