#include "plan/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "base/must.h"
#include "plan/reshard_moves.h"
#include "plan/reshard_search.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

// So many axes that move are searched in full.
constexpr int kAllAxes = 2;
// Layouts that the search for something better than a straight way may settle, about a millisecond.
constexpr std::size_t kMostLayouts = 100;

std::size_t common_prefix(const Axes& a, const Axes& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

void append(ReshardPlan& plan, const ReshardTask& task, ShardedCollective c) {
  if (task.mesh().size_of(c.axes) == 1) return;
  plan.price += task.pricing.collective(c);
  plan.bytes += c.bytes;
  plan.steps.push_back(std::move(c));
}

// Replicating and cutting again is what compilers call involuntary full rematerialization
// (openxla/xla issue 15207).
void warn(ReshardPlan& plan, const ReshardTask& task, const ShardedCollective& gather,
          const DimLayout& cut) {
  plan.warnings.push_back(
      fmt::format("{}: {} is gathered whole over {} ({}) and cut again over {}: {} -> {}",
                  task.array.name, gather.dim, fmt::join(gather.axes, ", "), to_text(gather.bytes),
                  fmt::join(cut.axes, ", "), to_text(task.from), to_text(task.to)));
}

void find_rematerializations(ReshardPlan& plan, const ReshardTask& task) {
  for (const ShardedCollective& c : plan.steps) {
    const DimLayout* after = c.after.find(c.dim);
    if (c.kind != Collective::all_gather || !after->axes.empty()) continue;
    const DimLayout* wanted = task.to.find(c.dim);
    if (!wanted->axes.empty()) warn(plan, task, c, *wanted);
  }
}

// On larger meshes: axes that both layouts have major-most in a dim stay, and of the dims that do
// not change only the largest may be cut meanwhile.
void narrow(ReshardScope& scope, const ReshardTask& task, PackedLayout from) {
  const PlacedAxes a = placed(from, scope.dims, scope.mesh.axes.size());
  const PlacedAxes b = placed(scope.target, scope.dims, scope.mesh.axes.size());
  scope.dims_used = 0;
  scope.towards = true;
  std::optional<std::size_t> spare;
  for (std::size_t d = 0; d < scope.dims; ++d) {
    const AxisList &x = a.dims[d], &y = b.dims[d];
    for (std::size_t i = 0; i < x.size() && i < y.size() && x.at[i] == y.at[i]; ++i) {
      scope.usable &= ~(std::uint64_t{1} << x.at[i]);
    }
    const auto size = [&](std::size_t dim) { return task.layer.dim_size(task.from.dims[dim].dim); };
    if (x != y) {
      scope.dims_used |= std::uint64_t{1} << d;
    } else if (!spare || size(d) > size(*spare)) {
      spare = d;
    }
  }
  if (spare) scope.dims_used |= std::uint64_t{1} << *spare;
}

std::string in_part_text(const ReshardTask& task) {
  return fmt::format("{}: {} -> {} was searched in part: there may be a cheaper way",
                     task.array.name, to_text(task.from), to_text(task.to));
}

// At once, and axis by axis: however many axes move, some way is found.
void take_dives(const ReshardTask& task, ReshardScope scope, PackedLayout from,
                SearchResult& best) {
  for (const bool several : {scope.several, false}) {
    scope.several = several;
    SearchLimits limits;
    limits.dive = true;
    SearchResult found = find_path(task, scope, from, limits);
    if (found.path && (!best.path || found.cost < best.cost)) best = std::move(found);
  }
}

// More axes: the cheapest straight way first. A reshard by itself is worth a search for a cheaper
// one; those around statements are priced by the hundred.
SearchResult search_many(const ReshardTask& task, const ReshardScope& scope, PackedLayout from,
                         ReshardFreedom freedom, std::vector<std::string>& warnings) {
  ReshardScope straight = scope;
  straight.straight = true;
  SearchResult best = find_path(task, straight, from, {});
  const bool in_part = best.given_up;
  if (in_part) take_dives(task, straight, from, best);
  if (!best.path || (scope.straight && !in_part)) return best;
  if (freedom == ReshardFreedom::used_axes && !in_part) {
    warnings.push_back(fmt::format(
        "{}: {} -> {} moves {} mesh axes: each goes only where it is "
        "wanted, there may be a cheaper way",
        task.array.name, to_text(task.from), to_text(task.to), std::popcount(scope.usable)));
    return best;
  }
  SearchResult other;
  if (freedom != ReshardFreedom::used_axes && !scope.straight) {
    SearchLimits limits;
    limits.layouts = kMostLayouts;
    limits.below = best.cost * (1 - 1e-9);
    other = find_path(task, scope, from, limits);
  }
  if (in_part || (other.given_up && !other.path)) {
    warnings.push_back(in_part_text(task));
  }
  return other.path ? other : best;
}

// What a search may do on a mesh of few axes.
ReshardScope scope_of(const ReshardTask& task, PackedLayout from, PackedLayout to,
                      ReshardFreedom freedom) {
  const Mesh& mesh = task.mesh();
  ReshardScope scope{mesh,
                     task.from.dims.size(),
                     to,
                     0,
                     freedom == ReshardFreedom::straight,
                     freedom != ReshardFreedom::single_axes};
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    const bool idle = freedom != ReshardFreedom::used_axes && mesh.axes[a].size > 1;
    if (idle || ((from | to) >> (8 * a) & 0xff) != 0) {
      scope.usable |= std::uint64_t{1} << a;
    }
  }
  return scope;
}

// All that a search depends on beside the mesh and its prices.
std::string question_of(const ReshardTask& task, PackedLayout from, PackedLayout to,
                        ReshardFreedom freedom) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(from);
  add(to);
  add(freedom);
  add(task.array.element_bytes);
  for (const DimLayout& dim : task.from.dims) add(task.layer.dim_size(dim.dim));
  return bytes;
}

ReshardPlan along(const ReshardTask& task, const ReshardPath& path) {
  ReshardPlan plan;
  for (const auto& [before, step] : path) {
    if (!reshard_primitives()[static_cast<std::size_t>(step.row)].kind) continue;
    append(plan, task, collective_of(task, step, before));
  }
  return plan;
}

std::optional<ReshardPlan> search(const ReshardTask& task, ReshardFreedom freedom) {
  const Mesh& mesh = task.mesh();
  const std::optional<PackedLayout> from = pack(mesh, task.from);
  const std::optional<PackedLayout> to = pack(mesh, task.to);
  if (!from || !to) return std::nullopt;
  const std::string question = question_of(task, *from, *to, freedom);
  if (const ReshardPath* known = task.pricing.way(question)) return along(task, *known);
  ReshardScope scope = scope_of(task, *from, *to, freedom);
  if (mesh.axes.size() > kAllAxes) narrow(scope, task, *from);
  std::vector<std::string> warnings;
  const SearchResult found = std::popcount(scope.usable) > kAllAxes
                                 ? search_many(task, scope, *from, freedom, warnings)
                                 : find_path(task, scope, *from, {});
  if (!found.path) return std::nullopt;
  // The cheapest of all; warnings name the array.
  const bool certain = !found.given_up && !std::isfinite(task.most / Seconds{1});
  if (certain && warnings.empty()) task.pricing.keep_way(question, *found.path);
  ReshardPlan plan = along(task, *found.path);
  plan.warnings = std::move(warnings);
  return plan;
}

// Without a search: reduce what must be, gather every dim to what both layouts begin with, cut.
ReshardPlan gather_and_cut(const ReshardTask& task) {
  ReshardPlan plan;
  plan.warnings.push_back(
      fmt::format("{}: {} -> {} has no way within the bounds of the search: gathered and cut again",
                  task.array.name, to_text(task.from), to_text(task.to)));
  ShardedCollective c;
  c.tensor = task.array.name;
  c.before = task.from;
  const auto step = [&](Collective kind, Axes axes) {
    c.kind = kind;
    c.axes = std::move(axes);
    c.bytes =
        reshard_bytes(kind, task.local(c.before), task.local(c.after), task.mesh().size_of(c.axes));
    append(plan, task, c);
    c.before = c.after;
  };
  c.after = task.from;
  c.after.unreduced = task.to.unreduced;
  Axes open;
  for (const std::string& axis : task.from.unreduced) {
    const Axes& kept = task.to.unreduced;
    if (std::find(kept.begin(), kept.end(), axis) == kept.end()) open.push_back(axis);
  }
  if (!open.empty()) step(Collective::all_reduce, open);
  for (std::size_t d = 0; d < task.from.dims.size(); ++d) {
    Axes& axes = c.after.dims[d].axes;
    const auto keep =
        axes.begin() + static_cast<std::ptrdiff_t>(common_prefix(axes, task.to.dims[d].axes));
    const Axes gathered(keep, axes.end());
    if (gathered.empty()) continue;
    axes.erase(keep, axes.end());
    c.dim = task.from.dims[d].dim;
    step(Collective::all_gather, gathered);
  }
  return plan;
}

// Everything whole, then cut.
ReshardPlan through_whole(const ReshardTask& task) {
  Sharding plain = task.from;
  for (DimLayout& dim : plain.dims) dim.axes.clear();
  plain.unreduced = task.to.unreduced;
  const ReshardTask all{task.layer, task.pricing, task.array, task.from, plain};
  const std::optional<ReshardPlan> found = search(all, ReshardFreedom::straight);
  return found ? *found : gather_and_cut(all);
}

// What a bounded search missed.
void take_cheaper(const ReshardTask& task, ReshardPlan& plan, std::optional<ReshardPlan> other) {
  if (!other || other->price >= plan.price * (1 - 1e-9)) return;
  plan = std::move(*other);
  plan.warnings = {in_part_text(task)};
}

}  // namespace

int local_size(const Layer& layer, const Mesh& mesh, const DimLayout& dim) {
  const int size = layer.dim_size(dim.dim);
  return dim.axes.empty() ? size : local_dim(size, mesh.size_of(dim.axes)).size;
}

double local_elements(const Layer& layer, const Mesh& mesh, const Sharding& sharding) {
  double product = 1;
  for (const DimLayout& dim : sharding.dims) product *= local_size(layer, mesh, dim);
  return product;
}

Bytes local_bytes(const Layer& layer, const Mesh& mesh, const Sharding& sharding,
                  double element_bytes) {
  return Bytes{local_elements(layer, mesh, sharding) * element_bytes};
}

ReshardPlan reshard(const Layer& layer, PriceBook& pricing, const ArrayInfo& array,
                    const Sharding& from, const Sharding& to, ReshardFreedom freedom) {
  const Seconds any{std::numeric_limits<double>::infinity()};
  return *reshard_within(layer, pricing, array, from, to, freedom, any);
}

std::optional<ReshardPlan> reshard_within(const Layer& layer, PriceBook& pricing,
                                          const ArrayInfo& array, const Sharding& from,
                                          const Sharding& to, ReshardFreedom freedom,
                                          Seconds most) {
  must(from.dims.size() == to.dims.size(), "a reshard keeps the dims");
  if (only_slices(from, to)) return ReshardPlan{};
  ReshardTask task{layer, pricing, array, from, to};
  // The others are the best of several searches.
  const bool one_search =
      freedom == ReshardFreedom::used_axes || freedom == ReshardFreedom::straight;
  if (one_search && pack(task.mesh(), from) && pack(task.mesh(), to)) task.most = most;
  std::optional<ReshardPlan> plan = search(task, freedom);
  if (!plan && std::isfinite(task.most / Seconds{1})) return std::nullopt;
  if (!plan) plan = gather_and_cut(task);
  if (freedom == ReshardFreedom::any && pricing.mesh().axes.size() > kAllAxes) {
    take_cheaper(task, *plan, search(task, ReshardFreedom::single_axes));
    take_cheaper(task, *plan, through_whole(task));
  }
  find_rematerializations(*plan, task);
  for (ShardedCollective& step : plan->steps) {  // the same ways for parts of any kind
    step.before.reduction = from.reduction;
    if (!step.after.unreduced.empty()) step.after.reduction = from.reduction;
  }
  if (plan->price > most) return std::nullopt;
  return plan;
}

Seconds reshard_bound(const Layer& layer, PriceBook& pricing, const ArrayInfo& array,
                      const Sharding& from, const Sharding& to, ReshardFreedom freedom) {
  const ReshardTask task{layer, pricing, array, from, to};
  const std::optional<PackedLayout> here = pack(task.mesh(), from);
  const std::optional<PackedLayout> there = pack(task.mesh(), to);
  if (!here || !there) return {};
  return least_price(task, scope_of(task, *here, *there, freedom), *here);
}

bool only_slices(const Sharding& from, const Sharding& to) {
  const bool same_sums = std::is_permutation(from.unreduced.begin(), from.unreduced.end(),
                                             to.unreduced.begin(), to.unreduced.end());
  if (!same_sums || from.dims.size() != to.dims.size()) return false;
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    const Axes& axes = from.dims[d].axes;
    if (common_prefix(axes, to.dims[d].axes) != axes.size()) return false;
  }
  return true;
}

Sharding whole(const std::vector<std::string>& dims) {
  Sharding result;
  result.dims.reserve(dims.size());
  for (const std::string& dim : dims) result.dims.emplace_back().dim = dim;
  return result;
}

}  // namespace shardsim
