#include "plan/sub_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/preset_choice.h"

namespace shardsim {
namespace {

// Where an axis must come apart: into `major` and the rest.
struct Cut {
  std::string axis;
  int major = 1;
};

// The axis within which the first `size` devices end; nothing when they end between two axes, or do
// not fill them evenly.
std::optional<Cut> cut_for(const std::vector<std::string>& axes, int size, const Mesh& mesh) {
  int left = size;
  for (const std::string& name : axes) {
    const int along = mesh.find(name)->size;
    if (left == 1) return std::nullopt;
    if (left % along == 0) {
      left /= along;
      continue;
    }
    if (along % left == 0) return Cut{name, left};
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Cut> next_cut(std::span<const PresetSpec> chosen, const Layer& layer,
                            const Mesh& mesh) {
  std::vector<Problem> reported_by_make_layouts;
  for (const ActivePreset& active : activate(chosen, mesh, reported_by_make_layouts)) {
    for (const WhereRule& rule : active.row->where) {
      if (!rule.replicates) continue;
      for (const NamedDim& dim : layer.dims) {
        const int devices = mesh.size_of(active.axes);
        if (dim.name != rule.dim || dim.size >= devices || devices % dim.size != 0) continue;
        if (const auto cut = cut_for(active.axes, dim.size, mesh)) return cut;
      }
    }
  }
  return std::nullopt;
}

// How many of the hardware axes hold `major` devices, after taking one apart; nothing when the
// hardware does not come apart there.
std::optional<std::size_t> split_hardware(const MeshAxis& axis, int major, Cluster& cluster,
                                          Mesh& mesh) {
  int held = 1;
  std::size_t n = 0;
  while (n < axis.axes.size() &&
         major % (held * cluster.axes[static_cast<std::size_t>(axis.axes[n])].size) == 0) {
    held *= cluster.axes[static_cast<std::size_t>(axis.axes[n++])].size;
  }
  if (held == major) return n;
  const auto at = static_cast<std::size_t>(axis.axes[n]);
  const Axis& hardware = cluster.axes[at];
  const int first = major / held;
  const bool whole = hardware.wiring == Wiring::ring_oneway || hardware.wiring == Wiring::pair;
  if (whole || hardware.size % first != 0) return std::nullopt;
  split_axis(cluster, axis.axes[n], first);
  for (MeshAxis& other : mesh.axes) {
    std::vector<int> axes;
    for (const int a : other.axes) {
      axes.push_back(a > static_cast<int>(at) ? a + 1 : a);
      if (a == static_cast<int>(at)) axes.push_back(a + 1);
    }
    other.axes = std::move(axes);
  }
  return n + 1;
}

std::string new_name(const Mesh& mesh, const std::string& axis, int digit) {
  std::string name = fmt::format("{}{}", axis, digit);
  while (!mesh.resolve(name).empty()) name += "_";
  return name;
}

bool split(const Cut& cut, Mesh& mesh, Cluster& cluster) {
  const auto at = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                               [&](const MeshAxis& axis) { return axis.name == cut.axis; });
  const auto index = at - mesh.axes.begin();
  const auto n = split_hardware(*at, cut.major, cluster, mesh);
  if (!n) return false;
  const MeshAxis whole = mesh.axes[static_cast<std::size_t>(index)];
  const auto middle = whole.axes.begin() + static_cast<std::ptrdiff_t>(*n);
  const MeshAxis first{new_name(mesh, whole.name, 1), cut.major, {whole.axes.begin(), middle}};
  const MeshAxis second{
      new_name(mesh, whole.name, 2), whole.size / cut.major, {middle, whole.axes.end()}};
  mesh.axes[static_cast<std::size_t>(index)] = first;
  mesh.axes.insert(mesh.axes.begin() + index + 1, second);
  mesh.apart.push_back({whole.name, {first.name, second.name}});
  return true;
}

}  // namespace

void take_apart(std::span<const PresetSpec> chosen, const Layer& layer, Mesh& mesh,
                Cluster& cluster) {
  // After one cut the heads end between two axes; a second preset may need another.
  while (const auto cut = next_cut(chosen, layer, mesh)) {
    if (!split(*cut, mesh, cluster)) return;
  }
}

}  // namespace shardsim
