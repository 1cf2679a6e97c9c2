#include "plan/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace shardsim {
namespace {

enum class DimClass { batch, contracted, free, summed };

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

DimClass classify(std::string_view dim, const Sharding& other,
                  const std::vector<std::string>& out) {
  const bool in_other = other.find(dim) != nullptr;
  const bool in_out = has(out, dim);
  if (in_other) return in_out ? DimClass::batch : DimClass::contracted;
  return in_out ? DimClass::free : DimClass::summed;
}

// What one axis does to the two operands.
struct AxisView {
  std::array<std::string, 2> dim;  // the dim it cuts in each, or empty
  std::array<DimClass, 2> kind = {DimClass::free, DimClass::free};
  bool in(int operand) const { return !dim[static_cast<std::size_t>(operand)].empty(); }
};

// One einsum being planned: the layouts move from the given ones to the multiplied ones.
struct Planner {
  const Layer& layer;
  const Mesh& mesh;
  const Einsum& einsum;
  EinsumPlan plan;

  const std::string& name(int operand) const {
    return einsum.in[static_cast<std::size_t>(operand)].array.name;
  }
  Sharding& layout(int operand) { return plan.operands[static_cast<std::size_t>(operand)]; }
};

AxisView view_axis(const Sharding& a, const Sharding& b, const std::vector<std::string>& out,
                   std::string_view axis) {
  AxisView view;
  if (const std::string* dim = a.dim_of_axis(axis)) {
    view.dim[0] = *dim;
    view.kind[0] = classify(*dim, b, out);
  }
  if (const std::string* dim = b.dim_of_axis(axis)) {
    view.dim[1] = *dim;
    view.kind[1] = classify(*dim, a, out);
  }
  return view;
}

bool same_shared_dim(const AxisView& v) {
  return v.dim[0] == v.dim[1] &&
         (v.kind[0] == DimClass::batch || v.kind[0] == DimClass::contracted);
}

AxisCase single_case(const Einsum& e, const AxisView& v, const std::string& axis) {
  const auto i = static_cast<std::size_t>(v.in(0) ? 0 : 1);
  const std::string& name = e.in[i].array.name;
  const std::string& other = e.in[1 - i].array.name;
  switch (v.kind[i]) {
    case DimClass::free:
      return {axis, 1, fmt::format("cuts {} of {} only, and so of {}", v.dim[i], name, e.out.name)};
    case DimClass::batch:
      return {axis, 1,
              fmt::format("cuts the batch dim {} of {}; {} keeps its block of it", v.dim[i], name,
                          other)};
    case DimClass::summed:
      return {axis, 1, fmt::format("cuts {} of {}, which is summed: partial sums", v.dim[i], name)};
    case DimClass::contracted:
      break;
  }
  return {axis, 2, fmt::format("cuts the contracted dim {} of {} only", v.dim[i], name)};
}

AxisCase axis_case(const Einsum& e, const std::string& axis) {
  const AxisView v = view_axis(e.in[0].layout, e.in[1].layout, e.out_dims, axis);
  const std::string& a = e.in[0].array.name;
  const std::string& b = e.in[1].array.name;
  if (!v.in(0) && !v.in(1)) {
    const bool partial = has(e.in[0].layout.unreduced, axis) || has(e.in[1].layout.unreduced, axis);
    return {axis, 1,
            partial ? "an operand is a partial sum over it, and so is the output"
                    : "cuts neither operand: its devices repeat the same work"};
  }
  if (!v.in(0) || !v.in(1)) return single_case(e, v, axis);
  if (same_shared_dim(v) && v.kind[0] == DimClass::batch) {
    return {axis, 1, fmt::format("cuts the batch dim {} of both", v.dim[0])};
  }
  if (same_shared_dim(v)) {
    return {axis, 3, fmt::format("cuts the contracted dim {} of both: partial sums", v.dim[0])};
  }
  const std::string both = fmt::format("cuts {} of {} and {} of {}", v.dim[0], a, v.dim[1], b);
  if (v.kind[0] == DimClass::contracted || v.kind[1] == DimClass::contracted) {
    return {axis, 2,
            both + fmt::format("; {} is contracted",
                               v.kind[0] == DimClass::contracted ? v.dim[0] : v.dim[1])};
  }
  return {axis, 4, both};
}

void remove_axis(Sharding& sharding, const std::string& axis) {
  for (DimLayout& dim : sharding.dims) std::erase(dim.axes, axis);
}

Sharding without(Sharding sharding, const std::string& axis) {
  remove_axis(sharding, axis);
  return sharding;
}

DimLayout& dim_of(Sharding& sharding, std::string_view dim) {
  return *std::find_if(sharding.dims.begin(), sharding.dims.end(),
                       [&](const DimLayout& layout) { return layout.dim == dim; });
}

// V of gathering this operand over the axis: its bytes as multiplied.
Bytes gather_bytes(Planner& p, int operand, const std::string& axis) {
  return local_bytes(p.layer, p.mesh, without(p.layout(operand), axis),
                     p.einsum.in[static_cast<std::size_t>(operand)].array.element_bytes);
}

// Bytes of reducing the output over the axis: a reduce-scatter where the wish is cut over it, else
// an all-reduce, which moves twice as much.
Bytes reduce_bytes(Planner& p, const std::string& axis) {
  const Sharding out = einsum_output(p.mesh, p.layout(0), p.layout(1), p.einsum.out_dims);
  const Bytes once = local_bytes(p.layer, p.mesh, out, p.einsum.out.element_bytes);
  const bool scatter = p.einsum.wish != nullptr && p.einsum.wish->dim_of_axis(axis) != nullptr;
  return scatter ? once : once * 2;
}

bool pinned(const Planner& p, int operand, const std::string& axis) {
  return has(p.einsum.in[static_cast<std::size_t>(operand)].gather_axes, axis);
}

void gather(Planner& p, int operand, const std::string& axis, int number, const std::string& why,
            std::vector<std::string> alternatives) {
  const EinsumOperand& in = p.einsum.in[static_cast<std::size_t>(operand)];
  const std::string because =
      pinned(p, operand, axis) ? in.pin_text : fmt::format("it is the cheaper one to move");
  p.plan.gatherings.push_back(
      {operand, axis, number,
       fmt::format("{} {}; {} is gathered: {}", axis, why, in.array.name, because),
       std::move(alternatives)});
  remove_axis(p.layout(operand), axis);
}

// Whether `operand` can be cut over the axis like the other one: it does not use the axis, and its
// axes of that dim are the major ones of the other's.
bool can_slice(Planner& p, int operand, const std::string& dim, const std::string& axis) {
  Sharding& mine = p.layout(operand);
  if (mine.dim_of_axis(axis) != nullptr || has(mine.unreduced, axis)) return false;
  const std::vector<std::string>& theirs = p.layout(1 - operand).find(dim)->axes;
  const std::vector<std::string>& own = dim_of(mine, dim).axes;
  return own.size() < theirs.size() && std::equal(own.begin(), own.end(), theirs.begin()) &&
         theirs[own.size()] == axis;
}

// Cuts the axes up to and including `axis` that are free in this operand.
bool slice(Planner& p, int operand, const std::string& dim, const std::string& axis) {
  const std::vector<std::string> theirs = p.layout(1 - operand).find(dim)->axes;
  Sharding& mine = p.layout(operand);
  const Sharding before = mine;
  for (const std::string& next : theirs) {
    if (can_slice(p, operand, dim, next)) dim_of(mine, dim).axes.push_back(next);
    if (next == axis) break;
  }
  if (mine.find(dim)->axes.size() > 0 && mine.find(dim)->axes.back() == axis) return true;
  mine = before;
  return false;
}

// Case 2, and batch dims cut in one operand: the other operand does not use the axis.
void settle_single(Planner& p, const AxisView& v, const std::string& axis) {
  const int cut = v.in(0) ? 0 : 1;
  const auto i = static_cast<std::size_t>(cut);
  const std::string& dim = v.dim[i];
  if (v.kind[i] == DimClass::free || v.kind[i] == DimClass::summed) return;
  const Sharding before = p.layout(1 - cut);
  const bool sliced = slice(p, 1 - cut, dim, axis);
  if (v.kind[i] == DimClass::batch) {
    if (!sliced) gather(p, cut, axis, 1, fmt::format("cuts {} of {} only", dim, p.name(cut)), {});
    return;
  }
  const std::string why = fmt::format("cuts the contracted dim {} of {} only", dim, p.name(cut));
  if (!sliced) {
    gather(p, cut, axis, 2, why,
           {fmt::format("slice {}: refused, its axes of {} do not fit", p.name(1 - cut), dim)});
    return;
  }
  const Bytes reduction = reduce_bytes(p, axis);
  const Bytes whole_operand = gather_bytes(p, cut, axis);
  if (!pinned(p, cut, axis) && reduction <= whole_operand) return;  // case 3 from here on
  p.layout(1 - cut) = before;
  gather(p, cut, axis, 2, why,
         {fmt::format("slice {} and reduce {} instead: {}", p.name(1 - cut), p.einsum.out.name,
                      to_text(reduction))});
}

// The axis cuts different dims of the two operands (case 4, or a contracted dim against another
// one).
void settle_conflict(Planner& p, const AxisView& v, const std::string& axis) {
  const bool contracted = v.kind[0] == DimClass::contracted || v.kind[1] == DimClass::contracted;
  std::array<Bytes, 2> price = {gather_bytes(p, 0, axis), gather_bytes(p, 1, axis)};
  // Gathering the other one leaves a case 2 behind, which costs a reduction at least.
  for (const std::size_t i : {0u, 1u}) {
    if (v.kind[i] != DimClass::contracted && v.kind[1 - i] == DimClass::contracted) {
      price[i] += reduce_bytes(p, axis);
    }
  }
  int chosen = price[1] < price[0] ? 1 : 0;
  if (pinned(p, 0, axis) != pinned(p, 1, axis)) chosen = pinned(p, 0, axis) ? 0 : 1;
  const auto other = static_cast<std::size_t>(1 - chosen);
  const bool then_reduce = v.kind[static_cast<std::size_t>(chosen)] == DimClass::contracted &&
                           v.kind[other] != DimClass::contracted;
  std::vector<std::string> alternatives = {fmt::format(
      "gather {} instead{}: {}", p.name(1 - chosen),
      then_reduce ? fmt::format(", then slice it and reduce {}", p.einsum.out.name) : "",
      to_text(price[other]))};
  if (v.kind[static_cast<std::size_t>(chosen)] == DimClass::contracted) {
    alternatives.push_back(
        fmt::format("slice {}: refused, it uses {} on {}", p.name(1 - chosen), axis, v.dim[other]));
  }
  gather(p, chosen, axis, contracted ? 2 : 4,
         fmt::format("cuts {} of {} and {} of {}", v.dim[0], p.name(0), v.dim[1], p.name(1)),
         std::move(alternatives));
}

void settle(Planner& p, const std::string& axis) {
  // Each round takes the axis away from one operand, so two are enough.
  for (int round = 0; round < 3; ++round) {
    const AxisView v = view_axis(p.layout(0), p.layout(1), p.einsum.out_dims, axis);
    if (!v.in(0) && !v.in(1)) return;
    if (!v.in(0) || !v.in(1)) return settle_single(p, v, axis);
    if (same_shared_dim(v)) return;
    settle_conflict(p, v, axis);
  }
}

bool same_axes(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// Takes away the axes of a shared dim that the other operand does not have in the same place.
void gather_difference(Planner& p, int operand, const std::string& dim) {
  const std::vector<std::string> mine = p.layout(operand).find(dim)->axes;
  const std::vector<std::string> theirs = p.layout(1 - operand).find(dim)->axes;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (i < theirs.size() &&
        std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   theirs.begin())) {
      continue;
    }
    gather(p, operand, mine[i], 2,
           fmt::format("cuts {} of {} unlike {}", dim, p.name(operand), p.name(1 - operand)), {});
  }
}

// What is left after every axis has been settled alone: shared dims whose axes differ.
void settle_shared_dims(Planner& p) {
  const std::vector<DimLayout> dims = p.layout(0).dims;
  for (const DimLayout& dim : dims) {
    const DimLayout* other = p.layout(1).find(dim.dim);
    if (other == nullptr || other->axes == dim.axes) continue;
    if (!same_axes(dim.axes, other->axes)) {
      gather_difference(p, 0, dim.dim);
      gather_difference(p, 1, dim.dim);
      continue;
    }
    p.plan.errors.push_back(
        fmt::format("{0} is cut over {1} in {2} and over {3} in {4}: the blocks have equal shapes "
                    "but different contents",
                    dim.dim, fmt::join(dim.axes, " then "), p.name(0),
                    fmt::join(other->axes, " then "), p.name(1)));
  }
}

void check_unreduced(Planner& p) {
  const Sharding& a = p.layout(0);
  const Sharding& b = p.layout(1);
  for (const int i : {0, 1}) {
    const Sharding& mine = i == 0 ? a : b;
    const Sharding& other = i == 0 ? b : a;
    for (const std::string& axis : mine.unreduced) {
      const bool twice = has(other.unreduced, axis);
      if (!twice && other.dim_of_axis(axis) == nullptr) continue;
      p.plan.errors.push_back(
          fmt::format("{} is a partial sum over {}, so {} must be whole and replicated over {}",
                      p.name(i), axis, p.name(1 - i), axis));
      if (twice) return;
    }
  }
}

}  // namespace

std::vector<AxisCase> axis_cases(const Mesh& mesh, const Einsum& einsum) {
  std::vector<AxisCase> cases;
  for (const MeshAxis& axis : mesh.axes) cases.push_back(axis_case(einsum, axis.name));
  return cases;
}

Sharding einsum_output(const Mesh& mesh, const Sharding& a, const Sharding& b,
                       const std::vector<std::string>& out_dims) {
  Sharding out;
  for (const std::string& dim : out_dims) {
    const DimLayout* layout = a.find(dim);
    if (layout == nullptr) layout = b.find(dim);
    out.dims.push_back({dim, layout == nullptr ? std::vector<std::string>{} : layout->axes});
  }
  for (const MeshAxis& axis : mesh.axes) {
    const bool used = a.dim_of_axis(axis.name) != nullptr || b.dim_of_axis(axis.name) != nullptr ||
                      has(a.unreduced, axis.name) || has(b.unreduced, axis.name);
    if (used && out.dim_of_axis(axis.name) == nullptr) out.unreduced.push_back(axis.name);
  }
  return out;
}

EinsumPlan plan_einsum(const Layer& layer, const Mesh& mesh, const Einsum& einsum) {
  Planner p{layer, mesh, einsum, {}};
  p.plan.operands = {einsum.in[0].layout, einsum.in[1].layout};
  p.plan.cases = axis_cases(mesh, einsum);
  check_unreduced(p);
  if (!p.plan.errors.empty()) {
    p.layout(0).unreduced.clear();
    p.layout(1).unreduced.clear();
  }
  for (const MeshAxis& axis : mesh.axes) settle(p, axis.name);
  settle_shared_dims(p);
  p.plan.out = einsum_output(mesh, p.plan.operands[0], p.plan.operands[1], einsum.out_dims);
  return std::move(p.plan);
}

}  // namespace shardsim
