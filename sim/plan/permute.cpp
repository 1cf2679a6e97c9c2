#include "plan/permute.h"

#include <algorithm>
#include <map>

#include "base/must.h"
#include "ir/collective_plan.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

// One dim's axes before and after, without those that both begin or end with.
struct Exchange {
  Axes before, after;
};

Exchange exchange(Axes before, Axes after) {
  while (!before.empty() && !after.empty() && before.back() == after.back()) {
    before.pop_back();
    after.pop_back();
  }
  std::size_t same = 0;
  while (same < before.size() && same < after.size() && before[same] == after[same]) ++same;
  const auto n = static_cast<std::ptrdiff_t>(same);
  return {{before.begin() + n, before.end()}, {after.begin() + n, after.end()}};
}

std::vector<Exchange> exchanges(const Sharding& before, const Sharding& after) {
  std::vector<Exchange> result;
  for (std::size_t d = 0; d < before.dims.size(); ++d) {
    Exchange e = exchange(before.dims[d].axes, after.dims[d].axes);
    if (!e.before.empty() || !e.after.empty()) result.push_back(std::move(e));
  }
  return result;
}

}  // namespace

std::vector<std::string> permuted_axes(const Mesh& mesh, const Sharding& before,
                                       const Sharding& after) {
  Axes moved;
  for (const Exchange& e : exchanges(before, after)) {
    moved.insert(moved.end(), e.before.begin(), e.before.end());
  }
  Axes result;
  for (const MeshAxis& axis : mesh.axes) {
    if (std::find(moved.begin(), moved.end(), axis.name) != moved.end()) {
      result.push_back(axis.name);
    }
  }
  return result;
}

std::vector<int> permutation(const Mesh& mesh, std::span<const std::string> axes,
                             const Sharding& before, const Sharding& after) {
  std::vector<int> sizes;
  std::map<std::string, std::size_t> place;
  for (const std::string& axis : axes) {
    place[axis] = sizes.size();
    sizes.push_back(mesh.find(axis)->size);
  }
  const std::vector<Exchange> moves = exchanges(before, after);
  for (const Exchange& e : moves) {
    must(mesh.size_of(e.before) == mesh.size_of(e.after), "a permutation keeps the block counts");
  }
  const int ranks = mesh.size_of(axes);
  std::vector<int> targets(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<int> from = rank_coordinates(sizes, rank);
    std::vector<int> to(sizes.size(), 0);
    for (const Exchange& e : moves) {
      int block = 0;
      for (const std::string& axis : e.before) {
        block = block * sizes[place.at(axis)] + from[place.at(axis)];
      }
      for (auto axis = e.after.rbegin(); axis != e.after.rend(); ++axis) {
        const std::size_t a = place.at(*axis);
        to[a] = block % sizes[a];
        block /= sizes[a];
      }
    }
    targets[static_cast<std::size_t>(rank)] = rank_at(sizes, to);
  }
  return targets;
}

std::vector<int> invariant_steps(std::span<const int> sizes, std::span<const int> targets) {
  std::vector<int> steps;
  const int ranks = static_cast<int>(targets.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const auto maps_onto_itself = [&](int step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int moved = shifted(sizes, rank, axis, step);
        const int target = shifted(sizes, targets[static_cast<std::size_t>(rank)], axis, step);
        if (targets[static_cast<std::size_t>(moved)] != target) return false;
      }
      return true;
    };
    int step = 1;
    while (step < sizes[i] && (sizes[i] % step != 0 || !maps_onto_itself(step))) ++step;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace shardsim
