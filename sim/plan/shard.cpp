#include "plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/cost.h"
#include "plan/einsum.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

struct Sharder {
  const ShardInput& in;
  std::vector<Problem>& problems;
  std::vector<std::vector<Sharding>> copies;  // [tensor] gathered copies at hand
  ShardedLayer out;
};

// What a statement needs of its operands, and what it then yields.
struct Needs {
  std::vector<Sharding> operands;
  Sharding out;
  std::vector<AxisCase> cases;
  std::vector<Gathering> gatherings;
  std::string reason;  // of collectives that no gathering explains
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const LayerTensor& tensor(const Sharder& s, int t) {
  return s.in.layer.tensors[static_cast<std::size_t>(t)];
}
const Sharding& held(const Sharder& s, int t) {
  return s.out.held[static_cast<std::size_t>(t)];
}

double element_bytes(const Sharder& s, int t) {
  return tensor(s, t).role == TensorRole::parameter ? s.in.precision.weights
                                                    : s.in.precision.activations;
}

ArrayInfo info(const Sharder& s, int t) {
  return {tensor(s, t).name, element_bytes(s, t)};
}

const TensorLayout* wish(const Sharder& s, int t) {
  const TensorLayout& layout = s.in.layouts.tensors[static_cast<std::size_t>(t)];
  return layout.wished ? &layout : nullptr;
}

void report(Sharder& s, const LayerStatement& st, std::string message, std::string hint = "") {
  s.problems.push_back({st.pos, std::move(message), std::move(hint)});
}

EinsumOperand einsum_operand(const Sharder& s, int t) {
  EinsumOperand operand{info(s, t), held(s, t), {}, ""};
  const bool parameter = tensor(s, t).role == TensorRole::parameter;
  operand.gather_axes =
      parameter ? s.in.layouts.gather_parameters : s.in.layouts.gather_activations;
  operand.pin_text = parameter ? "the preset gathers weights before use"
                               : "the preset gathers activations before the matmul";
  return operand;
}

Needs einsum_needs(Sharder& s, const LayerStatement& st) {
  Einsum einsum{{einsum_operand(s, st.in[0]), einsum_operand(s, st.in[1])},
                info(s, st.out),
                tensor(s, st.out).dims,
                nullptr};
  if (const TensorLayout* w = wish(s, st.out)) einsum.wish = &w->held;
  EinsumPlan plan = plan_einsum(s.in.layer, s.in.mesh, einsum);
  for (std::string& error : plan.errors) report(s, st, std::move(error));
  return {{plan.operands[0], plan.operands[1]},
          plan.out,
          std::move(plan.cases),
          std::move(plan.gatherings),
          "its blocks must fit the other operand"};
}

// The layout of an operand of anything but an einsum or an add: never a partial sum.
Sharding reduced(Sharder& s, const LayerStatement& st, int t, std::string_view function) {
  Sharding layout = held(s, t);
  if (layout.unreduced.empty()) return layout;
  const std::string& name = tensor(s, t).name;
  report(
      s, st,
      fmt::format("{0} of {1}, which is a partial sum over {2}: the sum of {0} over the devices is "
                  "not {0} of the sum",
                  function, name, fmt::join(layout.unreduced, ", ")),
      fmt::format("give {} a layout without {{U}}", name));
  layout.unreduced.clear();
  return layout;
}

int axes_in(const Sharding& sharding) {
  std::size_t count = 0;
  for (const DimLayout& dim : sharding.dims) count += dim.axes.size();
  return static_cast<int>(count);
}

// Two arrays that are combined element by element take one layout: the output's if it has a wish,
// else that of the one that is cut more.
Sharding agreed(const Sharder& s, const LayerStatement& st, const Sharding& a, const Sharding& b) {
  if (a == b) return a;
  Sharding result = axes_in(b) > axes_in(a) ? b : a;
  if (const TensorLayout* w = wish(s, st.out)) result = w->held;
  result.unreduced.clear();
  return result;
}

Needs elementwise_needs(Sharder& s, const LayerStatement& st) {
  Sharding layout = reduced(s, st, st.in[0], st.function);
  if (st.kind == StatementKind::gated) {
    const std::string what = fmt::format("the product with {}(...)", st.function);
    layout = agreed(s, st, layout, reduced(s, st, st.in[1], what));
  }
  return {std::vector<Sharding>(st.in.size(), layout),
          layout,
          {},
          {},
          "the operands are combined element by element"};
}

Needs add_needs(Sharder& s, const LayerStatement& st) {
  const Sharding& a = held(s, st.in[0]);
  const Sharding& b = held(s, st.in[1]);
  if (a.unreduced != b.unreduced) {
    const bool first = !a.unreduced.empty();
    report(s, st,
           fmt::format(
               "{} is a partial sum over {}, {} is not over the same axes: the sum would count "
               "{} once per device",
               tensor(s, st.in[first ? 0 : 1]).name,
               fmt::join(first ? a.unreduced : b.unreduced, ", "),
               tensor(s, st.in[first ? 1 : 0]).name, tensor(s, st.in[first ? 1 : 0]).name),
           "give both the same layout, or one without {U}");
  }
  Sharding layout = a == b ? a : agreed(s, st, a, b);
  if (a.unreduced == b.unreduced) layout.unreduced = a.unreduced;
  return {{layout, layout}, layout, {}, {}, "the operands are added element by element"};
}

Needs norm_needs(Sharder& s, const LayerStatement& st) {
  Sharding layout = reduced(s, st, st.in[0], "norm");
  for (DimLayout& dim : layout.dims) {
    if (dim.dim == st.norm_dim) dim.axes.clear();
  }
  Needs needs{
      {layout}, layout, {}, {}, fmt::format("norm needs {} whole on every device", st.norm_dim)};
  if (st.in.size() < 2) return needs;
  Sharding scale = held(s, st.in[1]);
  for (DimLayout& dim : scale.dims) dim.axes = layout.find(dim.dim)->axes;
  needs.operands.push_back(std::move(scale));
  return needs;
}

bool cuts_once(const Sharding& sharding) {
  std::vector<std::string> seen;
  for (const DimLayout& dim : sharding.dims) {
    for (const std::string& axis : dim.axes) {
      if (has(seen, axis)) return false;
      seen.push_back(axis);
    }
  }
  return true;
}

// Batch dims and heads as the operand that cuts them most has them, if that makes a layout; else as
// the queries have them. The sequence and the head size are whole.
std::vector<std::vector<std::string>> attention_axes(const std::vector<Sharding>& in) {
  const std::size_t rank = in[0].dims.size();
  std::vector<std::vector<std::string>> axes(rank);
  Sharding most = in[0];
  for (std::size_t d = 0; d < rank; ++d) {
    if (d == rank - 3 || d == rank - 1) {
      most.dims[d].axes.clear();
      continue;
    }
    axes[d] = in[0].dims[d].axes;
    for (const Sharding& operand : in) {
      const auto& other = operand.dims[d].axes;
      if (other.size() > most.dims[d].axes.size()) most.dims[d].axes = other;
    }
  }
  if (!cuts_once(most)) return axes;
  for (std::size_t d = 0; d < rank; ++d) axes[d] = most.dims[d].axes;
  return axes;
}

// [batch..., sequence, heads, head size]: key/value heads are cut like the query heads they serve.
Needs attention_needs(Sharder& s, const LayerStatement& st) {
  std::vector<Sharding> in;
  for (const int t : st.in) in.push_back(reduced(s, st, t, "attention"));
  const auto axes = attention_axes(in);
  const std::size_t heads = axes.size() - 2;
  for (Sharding& operand : in) {
    for (std::size_t d = 0; d < axes.size(); ++d) operand.dims[d].axes = axes[d];
  }
  const int shards = s.in.mesh.size_of(in[0].dims[heads].axes);
  for (const std::size_t i : {0u, 1u}) {
    const std::string& dim = in[i].dims[heads].dim;
    const int size = s.in.layer.dim_size(dim);
    if (size % shards == 0) continue;
    report(s, st,
           fmt::format("{} = {} heads of {} cannot be cut over {} devices: {} does not divide {}",
                       dim, size, tensor(s, st.in[i]).name, shards, shards, size));
  }
  Sharding out = in[0];
  return {std::move(in),
          std::move(out),
          {},
          {},
          "attention needs every position of its heads (ring attention is not modelled)"};
}

Needs needs_of(Sharder& s, const LayerStatement& st) {
  switch (st.kind) {
    case StatementKind::einsum:
      return einsum_needs(s, st);
    case StatementKind::elementwise:
    case StatementKind::gated:
      return elementwise_needs(s, st);
    case StatementKind::add:
      return add_needs(s, st);
    case StatementKind::norm:
      return norm_needs(s, st);
    case StatementKind::attention:
      break;
  }
  return attention_needs(s, st);
}

// Explains a collective by the gatherings of its axes.
void explain(ShardedCollective& c, const Needs& needs, int operand) {
  c.case_text = "layout";
  c.reason = needs.reason;
  std::vector<std::string> reasons;
  for (const Gathering& g : needs.gatherings) {
    if (g.operand != operand || !has(c.axes, g.axis)) continue;
    if (reasons.empty()) c.case_text = fmt::format("case {}", g.number);
    reasons.push_back(g.reason);
    c.alternatives.insert(c.alternatives.end(), g.alternatives.begin(), g.alternatives.end());
  }
  if (!reasons.empty()) c.reason = fmt::format("{}", fmt::join(reasons, "; "));
}

// Collectives that make `need` out of the copies at hand; the last result is kept for later
// readers.
void bring(Sharder& s, ShardedStatement& step, const Needs& needs, int operand, int t) {
  const Sharding& need = needs.operands[static_cast<std::size_t>(operand)];
  auto& copies = s.copies[static_cast<std::size_t>(t)];
  const bool at_hand = only_slices(held(s, t), need) ||
                       std::any_of(copies.begin(), copies.end(),
                                   [&](const Sharding& copy) { return only_slices(copy, need); });
  if (at_hand) return;
  for (ShardedCollective& c : reshard(s.in.layer, s.in.mesh, info(s, t), held(s, t), need)) {
    explain(c, needs, operand);
    step.before.push_back(std::move(c));
  }
  copies.push_back(need);
}

// The layout in which the output is passed on: the wish, as far as the partial sums allow it.
Sharding final_layout(Sharder& s, const LayerStatement& st, const Sharding& yielded) {
  Sharding result = yielded;
  const TensorLayout* w = wish(s, st.out);
  if (w == nullptr) {
    result.unreduced.clear();
    return result;
  }
  result = w->held;
  for (const std::string& axis : w->held.unreduced) {
    if (has(yielded.unreduced, axis)) continue;
    report(s, st,
           fmt::format("{} is not a partial sum over {} here, so it cannot be kept as one",
                       tensor(s, st.out).name, axis));
    std::erase(result.unreduced, axis);
  }
  return result;
}

std::string output_reason(const ShardedCollective& c) {
  const std::string axes = fmt::format("{}", fmt::join(c.axes, ", "));
  switch (c.kind) {
    case Collective::reduce_scatter:
      return fmt::format("{} is a partial sum over {} and is held cut on {}", c.tensor, axes,
                         c.dim);
    case Collective::all_reduce:
      return fmt::format("{} is a partial sum over {} and is held whole on it", c.tensor, axes);
    default:
      break;
  }
  return fmt::format("{} is held as {}", c.tensor, to_text(c.after));
}

std::vector<std::string> output_alternatives(const ShardedCollective& c) {
  if (c.kind != Collective::all_reduce) return {};
  std::vector<std::string> dims;
  for (const DimLayout& dim : c.before.dims) dims.push_back(dim.dim);
  return {fmt::format("reduce-scatter into {} and stay cut: {} instead of 2 x {}", joined_or(dims),
                      to_text(c.bytes), to_text(c.bytes))};
}

void settle_output(Sharder& s, const LayerStatement& st, ShardedStatement& step) {
  const Sharding target = final_layout(s, st, step.out);
  for (ShardedCollective& c : reshard(s.in.layer, s.in.mesh, info(s, st.out), step.out, target)) {
    const bool reduces = c.kind == Collective::all_reduce || c.kind == Collective::reduce_scatter;
    c.case_text = reduces ? "case 3" : "layout";
    c.reason = output_reason(c);
    c.alternatives = output_alternatives(c);
    step.after.push_back(std::move(c));
  }
  s.out.held[static_cast<std::size_t>(st.out)] = target;
}

void add_step(Sharder& s, const LayerStatement& st) {
  Needs needs = needs_of(s, st);
  ShardedStatement step;
  step.text = st.text;
  step.kind = st.kind;
  step.out_name = tensor(s, st.out).name;
  StepWork work;
  work.attention_share = st.causal ? 0.5 : 1.0;
  for (std::size_t i = 0; i < st.in.size(); ++i) {
    bring(s, step, needs, static_cast<int>(i), st.in[i]);
    step.operand_names.push_back(tensor(s, st.in[i]).name);
    work.element_bytes.push_back(element_bytes(s, st.in[i]));
  }
  step.operands = std::move(needs.operands);
  step.out = std::move(needs.out);
  step.cases = std::move(needs.cases);
  work.element_bytes.push_back(element_bytes(s, st.out));
  add_work(s.in.layer, s.in.mesh, work, step);
  settle_output(s, st, step);
  s.out.steps.push_back(std::move(step));
}

}  // namespace

std::vector<std::string> padding_of(const ShardInput& input, const ShardedLayer& sharded) {
  std::vector<std::string> result;
  const auto note = [&](const Sharding& sharding) {
    std::vector<int> sizes;
    for (const DimLayout& dim : sharding.dims) sizes.push_back(input.layer.dim_size(dim.dim));
    for (std::string& line : local_shape(sharding, input.mesh, sizes).padded) {
      if (!has(result, line)) result.push_back(std::move(line));
    }
  };
  for (const Sharding& sharding : sharded.held) note(sharding);
  for (const ShardedStatement& step : sharded.steps) {
    for (const Sharding& operand : step.operands) note(operand);
    note(step.out);
    for (const ShardedCollective& c : step.before) note(c.after);
    for (const ShardedCollective& c : step.after) note(c.after);
  }
  return result;
}

ShardedLayer shard(const ShardInput& input, std::vector<Problem>& problems) {
  Sharder s{input, problems, {}, {}};
  s.copies.resize(input.layer.tensors.size());
  for (const TensorLayout& layout : input.layouts.tensors) s.out.held.push_back(layout.held);
  for (const LayerStatement& st : input.layer.statements) add_step(s, st);
  s.out.padding = padding_of(input, s.out);
  s.out.model_flops = model_flops(input.layer);
  return std::move(s.out);
}

}  // namespace shardsim
