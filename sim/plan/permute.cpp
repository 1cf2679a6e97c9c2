#include "plan/permute.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/must.h"
#include "ir/collective_plan.h"
#include "plan/exchange.h"

namespace shardsim {

std::vector<std::string> permuted_axes(const Mesh& mesh, const Sharding& before,
                                       const Sharding& after) {
  std::vector<std::string> result;
  for (const std::size_t axis : moved_axes(exchanges(mesh, before, after))) {
    result.push_back(mesh.axes[axis].name);
  }
  return result;
}

std::vector<int> permutation(const Mesh& mesh, std::span<const std::string> axes,
                             const Sharding& before, const Sharding& after) {
  std::vector<int> sizes;
  for (const std::string& axis : axes) sizes.push_back(mesh.find(axis)->size);
  const auto size_along = [&](const AxisList& list) {
    int n = 1;
    for (const std::size_t axis : list) n *= mesh.axes[axis].size;
    return n;
  };
  const auto places = [&](const AxisList& list) {  // in `axes`
    std::vector<std::size_t> result;
    for (const std::size_t axis : list) {
      const auto at = std::find(axes.begin(), axes.end(), mesh.axes[axis].name);
      result.push_back(static_cast<std::size_t>(at - axes.begin()));
    }
    return result;
  };
  const std::vector<int> strides = row_major_strides(sizes);
  std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> moves;
  for (const Exchange& e : exchanges(mesh, before, after)) {
    must(size_along(e.before) == size_along(e.after), "a permutation keeps the block counts");
    moves.emplace_back(places(e.before), places(e.after));
  }
  const int ranks = mesh.size_of(axes);
  std::vector<int> targets(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % 4096 == 0) throw_if_interrupted();
    int to = 0;
    for (const auto& [old_axes, new_axes] : moves) {
      int block = 0;
      for (const std::size_t a : old_axes) block = block * sizes[a] + rank / strides[a] % sizes[a];
      for (auto a = new_axes.rbegin(); a != new_axes.rend(); ++a) {
        to += block % sizes[*a] * strides[*a];
        block /= sizes[*a];
      }
    }
    targets[static_cast<std::size_t>(rank)] = to;
  }
  return targets;
}

std::vector<int> row_major_strides(std::span<const int> sizes) {
  std::vector<int> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::vector<int> invariant_steps(std::span<const int> sizes, std::span<const int> targets) {
  std::vector<int> steps;
  const int ranks = static_cast<int>(targets.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const auto maps_onto_itself = [&](int step) {
      throw_if_interrupted();
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
