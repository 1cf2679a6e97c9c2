#include "plan/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardsim {

namespace {

constexpr int kMostDevices = 1 << 20;

constexpr std::array<TopologyRow, 4> kTopologies = {{
    {"ring", "a ring with links in both directions", "ring:8", 1, 1, Wiring::ring},
    {"ring-oneway", "a ring with links in one direction", "ring-oneway:8", 1, 1,
     Wiring::ring_oneway},
    {"torus", "rings along every axis; an axis of 2 is one cable", "torus:4x4x4", 1, 8,
     Wiring::ring},
    {"switch", "one full-bisection switch (also: nvlink); bandwidth is egress per device",
     "switch:8", 1, 8, Wiring::star},
}};

const TopologyRow* find_topology(std::string_view kind) {
  if (kind == "nvlink") kind = "switch";
  for (const TopologyRow& row : kTopologies) {
    if (row.name == kind) return &row;
  }
  return nullptr;
}

void add_ports(Cluster& cluster, const LinkFigures& link) {
  const BytesPerSec w1 = link.bandwidth * link.efficiency;
  if (cluster.axes[0].wiring == Wiring::star) {
    cluster.ports = {{"up", 0, w1, link.latency}, {"down", 0, w1, Seconds{0}}};
    return;
  }
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    const Axis& axis = cluster.axes[i];
    cluster.ports.push_back({axis.name + "+", static_cast<int>(i), w1, link.latency});
    if (axis.wiring == Wiring::ring) {
      cluster.ports.push_back({axis.name + "-", static_cast<int>(i), w1, link.latency});
    }
  }
}

}  // namespace

std::span<const TopologyRow> topologies() {
  return kTopologies;
}

Cluster make_cluster(const TopologySpec& spec, const LinkFigures& link,
                     std::vector<Problem>& problems) {
  const TopologyRow* row = find_topology(spec.kind.value);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const TopologyRow& r : kTopologies) names.emplace_back(r.name);
    problems.push_back({spec.kind.pos,
                        fmt::format("expected a topology kind, found \"{}\"", spec.kind.value),
                        suggestion(spec.kind.value, names)});
    return {};
  }
  const std::size_t before = problems.size();
  const auto axes = static_cast<int>(spec.axes.size());
  if (axes < row->lowest_axes || axes > row->highest_axes) {
    problems.push_back(
        {spec.pos,
         fmt::format("expected {} for a {}, found {} axes",
                     row->highest_axes == 1 ? "one axis" : "1 to 8 axes", row->name, axes),
         fmt::format("for example {}", row->example)});
  }
  double devices = 1;
  for (const AxisSpec& axis : spec.axes) {
    devices *= axis.size;
    if (axis.size < 2) {
      problems.push_back(
          {axis.pos,
           fmt::format("expected 2 or more devices along axis {}, found {}", axis.name, axis.size),
           "leave the axis out"});
    }
  }
  if (devices > kMostDevices) {
    problems.push_back(
        {spec.pos, fmt::format("expected at most {} devices, found {:.0f}", kMostDevices, devices),
         ""});
  }
  if (problems.size() != before) return {};
  Cluster cluster;
  cluster.kind = row->name;
  cluster.text = spec.text;
  for (const AxisSpec& axis : spec.axes) {
    const bool pair = row->wiring == Wiring::ring && axis.size == 2;
    cluster.axes.push_back({axis.name, axis.size, pair ? Wiring::pair : row->wiring});
  }
  add_ports(cluster, link);
  return cluster;
}

namespace {

std::string sizes_text(const MeshSpec& spec) {
  std::vector<int> sizes;
  int product = 1;
  for (const MeshAxisSpec& axis : spec.axes) {
    sizes.push_back(axis.size);
    product *= axis.size;
  }
  return fmt::format("{} = {}", fmt::join(sizes, " x "), product);
}

std::vector<std::string> hardware_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const Axis& axis : cluster.axes) names.push_back(axis.name);
  return names;
}

// Axes that name hardware axes.
Mesh place_named(const MeshSpec& spec, const Cluster& cluster, std::vector<Problem>& problems) {
  const std::vector<std::string> names = hardware_names(cluster);
  std::vector<std::string> user(names.size());  // the mesh axis that spans each hardware axis
  Mesh mesh;
  for (const MeshAxisSpec& axis : spec.axes) {
    MeshAxis placed{axis.name, 1, {}};
    for (const Chosen<std::string>& hardware : axis.axes) {
      const auto at = std::find(names.begin(), names.end(), hardware.value);
      if (at == names.end()) {
        problems.push_back(
            {hardware.pos,
             fmt::format("expected an axis of {}, found \"{}\"", cluster.text, hardware.value),
             suggestion(hardware.value, names)});
        continue;
      }
      const auto i = static_cast<std::size_t>(at - names.begin());
      if (!user[i].empty()) {
        problems.push_back({hardware.pos,
                            fmt::format("hardware axis {} is spanned twice, by {} and by {}",
                                        hardware.value, user[i], axis.name),
                            ""});
        continue;
      }
      user[i] = axis.name;
      placed.axes.push_back(static_cast<int>(i));
      placed.size *= cluster.axes[i].size;
    }
    mesh.axes.push_back(std::move(placed));
  }
  std::vector<std::string> left;
  int covered = 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (user[i].empty()) {
      left.push_back(names[i]);
    } else {
      covered *= cluster.axes[i].size;
    }
  }
  if (problems.empty() && !left.empty()) {
    problems.push_back(
        {spec.pos,
         fmt::format(
             "expected the mesh to span all {} devices of {}, found {}: axis {} is left out",
             cluster.devices(), cluster.text, covered, fmt::join(left, ", ")),
         "give every hardware axis to a mesh axis; one without sharding repeats the work"});
  }
  return mesh;
}

// Sizes alone on rings: each mesh axis takes whole hardware axes, major first.
void take_axes(const std::vector<const MeshAxisSpec*>& in_order, const Cluster& cluster, Mesh& mesh,
               std::vector<Problem>& problems) {
  std::size_t next = 0;
  for (const MeshAxisSpec* axis : in_order) {
    MeshAxis placed{axis->name, 1, {}};
    while (placed.size < axis->size && next < cluster.axes.size()) {
      placed.axes.push_back(static_cast<int>(next));
      placed.size *= cluster.axes[next++].size;
    }
    if (placed.size != axis->size) {
      problems.push_back(
          {axis->pos,
           fmt::format("expected {} of size {} to span whole axes of {}, found {} when axes are "
                       "taken in order",
                       axis->name, axis->size, cluster.text, placed.size),
           "part of a ring is a line; choose sizes that are products of neighbouring axes"});
    }
    mesh.axes.push_back(std::move(placed));
  }
}

Mesh place_sizes(const MeshSpec& spec, Cluster& cluster, std::vector<Problem>& problems) {
  long long product = 1;
  for (const MeshAxisSpec& axis : spec.axes) product = std::min(product * axis.size, 1LL << 40);
  if (product != cluster.devices()) {
    problems.push_back(
        {spec.pos,
         fmt::format("expected mesh sizes that multiply to the {} devices of {}, found {}",
                     cluster.devices(), cluster.text, sizes_text(spec)),
         ""});
    return {};
  }
  if (spec.axes.size() > 1 && !spec.order.given) {
    problems.push_back(
        {spec.pos,
         "expected `order: row-major` or `order: innermost-first` beside mesh sizes, found none",
         "row-major: the first mesh axis is major, as in a JAX mesh"});
    return {};
  }
  const bool reversed = spec.order.value == "innermost-first";
  std::vector<const MeshAxisSpec*> in_order;
  for (const MeshAxisSpec& axis : spec.axes) in_order.push_back(&axis);
  if (reversed) std::reverse(in_order.begin(), in_order.end());
  Mesh mesh;
  if (cluster.axes[0].wiring == Wiring::star) {
    cluster.axes.clear();
    for (const MeshAxisSpec* axis : in_order) {
      mesh.axes.push_back({axis->name, axis->size, {static_cast<int>(cluster.axes.size())}});
      cluster.axes.push_back({axis->name, axis->size, Wiring::star});
    }
  } else {
    take_axes(in_order, cluster, mesh, problems);
  }
  if (reversed) std::reverse(mesh.axes.begin(), mesh.axes.end());
  return mesh;
}

}  // namespace

Mesh place_mesh(const MeshSpec& spec, Cluster& cluster, std::vector<Problem>& problems) {
  const bool sized = std::any_of(spec.axes.begin(), spec.axes.end(),
                                 [](const MeshAxisSpec& a) { return a.size > 0; });
  const bool named = std::any_of(spec.axes.begin(), spec.axes.end(),
                                 [](const MeshAxisSpec& a) { return a.size == 0; });
  if (sized && named) {
    problems.push_back(
        {spec.pos, "expected either hardware axes or sizes for all mesh axes, found both", ""});
    return {};
  }
  std::vector<Problem> mine;
  if (named && spec.order.given) {
    mine.push_back(
        {spec.order.pos, "expected no `order` when mesh axes name hardware axes, found one", ""});
  }
  Mesh mesh = sized ? place_sizes(spec, cluster, mine) : place_named(spec, cluster, mine);
  problems.insert(problems.end(), mine.begin(), mine.end());
  return mesh;
}

Mesh hardware_mesh(const Cluster& cluster) {
  Mesh mesh;
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    mesh.axes.push_back({cluster.axes[i].name, cluster.axes[i].size, {static_cast<int>(i)}});
  }
  return mesh;
}

}  // namespace shardsim
