#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardsim {

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

// The axis of a name, or all of the level of that name.
std::vector<std::size_t> named_axes(const Cluster& cluster, const std::string& name) {
  std::vector<std::size_t> found, inside;
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    if (cluster.axes[i].name == name) found.push_back(i);
    if (cluster.levels[static_cast<std::size_t>(cluster.axes[i].level)].name == name) {
      inside.push_back(i);
    }
  }
  return found.empty() ? inside : found;
}

// Axes that name hardware axes.
Mesh place_named(const MeshSpec& spec, const Cluster& cluster, std::vector<Problem>& problems) {
  const std::vector<std::string> names = hardware_names(cluster);
  std::vector<std::string> user(names.size());  // the mesh axis that spans each hardware axis
  Mesh mesh;
  for (const MeshAxisSpec& axis : spec.axes) {
    MeshAxis placed{axis.name, 1, {}};
    for (const Chosen<std::string>& hardware : axis.axes) {
      const std::vector<std::size_t> found = named_axes(cluster, hardware.value);
      if (found.empty()) {
        problems.push_back(
            {hardware.pos,
             fmt::format("expected an axis of {}, found \"{}\"", cluster.text, hardware.value),
             suggestion(hardware.value, names)});
        continue;
      }
      for (const std::size_t i : found) {
        if (!user[i].empty()) {
          problems.push_back({hardware.pos,
                              fmt::format("hardware axis {} is spanned twice, by {} and by {}",
                                          names[i], user[i], axis.name),
                              ""});
          continue;
        }
        user[i] = axis.name;
        placed.axes.push_back(static_cast<int>(i));
        placed.size *= cluster.axes[i].size;
      }
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

// The next hardware axis, or its major part, for a mesh axis that still needs `need` devices; how
// many it gives, 0: it does not come out.
int take_next(Cluster& cluster, std::size_t next, int need) {
  if (next >= cluster.axes.size()) return 0;
  const Axis& axis = cluster.axes[next];
  if (need % axis.size == 0) return axis.size;
  const bool whole = axis.wiring == Wiring::ring_oneway || axis.wiring == Wiring::pair;
  if (whole || axis.size % need != 0) return 0;
  split_axis(cluster, static_cast<int>(next), need);
  return need;
}

// Parts are called x1, x2, …, major first.
void name_parts(const std::vector<std::string>& names, Cluster& cluster) {
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    const auto [first, last] = cluster.parts_of(static_cast<int>(i));
    const std::string& whole = names[static_cast<std::size_t>(cluster.axes[i].hardware)];
    cluster.axes[i].name =
        last - first == 1 ? whole : fmt::format("{}{}", whole, static_cast<int>(i) - first + 1);
  }
}

Problem does_not_come_out(const MeshAxisSpec& axis, const Cluster& cluster, std::size_t next) {
  const bool left = next < cluster.axes.size();
  if (left && cluster.axes[next].wiring == Wiring::ring_oneway) {
    const Axis& ring = cluster.axes[next];
    return {axis.pos,
            fmt::format("expected one mesh axis for all {} devices along {} of {}, found {} of "
                        "size {}: part of a ring with links in one direction is no ring",
                        ring.size, ring.name, cluster.text, axis.name, axis.size),
            "a ring with links both ways comes apart"};
  }
  return {axis.pos,
          fmt::format("expected {} of size {} to come out of the axes of {} in order, found that "
                      "it does not",
                      axis.name, axis.size, cluster.text),
          "sizes that divide or are products of neighbouring axes"};
}

// Sizes alone: each mesh axis takes hardware axes, or parts of them, major first.
void take_axes(const std::vector<const MeshAxisSpec*>& in_order, Cluster& cluster, Mesh& mesh,
               std::vector<Problem>& problems) {
  const std::vector<std::string> names = hardware_names(cluster);
  std::size_t next = 0;
  for (const MeshAxisSpec* axis : in_order) {
    MeshAxis placed{axis->name, axis->size, {}};
    for (int need = axis->size; need > 1;) {
      const int taken = take_next(cluster, next, need);
      if (taken == 0) {
        problems.push_back(does_not_come_out(*axis, cluster, next));
        return;
      }
      placed.axes.push_back(static_cast<int>(next++));
      need /= taken;
    }
    mesh.axes.push_back(std::move(placed));
  }
  name_parts(names, cluster);
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
  take_axes(in_order, cluster, mesh, problems);
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

MeshSpec row_major(const std::vector<AxisSpec>& sizes, const SourcePos& pos) {
  MeshSpec mesh;
  mesh.pos = pos;
  mesh.order = {"row-major", pos, true};
  for (const AxisSpec& axis : sizes) mesh.axes.push_back({axis.name, {}, axis.size, axis.pos});
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
