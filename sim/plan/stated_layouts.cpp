#include "plan/stated_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/place.h"

namespace shardsim {
namespace {

bool cuts_anything(const Sharding& sharding) {
  return !sharding.unreduced.empty() ||
         std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [](const DimLayout& dim) { return !dim.axes.empty(); });
}

bool same_dims(const Sharding& a, const Sharding& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const DimLayout& x, const DimLayout& y) { return x.dim == y.dim; });
}

const ArrayExpr* find(std::span<const ArrayExpr> stated, std::string_view name) {
  const auto it = std::find_if(stated.begin(), stated.end(),
                               [&](const ArrayExpr& expr) { return expr.name == name; });
  return it == stated.end() ? nullptr : &*it;
}

void check_same(const ArrayExpr& here, const ArrayExpr& before, std::string hint,
                std::vector<Problem>& problems) {
  // Other dims are another mistake, which make_layer names.
  if (here.sharding == before.sharding || !same_dims(here.sharding, before.sharding)) return;
  problems.push_back(
      {here.pos,
       fmt::format("{0} is {0}{1} here and {0}{2} at {3}: an array has one layout", here.name,
                   to_text(here.sharding), to_text(before.sharding), place(before.pos)),
       std::move(hint)});
}

void check_tensors(std::span<const ArrayExpr> stated, std::span<const Chosen<std::string>> tensors,
                   const Mesh& mesh, std::vector<Problem>& problems) {
  std::vector<Problem> ignored;  // make_layouts reports what is wrong with an entry itself
  const NotationContext context{mesh.names(), {}};
  for (const Chosen<std::string>& entry : tensors) {
    const std::optional<ArrayExpr> expr = parse_array(entry.value, entry.pos, context, ignored);
    if (!expr) continue;
    if (const ArrayExpr* before = find(stated, expr->name)) {
      check_same(*expr, *before, "drop one of the two", problems);
    }
  }
}

std::string subscripted(Sharding sharding, const std::string& dim,
                        const std::vector<std::string>& axes) {
  for (DimLayout& layout : sharding.dims) {
    if (layout.dim == dim) layout.axes.insert(layout.axes.end(), axes.begin(), axes.end());
  }
  return to_text(sharding);
}

}  // namespace

std::string ways_to_settle(const std::string& name, const Sharding& yielded) {
  Sharding reduced = yielded;
  reduced.unreduced.clear();
  std::vector<std::string> scattered;
  for (const DimLayout& dim : reduced.dims) {
    scattered.push_back(name + subscripted(reduced, dim.dim, yielded.unreduced));
  }
  return fmt::format(
      "write {0}{1} to all-reduce it, {2} to reduce-scatter it, or {0}{3} to keep the partial sums",
      name, to_text(reduced), joined_or(scattered), to_text(yielded));
}

std::vector<ArrayExpr> stated_layouts(std::span<const Statement> statements,
                                      std::span<const Chosen<std::string>> tensors,
                                      bool beside_presets, const Mesh& mesh,
                                      std::vector<Problem>& problems) {
  std::vector<ArrayExpr> stated;
  const auto take = [&](const ArrayExpr& expr) {
    if (expr.bare || (beside_presets && !cuts_anything(expr.sharding))) return;
    if (const ArrayExpr* before = find(stated, expr.name)) {
      check_same(expr, *before,
                 fmt::format("write {} without brackets where it is read; what a statement needs "
                             "is moved for it",
                             expr.name),
                 problems);
    } else {
      stated.push_back(expr);
    }
  };
  for (const Statement& s : statements) {
    take(s.out);
    for (const ArrayExpr& expr : s.in) take(expr);
  }
  check_tensors(stated, tensors, mesh, problems);
  return stated;
}

std::vector<std::string> axes_of_dim(std::span<const ArrayExpr> stated, std::string_view dim) {
  std::vector<std::string> axes;
  for (const ArrayExpr& expr : stated) {
    const DimLayout* layout = expr.sharding.find(dim);
    if (layout == nullptr) continue;
    for (const std::string& axis : layout->axes) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    }
  }
  return axes;
}

void apply_stated(std::span<const ArrayExpr> stated, const Layer& layer, const Mesh& mesh,
                  Layouts& layouts, std::vector<Problem>& problems) {
  for (const ArrayExpr& expr : stated) {
    const auto t = static_cast<std::size_t>(layer.tensor(expr.name));
    if (!expr.sharding.unreduced.empty() && layer.tensors[t].role != TensorRole::activation) {
      problems.push_back({expr.pos,
                          fmt::format("{} cannot be unreduced: nothing here makes it as a "
                                      "partial sum",
                                      expr.name),
                          ""});
      continue;
    }
    layouts.tensors[t] = layout_by_hand(mesh, expr.sharding);
  }
}

void require_stated_sums(const Layer& layer, const Layouts& layouts, const ShardedLayer& sharded,
                         std::vector<Problem>& problems) {
  for (std::size_t s = 0; s < layer.statements.size(); ++s) {
    const LayerStatement& st = layer.statements[s];
    const Sharding& yielded = sharded.steps[s].out;
    const auto out = static_cast<std::size_t>(st.out);
    if (combines_parts(st.kind) || layouts.tensors[out].wished || yielded.unreduced.empty() ||
        yielded.dims.empty())
      continue;
    const std::string& name = layer.tensors[out].name;
    problems.push_back({st.pos,
                        fmt::format("{} is a partial sum over {}, and no layout says what becomes "
                                    "of it",
                                    name, fmt::join(yielded.unreduced, ", ")),
                        ways_to_settle(name, yielded)});
  }
}

}  // namespace shardsim
