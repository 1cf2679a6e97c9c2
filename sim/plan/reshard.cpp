#include "plan/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/must.h"
#include "plan/reshard_moves.h"
#include "plan/reshard_search.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

// When a search settles too many layouts, the bound on what is left counts this often: a plan at
// most as many times the least price.
constexpr double kHaste = 4;
// Meshes up to this size are searched in full.
constexpr std::size_t kAllAxes = 2;
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

std::optional<ReshardPlan> search(const ReshardTask& task, ReshardFreedom freedom) {
  const Mesh& mesh = task.mesh();
  const std::optional<PackedLayout> from = pack(mesh, task.from);
  const std::optional<PackedLayout> to = pack(mesh, task.to);
  if (!from || !to) return std::nullopt;
  ReshardScope scope{mesh,
                     task.from.dims.size(),
                     *to,
                     0,
                     freedom == ReshardFreedom::straight,
                     freedom != ReshardFreedom::single_axes};
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    const bool idle = freedom != ReshardFreedom::used_axes && mesh.axes[a].size > 1;
    if (idle || ((*from | *to) >> (8 * a) & 0xff) != 0) {
      scope.usable |= std::uint64_t{1} << a;
    }
  }
  if (mesh.axes.size() > kAllAxes) narrow(scope, task, *from);
  ReshardPlan plan;
  auto path = find_path(task, scope, *from, 1);
  if (!path) {
    path = find_path(task, scope, *from, kHaste);
    plan.warnings.push_back(
        fmt::format("{}: {} -> {} was searched in haste: within {:g} times the "
                    "least price",
                    task.array.name, to_text(task.from), to_text(task.to), kHaste));
  }
  if (!path) return std::nullopt;
  for (const auto& [before, step] : *path) {
    if (!reshard_primitives()[static_cast<std::size_t>(step.row)].kind) continue;
    append(plan, task, collective_of(task, step, before));
  }
  return plan;
}

// Without a search: reduce what must be, gather every dim to what both layouts begin with, cut.
ReshardPlan gather_and_cut(const ReshardTask& task) {
  ReshardPlan plan;
  plan.warnings.push_back(
      fmt::format("{}: {} -> {} was not searched, too many axes; gathered and cut again",
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

}  // namespace

double local_elements(const Layer& layer, const Mesh& mesh, const Sharding& sharding) {
  double product = 1;
  for (const DimLayout& dim : sharding.dims) {
    product *= local_dim(layer.dim_size(dim.dim), mesh.size_of(dim.axes)).size;
  }
  return product;
}

Bytes local_bytes(const Layer& layer, const Mesh& mesh, const Sharding& sharding,
                  double element_bytes) {
  return Bytes{local_elements(layer, mesh, sharding) * element_bytes};
}

ReshardPlan reshard(const Layer& layer, PriceBook& pricing, const ArrayInfo& array,
                    const Sharding& from, const Sharding& to, ReshardFreedom freedom) {
  must(from.dims.size() == to.dims.size(), "a reshard keeps the dims");
  if (only_slices(from, to)) return {};
  const ReshardTask task{layer, pricing, array, from, to};
  std::optional<ReshardPlan> plan = search(task, freedom);
  if (!plan && freedom != ReshardFreedom::straight) plan = search(task, ReshardFreedom::straight);
  if (!plan) plan = gather_and_cut(task);
  find_rematerializations(*plan, task);
  return std::move(*plan);
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
  for (const std::string& dim : dims) result.dims.push_back({dim, {}});
  return result;
}

}  // namespace shardsim
