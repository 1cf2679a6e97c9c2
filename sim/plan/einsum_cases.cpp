#include "plan/einsum_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/concat.h"
#include "plan/einsum.h"

namespace shardsim {
namespace {

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

// The axes that cut the shared dim in the other operand alone: whatever is done to one operand, its
// blocks do not match before those are dealt with, too.
std::string unmatched(const Sharding& mine, const Sharding& other, const std::string& dim) {
  std::vector<std::string> left;
  for (const std::string& axis : other.find(dim)->axes) {
    if (!has(mine.find(dim)->axes, axis)) left.push_back(axis);
  }
  return left.empty() ? "" : fmt::format("{}", fmt::join(left, ", "));
}

// J_XY and J_YX are of one size, but not the same rows.
std::string other_order(const Einsum& e, const std::string& dim, std::string_view axis) {
  const DimLayout& a = *e.in[0].layout.find(dim);
  const DimLayout& b = *e.in[1].layout.find(dim);
  if (same_rows(a, b, axis)) return "";
  return fmt::format("; {} of {} and {} of {} are other rows: one of them moves",
                     to_text(Sharding{{a}, {}}), e.in[0].array.name, to_text(Sharding{{b}, {}}),
                     e.in[1].array.name);
}

AxisCase single_case(const Einsum& e, const AxisView& v, const std::string& axis) {
  const auto i = static_cast<std::size_t>(v.in(0) ? 0 : 1);
  const std::string& name = e.in[i].array.name;
  const std::string& other = e.in[1 - i].array.name;
  switch (v.kind[i]) {
    case DimClass::free:
      return {axis, 1, concat({"cuts ", v.dim[i], " of ", name, " only, and so of ", e.out.name})};
    case DimClass::batch:
      if (const std::string left = unmatched(e.in[i].layout, e.in[1 - i].layout, v.dim[i]);
          !left.empty()) {
        return {axis, 1,
                fmt::format("cuts the batch dim {} of {}, but {} that of {}: one of them moves",
                            v.dim[i], name, left, other)};
      }
      return {axis, 1,
              concat({"cuts the batch dim ", v.dim[i], " of ", name, "; ", other,
                      " keeps its block of it"})};
    case DimClass::summed:
      return {
          axis, 0,
          concat({"cuts ", v.dim[i], " of ", name, ", which is summed there alone: partial sums"})};
    case DimClass::contracted:
      break;
  }
  std::string why = concat({"cuts the contracted dim ", v.dim[i], " of ", name, " only"});
  const std::string left = unmatched(e.in[i].layout, e.in[1 - i].layout, v.dim[i]);
  if (!left.empty()) {
    why += fmt::format(
        "; a gather of {} alone is rejected: {} cuts {} of {}, so blocks would not match", name,
        left, v.dim[i], other);
  }
  return {axis, 2, std::move(why)};
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
  if (same_shared_dim(v)) {
    const std::string order = other_order(e, v.dim[0], axis);
    if (v.kind[0] == DimClass::batch) {
      return {axis, 1, concat({"cuts the batch dim ", v.dim[0], " of both", order})};
    }
    return {axis, 3,
            concat({"cuts the contracted dim ", v.dim[0], " of both: partial sums", order})};
  }
  const std::string both = concat({"cuts ", v.dim[0], " of ", a, " and ", v.dim[1], " of ", b});
  if (v.kind[0] == DimClass::contracted || v.kind[1] == DimClass::contracted) {
    const std::size_t i = v.kind[0] == DimClass::contracted ? 0 : 1;
    return {axis, 2,
            both + fmt::format("; {} is contracted, and {} cannot be cut over {} twice", v.dim[i],
                               i == 0 ? b : a, axis)};
  }
  return {axis, 4, both};
}

}  // namespace

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

bool same_rows(const DimLayout& a, const DimLayout& b, std::string_view axis) {
  const auto here = std::find(a.axes.begin(), a.axes.end(), axis);
  const auto major = static_cast<std::size_t>(here - a.axes.begin());
  return major < b.axes.size() && std::equal(a.axes.begin(), here + 1, b.axes.begin());
}

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

}  // namespace shardsim
