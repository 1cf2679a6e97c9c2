#include "plan/shard_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/attention_plans.h"
#include "plan/cost.h"
#include "plan/norm_parts.h"
#include "plan/priced_plan.h"
#include "plan/reshape.h"
#include "plan/reshard.h"
#include "plan/row_plans.h"

namespace shardsim {

const LayerTensor& tensor(const Sharder& s, int t) {
  return s.in.layer.tensors[static_cast<std::size_t>(t)];
}
const Sharding& held(const Sharder& s, int t) {
  return s.out.held[static_cast<std::size_t>(t)];
}

ArrayInfo info(const Sharder& s, int t) {
  return {tensor(s, t).name, element_bytes(tensor(s, t), s.in.precision)};
}

bool at_hand(const Sharder& s, int t, const Sharding& need) {
  const auto& copies = s.copies[static_cast<std::size_t>(t)];
  return only_slices(held(s, t), need) ||
         std::any_of(copies.begin(), copies.end(),
                     [&](const Sharding& copy) { return only_slices(copy, need); });
}

ReshardPlan brought(const Sharder& s, int t, const Sharding& need) {
  if (at_hand(s, t, need)) return {};
  return reshard(s.in.layer, s.in.prices, info(s, t), held(s, t), need, freedom_of(s.in, t));
}

const TensorLayout* wish(const Sharder& s, int t) {
  const TensorLayout& layout = s.in.layouts.tensors[static_cast<std::size_t>(t)];
  return layout.wished ? &layout : nullptr;
}

ReshardPlan handed_on(const Sharder& s, int t, const Sharding& made) {
  const TensorLayout* w = wish(s, t);
  const Sharding target{w == nullptr ? made.dims : w->held.dims, {}};
  return reshard(s.in.layer, s.in.prices, info(s, t), made, target, freedom_of(s.in, t));
}

void report(Sharder& s, const LayerStatement& st, std::string message, std::string hint) {
  s.problems.push_back({st.pos, std::move(message), std::move(hint)});
}

namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

EinsumOperand einsum_operand(const Sharder& s, int t) {
  EinsumOperand operand;
  operand.array = info(s, t);
  operand.layout = held(s, t);
  operand.copies = s.copies[static_cast<std::size_t>(t)];
  operand.freedom = freedom_of(s.in, t);
  const bool parameter = tensor(s, t).role == TensorRole::parameter;
  operand.gather_axes = s.in.layouts.gather_axes(tensor(s, t).role);
  operand.pin_text = parameter ? "the preset gathers weights before use"
                               : "the preset gathers activations before the matmul";
  return operand;
}

// Plans that cost the same: said, or refused when the user wants to decide.
void say_tie(Sharder& s, const LayerStatement& st, const EinsumPlan& plan) {
  const PricedPlan& taken = plan.plans.front();
  const std::string two =
      fmt::format("\"{}\" and \"{}\" both cost {}", taken.text, plan.ties[0], price_text(taken));
  if (s.in.refuse_ties) {
    report(s, st, fmt::format("expected one cheapest plan for {}, found a tie: {}", st.text, two),
           "give an operand or the output another layout, or write on_ambiguity: choose "
           "(explain: --on-ambiguity choose)");
    return;
  }
  s.out.warnings.push_back(fmt::format("{}: {}; the first is taken", st.text, two));
}

bool begins_with(const std::vector<std::string>& axes, const std::vector<std::string>& first) {
  return axes.size() >= first.size() && std::equal(first.begin(), first.end(), axes.begin());
}

// A batch dim is in both operands and the output: blocks are computed with where they lie, if both
// are cut alike. Which one is to move is the user's to say (JAX refuses it, too).
void check_batch_dims(Sharder& s, const LayerStatement& st, int one, int other,
                      const std::vector<std::string>& dims) {
  if (!s.in.refuse_clash) return;
  for (const std::string& dim : dims) {
    const DimLayout* a = held(s, one).find(dim);
    const DimLayout* b = held(s, other).find(dim);
    if (a == nullptr || b == nullptr || begins_with(a->axes, b->axes) ||
        begins_with(b->axes, a->axes)) {
      continue;
    }
    report(s, st,
           fmt::format("expected the batch dim {} cut alike in both operands, found {}{} and {}{}",
                       dim, tensor(s, one).name, to_text(held(s, one)), tensor(s, other).name,
                       to_text(held(s, other))),
           "give one of them the layout of the other on it; with on_ambiguity: choose (explain: "
           "--on-ambiguity choose) the cheaper is moved");
  }
}

Needs einsum_needs(Sharder& s, const LayerStatement& st) {
  Einsum einsum;
  einsum.in = {einsum_operand(s, st.in[0]), einsum_operand(s, st.in[1])};
  einsum.out = info(s, st.out);
  einsum.out_dims = tensor(s, st.out).dims;
  einsum.freedom = freedom_of(s.in, st.out);
  if (const TensorLayout* w = wish(s, st.out)) einsum.wish = &w->held;
  EinsumPlan plan = plan_einsum(s.in.layer, s.in.prices, einsum);
  const std::string way_out =
      fmt::format("give {} a layout without {{U}}",
                  tensor(s, st.in[einsum.in[0].layout.unreduced.empty() ? 1 : 0]).name);
  for (std::string& error : plan.errors) report(s, st, std::move(error), way_out);
  check_batch_dims(s, st, st.in[0], st.in[1], einsum.out_dims);
  if (!plan.ties.empty()) say_tie(s, st, plan);
  return {{plan.operands[0], plan.operands[1]},
          plan.out,
          std::move(plan.cases),
          std::move(plan.gatherings),
          std::move(plan.plans),
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
// over axes that are not `partial` there, else that of the one that is cut more.
Sharding agreed(const Sharder& s, const LayerStatement& st, const Sharding& a, const Sharding& b,
                const std::vector<std::string>& partial) {
  if (a == b) return a;
  Sharding result = axes_in(b) > axes_in(a) ? b : a;
  if (const TensorLayout* w = wish(s, st.out)) {
    result = w->held;
    for (DimLayout& dim : result.dims) {
      std::erase_if(dim.axes, [&](const std::string& axis) { return has(partial, axis); });
    }
  }
  result.unreduced.clear();
  return result;
}

// A product is linear in each factor: the second, U of silu(G) * U, may be a partial sum over axes
// that the first is whole on.
void pass_sums_on(Sharder& s, const LayerStatement& st, Needs& needs) {
  for (const std::string& axis : held(s, st.in[1]).unreduced) {
    if (needs.out.dim_of_axis(axis) != nullptr) {
      report(s, st,
             fmt::format("{0} is a partial sum over {1}: expected {2} whole over {1}, found {2}{3}",
                         tensor(s, st.in[1]).name, axis, tensor(s, st.in[0]).name,
                         to_text(held(s, st.in[0]))),
             fmt::format("give {} a layout without {{U}}", tensor(s, st.in[1]).name));
      return;
    }
    needs.operands[1].unreduced.push_back(axis);
    needs.out.unreduced.push_back(axis);
  }
}

Needs elementwise_needs(Sharder& s, const LayerStatement& st) {
  Sharding layout = reduced(s, st, st.in[0], st.function);
  const bool gated = st.kind == StatementKind::gated;
  if (gated) {
    Sharding other = held(s, st.in[1]);
    other.unreduced.clear();
    layout = agreed(s, st, layout, other, held(s, st.in[1]).unreduced);
  }
  Needs needs{std::vector<Sharding>(st.in.size(), layout),   layout, {}, {}, {},
              "the operands are combined element by element"};
  if (gated) pass_sums_on(s, st, needs);
  return needs;
}

// A sum over devices of what is added counts it once per device, unless it is a part there, too.
void report_unlike_sums(Sharder& s, const LayerStatement& st) {
  const auto over = [&](std::size_t i) {
    return fmt::format("{}", fmt::join(held(s, st.in[i]).unreduced, ", "));
  };
  const std::size_t first = over(0).empty() ? 1 : 0;
  const std::string& sum = tensor(s, st.in[first]).name;
  const std::string& other = tensor(s, st.in[1 - first]).name;
  if (over(1 - first).empty()) {
    report(s, st,
           fmt::format("{0} is a partial sum over {1}, {2} is none: the sum would count {2} once "
                       "for every device of {1}",
                       sum, over(first), other),
           fmt::format("give {} a layout without {{U}}", sum));
    return;
  }
  report(s, st,
         fmt::format("{0} is a partial sum over {1}, {2} one over {3}: each would be counted once "
                     "for every device of the other's axes",
                     sum, over(first), other, over(1 - first)),
         fmt::format("give {} and {} layouts without {{U}}", sum, other));
}

Needs add_needs(Sharder& s, const LayerStatement& st) {
  const Sharding& a = held(s, st.in[0]);
  const Sharding& b = held(s, st.in[1]);
  if (a.unreduced != b.unreduced) report_unlike_sums(s, st);
  Sharding layout = a == b ? a : agreed(s, st, a, b, a.unreduced);
  if (a.unreduced == b.unreduced) layout.unreduced = a.unreduced;
  return {{layout, layout}, layout, {}, {}, {}, "the operands are added element by element"};
}

// Why operands of a function of rows move.
std::string rows_reason(const LayerStatement& st, const RowPlans& chosen) {
  const std::string need =
      fmt::format("{} needs {} whole on every device", st.function, st.over_dim);
  if (chosen.plans.size() < 2) return need;
  return fmt::format("{}, the cheapest of {} plans", need, chosen.plans.size());
}

Needs reduce_needs(Sharder& s, const LayerStatement& st) {
  RowPlans chosen = row_plans(s, st, reduced(s, st, st.in[0], st.function));
  std::string reason = rows_reason(st, chosen);
  Sharding out = parts_of_rows(chosen.rows, st.over_dim, reduction_of(st));
  return {{std::move(chosen.rows)}, std::move(out),   {}, {},
          std::move(chosen.plans),  std::move(reason)};
}

// A wider dtype holds every number of a narrower one, so parts may be cast before they are added.
Needs cast_needs(Sharder& s, const LayerStatement& st) {
  const double from = info(s, st.in[0]).element_bytes;
  const double to = info(s, st.out).element_bytes;
  Sharding layout = held(s, st.in[0]);
  if (!layout.unreduced.empty() && to <= from) {
    const std::string& name = tensor(s, st.in[0]).name;
    report(
        s, st,
        fmt::format("cast of {}, which is a partial sum over {}, from {} to {} bytes an element: "
                    "the sum of rounded parts is not the rounded sum",
                    name, fmt::join(layout.unreduced, ", "), from, to),
        fmt::format("give {} a layout without {{U}}, or cast to a wider dtype", name));
    layout.unreduced.clear();
  }
  return {{layout}, layout, {}, {}, {}, "a cast keeps every block where it is"};
}

Needs norm_needs(Sharder& s, const LayerStatement& st) {
  RowPlans chosen = row_plans(s, st, reduced(s, st, st.in[0], st.function));
  if (chosen.apart && !s.apart) {
    const auto statement = &st - s.in.layer.statements.data();
    s.apart = {static_cast<int>(statement), chosen.plans};
  }
  std::string reason = rows_reason(st, chosen);
  return {row_operands(s, st, chosen.rows), chosen.rows,      {}, {},
          std::move(chosen.plans),          std::move(reason)};
}

Needs sums_needs(Sharder& s, const LayerStatement& st) {
  const Sharding rows = reduced(s, st, st.in[0], st.function);
  Sharding out = parts_of_rows(rows, st.over_dim);
  out.dims.push_back({tensor(s, st.out).dims.back(), {}});
  return {row_operands(s, st, rows), std::move(out), {}, {}, s.known.parted.at(st.out), ""};
}

Needs normalize_needs(Sharder& s, const LayerStatement& st) {
  const Sharding rows = reduced(s, st, st.in[0], st.function);
  return {row_operands(s, st, rows),
          rows,
          {},
          {},
          {},
          fmt::format("every device scales its block of {}", tensor(s, st.in[0]).name)};
}

// [batch..., sequence, heads, head size].
Needs attention_needs(Sharder& s, const LayerStatement& st) {
  std::vector<Sharding> in;
  for (const int t : st.in) in.push_back(reduced(s, st, t, "attention"));
  const std::vector<std::string>& dims = tensor(s, st.in[0]).dims;
  const std::vector<std::string> batch(dims.begin(), dims.end() - 3);
  check_batch_dims(s, st, st.in[0], st.in[1], batch);
  if (st.in[2] != st.in[1]) check_batch_dims(s, st, st.in[0], st.in[2], batch);
  AttentionPlans chosen = attention_plans(s, st, in);
  in = std::move(chosen.operands);
  const std::size_t heads = dims.size() - 2;
  for (const std::size_t i : {0u, 1u}) {
    const std::string& dim = in[i].dims[heads].dim;
    const int shards = s.in.mesh.size_of(in[i].dims[heads].axes);
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
          std::move(chosen.plans),
          "every query needs all keys and values of its heads"};
}

Needs reshape_needs(Sharder& s, const LayerStatement& st) {
  const Sharding& in = held(s, st.in[0]);
  Reshaped result = reshaped(s.in.layer, s.in.mesh, tensor(s, st.in[0]), in, tensor(s, st.out));
  if (!result.error.empty()) {
    report(s, st, std::move(result.error), std::move(result.hint));
    result.out = whole(tensor(s, st.out).dims);
  }
  return {{in}, std::move(result.out), {}, {}, {}, "a reshape keeps the rows of every device"};
}

}  // namespace

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
    case StatementKind::reduce:
      return reduce_needs(s, st);
    case StatementKind::cast:
      return cast_needs(s, st);
    case StatementKind::sums:
      return sums_needs(s, st);
    case StatementKind::normalize:
      return normalize_needs(s, st);
    case StatementKind::attention:
      return attention_needs(s, st);
    case StatementKind::reshape:
      break;
  }
  return reshape_needs(s, st);
}

}  // namespace shardsim
