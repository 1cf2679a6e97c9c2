#include "plan/reshard_moves.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/same_name.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostAxes = 8;
constexpr std::size_t kMostDims = 14;
constexpr int kUnreduced = 1;
constexpr int kFirstDim = 2;

using Steps = std::vector<ReshardStep>;

PackedLayout without(PackedLayout layout, int axis) {
  return layout & ~(PackedLayout{0xff} << (8 * axis));
}

PackedLayout with(PackedLayout layout, int axis, int place, std::size_t order) {
  const auto byte = static_cast<PackedLayout>(place << 4 | static_cast<int>(order));
  return without(layout, axis) | byte << (8 * axis);
}

int place_of(PackedLayout layout, int axis) {
  return static_cast<int>(layout >> (8 * axis) >> 4 & 0xf);
}

bool may_cut(const ReshardScope& scope, int axis, std::size_t dim) {
  if ((scope.usable >> axis & 1u) == 0 || (scope.dims_used >> dim & 1u) == 0) return false;
  return !scope.straight || place_of(scope.target, axis) == kFirstDim + static_cast<int>(dim);
}

void slices(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, Steps& steps) {
  for (const int axis : at.unused) {
    for (std::size_t d = 0; d < at.dim_count; ++d) {
      if (!may_cut(scope, axis, d)) continue;
      const int dim = static_cast<int>(d);
      AxisList one;
      one.push_back(axis);
      steps.push_back({with(now, axis, kFirstDim + dim, at.dims[d].size()), 0, one, dim, -1});
    }
  }
}

// Places that the rearrangements of one layout may fill: all of six axes (1957 in one dim).
constexpr int kMostPlaces = 2000;

std::size_t agreement(const AxisList& a, const AxisList& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a.at[n] == b.at[n]) ++n;
  return n;
}

// All ways to fill the dims from `d` on with the axes left, each with its number of blocks, those
// like the target first; axes that may not move are major-most and stay. Where permutations must go
// towards the target, a dim keeps the major axes that it shares with it, and some dim gets more.
struct Rearrangements {
  const ReshardScope& scope;
  const PlacedAxes& at;
  const PlacedAxes& target;
  PackedLayout now;
  Steps& steps;
  std::uint32_t left = 0;  // bit a: mesh axis a
  int places = 0;          // filled so far

  int size(int axis) const { return scope.mesh.axes[static_cast<std::size_t>(axis)].size; }
  bool moves(int axis) const { return (scope.usable >> axis & 1u) != 0; }
  bool is_left(int axis) const { return axis >= 0 && (left >> axis & 1u) != 0; }
  void fill(std::size_t d, std::size_t order, int wanted, PackedLayout made, bool nearer) {
    if (++places > kMostPlaces) return;
    const AxisList& wish = target.dims[d];
    const std::size_t shared = agreement(at.dims[d], wish);
    const bool keeps = scope.towards && order < shared;
    if (wanted == 1 && !keeps) next(d + 1, made, nearer);
    const int like = order < wish.size() ? wish.at[order] : -1;
    const auto take = [&](int axis) {
      if (wanted % size(axis) != 0) return;
      const PackedLayout more = with(made, axis, kFirstDim + static_cast<int>(d), order);
      left &= ~(1u << axis);
      fill(d, order + 1, wanted / size(axis), more, nearer || (order == shared && axis == like));
      left |= 1u << axis;
    };
    if (is_left(like)) take(like);
    if (keeps) return;
    for (int axis = 0; left >> axis != 0; ++axis) {
      if (is_left(axis) && axis != like) take(axis);
    }
  }
  void next(std::size_t d, PackedLayout made, bool nearer) {
    if (d < at.dim_count) {
      std::size_t kept = 0;
      int wanted = 1;
      for (const int axis : at.dims[d]) {
        if (moves(axis)) {
          wanted *= size(axis);
        } else {
          ++kept;
        }
      }
      return fill(d, kept, wanted, made, nearer);
    }
    if (left != 0 || made == now || (scope.towards && !nearer)) return;
    steps.push_back({made, 1, {}, -1, -1});
  }
};

void permutes(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, Steps& steps) {
  const PlacedAxes target = placed(scope.target, at.dim_count, scope.mesh.axes.size());
  Rearrangements all{scope, at, target, now, steps};
  PackedLayout rest = now;
  for (std::size_t d = 0; d < at.dim_count; ++d) {
    for (const int axis : at.dims[d]) {
      if (!all.moves(axis)) continue;
      all.left |= 1u << axis;
      rest = without(rest, axis);
    }
  }
  if (std::popcount(all.left) > 1) all.next(0, rest, false);
}

void all_to_alls(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, Steps& steps) {
  for (std::size_t d = 0; d < at.dim_count; ++d) {
    const std::size_t most =
        scope.several ? at.dims[d].size() : std::min<std::size_t>(1, at.dims[d].size());
    for (std::size_t count = 1; count <= most; ++count) {
      const AxisList moved = at.dims[d].last(count);
      for (std::size_t e = 0; e < at.dim_count; ++e) {
        if (e == d || !std::all_of(moved.begin(), moved.end(),
                                   [&](int axis) { return may_cut(scope, axis, e); })) {
          continue;
        }
        PackedLayout after = now;
        std::size_t order = at.dims[e].size();
        for (const int axis : moved) {
          after = with(after, axis, kFirstDim + static_cast<int>(e), order++);
        }
        steps.push_back({after, 2, moved, static_cast<int>(d), static_cast<int>(e)});
      }
    }
  }
}

// Every order of some axes of {U}, appended to a dim.
void scatter(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, std::size_t d,
             const AxisList& taken, Steps& steps) {
  for (const int axis : at.unreduced) {
    if (taken.has(axis) || !may_cut(scope, axis, d)) continue;
    AxisList more = taken;
    more.push_back(axis);
    const PackedLayout after =
        with(now, axis, kFirstDim + static_cast<int>(d), at.dims[d].size() + taken.size());
    steps.push_back({after, 3, more, static_cast<int>(d), -1});
    if (scope.several) scatter(scope, after, at, d, more, steps);
  }
}

void reduce_scatters(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at,
                     Steps& steps) {
  for (std::size_t d = 0; d < at.dim_count; ++d) scatter(scope, now, at, d, {}, steps);
}

void all_gathers(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, Steps& steps) {
  for (std::size_t d = 0; d < at.dim_count; ++d) {
    PackedLayout after = now;
    for (std::size_t count = 1; count <= at.dims[d].size(); ++count) {
      const AxisList gathered = at.dims[d].last(count);
      if ((scope.usable >> gathered.at[0] & 1u) == 0) break;
      after = without(after, gathered.at[0]);
      if (count == 1 || scope.several) {
        steps.push_back({after, 4, gathered, static_cast<int>(d), -1});
      }
    }
  }
}

// Whether the target cuts over the axis just where a reduce-scatter could cut now.
bool can_scatter(const ReshardScope& scope, const PlacedAxes& at, int axis) {
  const int place = place_of(scope.target, axis);
  if (place < kFirstDim) return false;
  const auto d = static_cast<std::size_t>(place - kFirstDim);
  const PlacedAxes wanted = placed(scope.target, at.dim_count, scope.mesh.axes.size());
  AxisList cut = at.dims[d];
  cut.push_back(axis);
  return cut.size() <= wanted.dims[d].size() &&
         std::equal(cut.begin(), cut.end(), wanted.dims[d].begin());
}

void all_reduces(const ReshardScope& scope, PackedLayout now, const PlacedAxes& at, Steps& steps) {
  AxisList open;  // {U} axes that the target does not keep
  for (const int axis : at.unreduced) {
    if (place_of(scope.target, axis) == kUnreduced) continue;
    if (!scope.straight || !can_scatter(scope, at, axis)) open.push_back(axis);
  }
  for (std::uint32_t subset = 1; subset < 1u << open.size(); ++subset) {
    ReshardStep step{now, 5, {}, -1, -1};
    for (std::size_t i = 0; i < open.size(); ++i) {
      if ((subset >> i & 1u) == 0) continue;
      step.axes.push_back(open.at[i]);
      step.after = without(step.after, open.at[i]);
    }
    if (step.axes.size() == 1 || scope.several) steps.push_back(step);
  }
}

constexpr std::array<ReshardPrimitive, 6> kPrimitives = {{
    {"slice", std::nullopt, slices},
    {"permute", Collective::collective_permute, permutes},
    {"all-to-all", Collective::all_to_all, all_to_alls},
    {"reduce-scatter", Collective::reduce_scatter, reduce_scatters},
    {"all-gather", Collective::all_gather, all_gathers},
    {"all-reduce", Collective::all_reduce, all_reduces},
}};

std::optional<int> index_of(const Mesh& mesh, const std::string& name) {
  for (std::size_t a = 0; a < std::min(mesh.axes.size(), kMostAxes); ++a) {
    if (same_name(mesh.axes[a].name, name)) return static_cast<int>(a);
  }
  return std::nullopt;
}

}  // namespace

std::span<const ReshardPrimitive> reshard_primitives() {
  return kPrimitives;
}

std::optional<PackedLayout> pack(const Mesh& mesh, const Sharding& sharding) {
  if (sharding.dims.size() > kMostDims) return std::nullopt;
  PackedLayout packed = 0;
  for (std::size_t d = 0; d < sharding.dims.size(); ++d) {
    const std::vector<std::string>& axes = sharding.dims[d].axes;
    for (std::size_t order = 0; order < axes.size(); ++order) {
      const std::optional<int> axis = index_of(mesh, axes[order]);
      if (!axis) return std::nullopt;
      packed = with(packed, *axis, kFirstDim + static_cast<int>(d), order);
    }
  }
  for (const std::string& name : sharding.unreduced) {
    const std::optional<int> axis = index_of(mesh, name);
    if (!axis) return std::nullopt;
    packed = with(packed, *axis, kUnreduced, 0);
  }
  return packed;
}

bool AxisList::has(int axis) const {
  return std::find(begin(), end(), axis) != end();
}

AxisList AxisList::last(std::size_t n) const {
  AxisList result;
  for (std::size_t i = count - n; i < count; ++i) result.push_back(at[i]);
  return result;
}

PlacedAxes placed(PackedLayout packed, std::size_t dims, std::size_t axes) {
  PlacedAxes result;
  result.dim_count = dims;
  for (int axis = 0; axis < static_cast<int>(std::min(axes, kMostAxes)); ++axis) {
    const int place = place_of(packed, axis);
    if (place == 0) {
      result.unused.push_back(axis);
    } else if (place == kUnreduced) {
      result.unreduced.push_back(axis);
    } else {
      AxisList& dim = result.dims[static_cast<std::size_t>(place - kFirstDim)];
      dim.at[packed >> (8 * axis) & 0xf] = static_cast<std::uint8_t>(axis);
      ++dim.count;
    }
  }
  return result;
}

Sharding unpack(const Mesh& mesh, PackedLayout packed, const Sharding& like) {
  const PlacedAxes at = placed(packed, like.dims.size(), mesh.axes.size());
  Sharding result;
  for (std::size_t d = 0; d < like.dims.size(); ++d) {
    result.dims.push_back({like.dims[d].dim, {}});
    for (const int axis : at.dims[d]) {
      result.dims.back().axes.push_back(mesh.axes[static_cast<std::size_t>(axis)].name);
    }
  }
  for (const std::string& name : like.unreduced) {
    const bool kept = std::any_of(at.unreduced.begin(), at.unreduced.end(), [&](int axis) {
      return mesh.axes[static_cast<std::size_t>(axis)].name == name;
    });
    if (kept) result.unreduced.push_back(name);
  }
  return result;
}

}  // namespace shardsim
