#include "plan/reshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/must.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

// The part that takes the axes: the first of more than one row; and the rows within each of its.
struct Major {
  std::string dim;
  int rows = 1;
  double below = 1;
};

struct Attempt {
  const Layer& layer;
  const Mesh& mesh;
  const LayerTensor& from;
  const Sharding& layout;
  Regroup change;
  Major major;
};

Major major_part(const Layer& layer, const std::vector<std::string>& parts) {
  auto part = std::find_if(parts.begin(), parts.end(),
                           [&](const std::string& dim) { return layer.dim_size(dim) > 1; });
  if (part == parts.end()) part = parts.begin();
  Major major{*part, layer.dim_size(*part), 1};
  while (++part != parts.end()) major.below *= layer.dim_size(*part);
  return major;
}

// The first of the axes that together cut the major part into whole blocks.
Axes fitting(const Attempt& a, Axes axes) {
  if (a.major.below == 1) return axes;
  while (a.major.rows % a.mesh.size_of(axes) != 0) axes.pop_back();
  return axes;
}

std::string sized(const Layer& layer, const std::string& dim) {
  return fmt::format("{} = {}", dim, layer.dim_size(dim));
}

std::string in_words(const Attempt& a) {
  std::vector<std::string> sizes;
  for (const std::string& part : a.change.parts) sizes.push_back(sized(a.layer, part));
  const std::string parts = fmt::format("{}", fmt::join(sizes, " times "));
  const std::string one = sized(a.layer, a.change.one);
  return a.change.splits ? fmt::format("{} of {} becomes {}", one, a.from.name, parts)
                         : fmt::format("{} of {} become {}", parts, a.from.name, one);
}

// A mesh axis of which a part would do.
std::string sub_axis_hint(const Attempt& a, const Axes& stay, const std::string& stuck) {
  const int size = a.mesh.find(stuck)->size;
  const int part = std::gcd(a.major.rows / a.mesh.size_of(stay), size);
  if (part == 1) return "";
  return fmt::format(
      "; or make {0} two mesh axes, the first of {1}, and cut over that one: every block of {2} is "
      "then held by {3} devices",
      stuck, part, a.major.dim, size / part);
}

// `dim` of the operand can keep no more than the axes `stay`.
Reshaped refused(const Attempt& a, const std::string& dim, const Axes& stay) {
  const Axes& axes = a.layout.find(dim)->axes;
  const Axes rest(axes.begin() + static_cast<std::ptrdiff_t>(stay.size()), axes.end());
  const bool minor = dim != a.change.one && dim != a.major.dim;
  const int shards = a.mesh.size_of(axes);
  Reshaped result;
  result.error = fmt::format("{}, and {} is cut over {} = {} devices", in_words(a), dim,
                             fmt::join(axes, ", "), shards);
  result.error += minor ? fmt::format(": expected a cut of {}, the major part, alone", a.major.dim)
                        : fmt::format(": {} does not divide {}, so cuts would go inside {}", shards,
                                      sized(a.layer, a.major.dim), a.change.parts.back());
  Sharding legal = a.layout;
  for (DimLayout& cut : legal.dims) {
    if (cut.dim == dim) cut.axes = stay;
  }
  result.hint = fmt::format("write {}{} to have it gathered over {}", a.from.name, to_text(legal),
                            fmt::join(rest, ", "));
  if (!minor) result.hint += sub_axis_hint(a, stay, rest.front());
  return result;
}

}  // namespace

std::optional<Regroup> regroup(const std::vector<std::string>& from,
                               const std::vector<std::string>& to) {
  const auto first = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  const auto last = std::mismatch(from.rbegin(), std::make_reverse_iterator(first.first),
                                  to.rbegin(), std::make_reverse_iterator(first.second));
  const std::vector<std::string> old(first.first, last.first.base());
  const std::vector<std::string> made(first.second, last.second.base());
  if (old.empty() || made.empty() || (old.size() > 1 && made.size() > 1)) return std::nullopt;
  if (old.size() == 1) return Regroup{true, old.front(), made};
  return Regroup{false, made.front(), old};
}

Reshaped reshaped(const Layer& layer, const Mesh& mesh, const LayerTensor& from,
                  const Sharding& layout, const LayerTensor& to) {
  if (from.dims == to.dims) return {layout, "", ""};
  const std::optional<Regroup> change = regroup(from.dims, to.dims);
  must(change.has_value(), "make_layer refuses what is no reshape");
  const Attempt a{layer, mesh, from, layout, *change, major_part(layer, change->parts)};
  const std::string& cut = change->splits ? change->one : a.major.dim;
  const std::string& then = change->splits ? a.major.dim : change->one;
  for (const DimLayout& dim : layout.dims) {
    if (std::find(to.dims.begin(), to.dims.end(), dim.dim) != to.dims.end()) continue;
    const Axes stay = dim.dim == cut ? fitting(a, dim.axes) : Axes{};
    if (stay != dim.axes) return refused(a, dim.dim, stay);
  }
  Reshaped result;
  for (const std::string& dim : to.dims) {
    const DimLayout* before = layout.find(dim == then ? cut : dim);
    result.out.dims.push_back({dim, before == nullptr ? Axes{} : before->axes});
  }
  result.out.unreduced = layout.unreduced;
  return result;
}

}  // namespace shardsim
