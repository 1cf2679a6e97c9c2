#include "plan/reshard.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/must.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

bool has(const Axes& axes, const std::string& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::size_t common_prefix(const Axes& a, const Axes& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

bool is_prefix(const Axes& a, const Axes& b) {
  return common_prefix(a, b) == a.size();
}

// One reshard under way: `now` moves from the given layout to `to`.
struct Move {
  const Layer& layer;
  const Mesh& mesh;
  const ArrayInfo& array;
  Sharding now;
  const Sharding& to;
  std::vector<ShardedCollective> done;
};

// V (JAX Scaling Book ch. 3): of the array whole within the group, with the padding of its blocks.
Bytes group_bytes(const Move& m, const Sharding& cut, const Axes& axes) {
  return local_bytes(m.layer, m.mesh, cut, m.array.element_bytes) * m.mesh.size_of(axes);
}

// V of an all-to-all: a block cut on both dims for every pair of devices, with its padding.
Bytes all_to_all_bytes(const Move& m, const ShardedCollective& c) {
  Sharding pair = c.before;
  for (DimLayout& dim : pair.dims) {
    if (dim.dim == c.to_dim) dim.axes.insert(dim.axes.end(), c.axes.begin(), c.axes.end());
  }
  return group_bytes(m, pair, c.axes) * m.mesh.size_of(c.axes);
}

void step(Move& m, Collective kind, Axes axes, std::string dim, std::string to_dim,
          Sharding after) {
  ShardedCollective c;
  c.kind = kind;
  c.tensor = m.array.name;
  c.axes = std::move(axes);
  c.dim = std::move(dim);
  c.to_dim = std::move(to_dim);
  c.before = m.now;
  c.after = std::move(after);
  switch (kind) {
    case Collective::reduce_scatter:
      c.bytes = group_bytes(m, c.after, c.axes);
      break;
    case Collective::all_gather:
      c.bytes = group_bytes(m, c.before, c.axes);
      break;
    case Collective::all_to_all:
      c.bytes = all_to_all_bytes(m, c);
      break;
    case Collective::all_reduce:
    case Collective::collective_permute:
      c.bytes = local_bytes(m.layer, m.mesh, c.before, m.array.element_bytes);
      break;
  }
  m.now = c.after;
  if (m.mesh.size_of(c.axes) > 1) m.done.push_back(std::move(c));
}

void drop_unreduced(Sharding& sharding, const Axes& axes) {
  std::erase_if(sharding.unreduced, [&](const std::string& axis) { return has(axes, axis); });
}

bool uses(const Sharding& sharding, const std::string& axis) {
  return sharding.dim_of_axis(axis) != nullptr || has(sharding.unreduced, axis);
}

// Cuts over axes that the array does not use yet are free, and make what follows smaller.
void slices(Move& m) {
  for (std::size_t d = 0; d < m.now.dims.size(); ++d) {
    Axes& now = m.now.dims[d].axes;
    const Axes& to = m.to.dims[d].axes;
    if (!is_prefix(now, to)) continue;
    while (now.size() < to.size() && !uses(m.now, to[now.size()])) now.push_back(to[now.size()]);
  }
}

// Partial sums that the target holds cut: the axes that come next in the target's order of that
// dim.
void reduce_scatters(Move& m) {
  for (std::size_t d = 0; d < m.now.dims.size(); ++d) {
    const Axes& from = m.now.dims[d].axes;
    const Axes& to = m.to.dims[d].axes;
    if (!is_prefix(from, to)) continue;
    Axes axes;
    for (std::size_t i = from.size(); i < to.size() && has(m.now.unreduced, to[i]); ++i) {
      axes.push_back(to[i]);
    }
    if (axes.empty()) continue;
    Sharding after = m.now;
    drop_unreduced(after, axes);
    after.dims[d].axes.insert(after.dims[d].axes.end(), axes.begin(), axes.end());
    step(m, Collective::reduce_scatter, axes, m.now.dims[d].dim, "", std::move(after));
  }
}

void all_reduce_rest(Move& m) {
  Axes axes;
  for (const std::string& axis : m.now.unreduced) {
    if (!has(m.to.unreduced, axis)) axes.push_back(axis);
  }
  if (axes.empty()) return;
  Sharding after = m.now;
  drop_unreduced(after, axes);
  step(m, Collective::all_reduce, axes, "", "", std::move(after));
}

// The dim that takes this axis next, or -1.
int next_taker(const Move& m, const std::string& axis) {
  for (std::size_t d = 0; d < m.to.dims.size(); ++d) {
    const Axes& now = m.now.dims[d].axes;
    const Axes& to = m.to.dims[d].axes;
    if (is_prefix(now, to) && now.size() < to.size() && to[now.size()] == axis) {
      return static_cast<int>(d);
    }
  }
  return -1;
}

// Takes the minor-most axis of dim d away: to the dim that wants it, or by gathering all that must
// go.
void remove_axes(Move& m, std::size_t d) {
  const std::size_t keep = common_prefix(m.now.dims[d].axes, m.to.dims[d].axes);
  while (m.now.dims[d].axes.size() > keep) {
    Sharding after = m.now;
    Axes& axes = after.dims[d].axes;
    const int taker = next_taker(m, axes.back());
    if (taker >= 0 && static_cast<std::size_t>(taker) != d) {
      const std::string axis = axes.back();
      axes.pop_back();
      DimLayout& target = after.dims[static_cast<std::size_t>(taker)];
      target.axes.push_back(axis);
      step(m, Collective::all_to_all, {axis}, m.now.dims[d].dim, target.dim, std::move(after));
      continue;
    }
    const auto first = axes.begin() + static_cast<std::ptrdiff_t>(keep);
    const Axes gathered(first, axes.end());
    axes.erase(first, axes.end());
    step(m, Collective::all_gather, gathered, m.now.dims[d].dim, "", std::move(after));
  }
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

std::vector<ShardedCollective> reshard(const Layer& layer, const Mesh& mesh, const ArrayInfo& array,
                                       const Sharding& from, const Sharding& to) {
  must(from.dims.size() == to.dims.size(), "a reshard keeps the dims");
  Move m{layer, mesh, array, from, to, {}};
  slices(m);
  reduce_scatters(m);
  slices(m);
  all_reduce_rest(m);
  slices(m);
  for (std::size_t d = 0; d < from.dims.size(); ++d) remove_axes(m, d);
  return std::move(m.done);
}

bool only_slices(const Sharding& from, const Sharding& to) {
  if (from.unreduced != to.unreduced || from.dims.size() != to.dims.size()) return false;
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    if (!is_prefix(from.dims[d].axes, to.dims[d].axes)) return false;
  }
  return true;
}

Sharding whole(const std::vector<std::string>& dims) {
  Sharding result;
  for (const std::string& dim : dims) result.dims.push_back({dim, {}});
  return result;
}

}  // namespace shardsim
