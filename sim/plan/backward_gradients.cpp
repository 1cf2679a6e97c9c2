#include "plan/backward_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "base/must.h"
#include "plan/cost.h"
#include "plan/reshard.h"

namespace shardsim {

const LayerTensor& tensor(const Backward& b, int t) {
  return b.in.layer.tensors[static_cast<std::size_t>(t)];
}
bool is_parameter(const Backward& b, int t) {
  return tensor(b, t).role == TensorRole::parameter;
}
Gradient& gradient(Backward& b, int t) {
  return b.gradients[static_cast<std::size_t>(t)];
}

double gradient_bytes(const Backward& b, int t) {
  return gradient_element_bytes(tensor(b, t), b.in.precision);
}
std::string gradient_name(const Backward& b, int t) {
  return "d" + tensor(b, t).name;
}

Sharding dual(Sharding layout) {
  layout.unreduced.clear();
  return layout;
}

std::vector<ShardedCollective> moves(Backward& b, int t, const ArrayInfo& array,
                                     const Sharding& from, const Sharding& to) {
  ReshardPlan plan = reshard(b.in.layer, b.in.prices, array, from, to, freedom_of(b.in, t));
  b.out.warnings.insert(b.out.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  return std::move(plan.steps);
}

namespace {

bool has_layout(const std::vector<Sharding>& layouts, const Sharding& need) {
  return std::any_of(layouts.begin(), layouts.end(),
                     [&](const Sharding& layout) { return only_slices(layout, need); });
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the adjoint of the statement that makes t takes partial sums over the axis: an einsum
// (linear) whose devices did the same work along it.
bool passes_on(const Backward& b, int t, std::string_view axis) {
  for (std::size_t s = 0; s < b.forward_steps; ++s) {
    if (b.in.layer.statements[s].out != t) continue;
    const ShardedStatement& step = b.out.steps[s];
    return step.kind == StatementKind::einsum && has(step.idle_axes, axis);
  }
  return false;
}

// The layout that the complete gradient is held in. That of an activation may stay a partial sum
// where its layout says so and every contribution is one.
Sharding target(Backward& b, int t) {
  const auto index = static_cast<std::size_t>(t);
  const TensorLayout& layout = b.in.layouts.tensors[index];
  if (is_parameter(b, t)) return layout.optimizer;
  Sharding held = dual(b.out.held[index]);
  for (const std::string& axis : layout.gradient.unreduced) {
    const auto& parts = gradient(b, t).parts;
    const bool partial = std::all_of(parts.begin(), parts.end(), [&](const Sharding& part) {
      return has(part.unreduced, axis);
    });
    if (partial && passes_on(b, t, axis)) held.unreduced.push_back(axis);
  }
  return held;
}

// The layout in which a parameter's gradient waits for the last micro-batch: partial sums are kept
// over the axes that reduce once per step, if the final layout can be reached by cutting from
// there.
Sharding accumulated(const Backward& b, int t, const Sharding& part, const Sharding& final) {
  if (!is_parameter(b, t)) return final;
  const auto now = [&](const std::string& axis) {
    return b.in.layouts.reduces_each_microbatch(axis);
  };
  if (std::none_of(part.unreduced.begin(), part.unreduced.end(), now)) return part;
  Sharding kept = b.in.layouts.tensors[static_cast<std::size_t>(t)].gradient;
  for (const std::string& axis : part.unreduced) {
    if (now(axis)) continue;
    for (DimLayout& dim : kept.dims) std::erase(dim.axes, axis);
    kept.unreduced.push_back(axis);
  }
  return only_slices(dual(kept), final) ? kept : final;
}

std::string reduction_reason(const Backward& b, int t, const ShardedCollective& c) {
  const int count = b.gradients[static_cast<std::size_t>(t)].contributions;
  const std::string sum =
      count > 1 ? concat({" (", std::to_string(count), " contributions added first)"}) : "";
  const std::string axes =
      c.axes.size() == 1 ? c.axes.front() : fmt::format("{}", fmt::join(c.axes, ", "));
  if (c.kind == Collective::reduce_scatter) {
    return concat({c.tensor, " is a partial sum over ", axes, sum, "; it is held cut over ", axes,
                   " on ", c.dim});
  }
  if (c.kind == Collective::all_reduce) {
    return concat({c.tensor, " is a partial sum over ", axes, sum, ": every device of ", axes,
                   " read the same ", tensor(b, t).name});
  }
  return fmt::format("{} was cut when it was read; the adjoint of that gathers its gradient",
                     tensor(b, t).name);
}

void move_gradient(Backward& b, int t, const Sharding& from, const Sharding& to, bool once,
                   ShardedStatement& last) {
  const ArrayInfo array{gradient_name(b, t), gradient_bytes(b, t)};
  for (ShardedCollective& c : moves(b, t, array, from, to)) {
    const bool reduces = c.kind == Collective::reduce_scatter || c.kind == Collective::all_reduce;
    c.case_text = reduces && last.kind == StatementKind::einsum ? "case 3" : "adjoint";
    c.reason = reduction_reason(b, t, c);
    c.once_per_step = once;
    last.after.push_back(std::move(c));
  }
}

// All contributions are in: one reduction for each layout they came in, now as far as every
// micro-batch needs it, the rest after the last one.
void complete(Backward& b, int t, ShardedStatement& last) {
  Gradient& g = gradient(b, t);
  g.held = target(b, t);
  for (const Sharding& part : g.parts) {
    const Sharding kept = accumulated(b, t, part, g.held);
    move_gradient(b, t, part, kept, false, last);
    move_gradient(b, t, kept, g.held, true, last);
  }
  g.copies.assign(1, g.held);
}

}  // namespace

void contribute(Backward& b, int t, ShardedStatement& step) {
  Gradient& g = gradient(b, t);
  if (g.contributions > 0 && step.memory_bytes > Bytes{}) {
    step.memory_bytes += local_bytes(b.in.layer, b.in.mesh, step.out, gradient_bytes(b, t));
  }
  if (std::find(g.parts.begin(), g.parts.end(), step.out) == g.parts.end()) {
    g.parts.push_back(step.out);
  }
  ++g.contributions;
  must(g.waiting > 0, "a gradient gets one contribution for every read");
  if (--g.waiting == 0) complete(b, t, step);
}

Read read_gradient(Backward& b, int t, const Sharding& yielded, ShardedStatement& step) {
  Gradient& g = gradient(b, t);
  Sharding need = dual(yielded);
  need.unreduced = g.held.unreduced;
  const ArrayInfo array{gradient_name(b, t), gradient_bytes(b, t)};
  if (!has_layout(g.copies, need)) {
    for (ShardedCollective& c : moves(b, t, array, g.held, need)) {
      c.case_text = "adjoint";
      c.reason =
          fmt::format("the adjoint of what made {} from {}", to_text(g.held), to_text(yielded));
      step.before.push_back(std::move(c));
    }
    g.copies.push_back(need);
  }
  return {array.name, std::move(need), array.element_bytes};
}

namespace {

// The copy at hand from which the layout is cheapest to make; the held one on a tie.
const Sharding& nearest_copy(Backward& b, int t, const Sharding& used) {
  const auto& copies = b.copies[static_cast<std::size_t>(t)];
  const ArrayInfo array{tensor(b, t).name, element_bytes(tensor(b, t), b.in.precision)};
  const Sharding* best = &copies.front();
  std::optional<Seconds> least;
  for (const Sharding& copy : copies) {
    const Seconds price =
        reshard(b.in.layer, b.in.prices, array, copy, used, freedom_of(b.in, t)).price;
    if (least && price >= *least) continue;
    least = price;
    best = &copy;
  }
  return *best;
}

}  // namespace

Read read_array(Backward& b, int t, const Sharding& used, ShardedStatement& step) {
  auto& copies = b.copies[static_cast<std::size_t>(t)];
  const Read read{tensor(b, t).name, used, element_bytes(tensor(b, t), b.in.precision)};
  if (has_layout(copies, used)) return read;
  for (ShardedCollective& c :
       moves(b, t, {read.name, read.element_bytes}, nearest_copy(b, t, used), used)) {
    c.case_text = "layout";
    c.reason = fmt::format("{} was freed after the forward pass and is gathered again", read.name);
    step.before.push_back(std::move(c));
  }
  copies.push_back(used);
  return read;
}

}  // namespace shardsim
