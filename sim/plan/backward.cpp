#include "plan/backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/must.h"
#include "plan/attention_plans.h"
#include "plan/backward_gradients.h"
#include "plan/cost.h"
#include "plan/einsum.h"
#include "plan/norm_parts.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

ShardedStatement new_step(StatementKind kind, std::string text) {
  ShardedStatement step;
  step.pass = Pass::backward;
  step.kind = kind;
  step.text = std::move(text);
  return step;
}

// Work, contribution and the step itself.
void finish(Backward& b, ShardedStatement step, std::vector<Read> reads, int target_tensor,
            StepWork work = {}) {
  step.operand_names.reserve(reads.size());
  step.operands.reserve(reads.size());
  work.element_bytes.reserve(reads.size() + 1);
  for (Read& read : reads) {
    step.operand_names.push_back(std::move(read.name));
    step.operands.push_back(std::move(read.layout));
    work.element_bytes.push_back(read.element_bytes);
  }
  step.out_name = gradient_name(b, target_tensor);
  work.element_bytes.push_back(gradient_bytes(b, target_tensor));
  if (step.kind != StatementKind::add) add_work(b.in.layer, b.in.mesh, work, step);
  contribute(b, target_tensor, step);
  b.out.steps.push_back(std::move(step));
}

std::vector<Read> reads_of(Read first) {
  std::vector<Read> reads;
  reads.reserve(4);
  reads.push_back(std::move(first));
  return reads;
}
std::vector<Read> reads_of(Read first, Read second) {
  std::vector<Read> reads = reads_of(std::move(first));
  reads.push_back(std::move(second));
  return reads;
}

// A weight that is gathered again moves for the same case as in the forward pass.
void name_regather_cases(const std::string& weight, ShardedStatement& step) {
  for (ShardedCollective& c : step.before) {
    const auto axis = std::find_if(step.cases.begin(), step.cases.end(),
                                   [&](const AxisCase& a) { return a.axis == c.axes.front(); });
    if (c.tensor != weight || axis == step.cases.end()) continue;
    c.case_text = case_name(axis->number);
    c.reason = fmt::format("{} {}; {}", axis->axis, axis->why, c.reason);
  }
}

// Indices of a statement's operands that get gradients, activations before weights: those that
// others wait for come first.
std::vector<std::size_t> gradient_order(const Backward& b, const LayerStatement& st) {
  std::vector<std::size_t> order;
  if (shifts_rows(b.in.layer, st.out)) return order;
  for (const bool parameters : {false, true}) {
    for (std::size_t i = 0; i < st.in.size(); ++i) {
      if (shifts_rows(b.in.layer, st.in[i])) continue;
      if (is_parameter(b, st.in[i]) == parameters) order.push_back(i);
    }
  }
  return order;
}

// Restores the axes of dims that the forward pass summed within one operand: their gradient is the
// same everywhere, so every block of them is known.
void spread_summed_dims(const Sharding& used, Sharding& out) {
  for (DimLayout& dim : out.dims) {
    const std::vector<std::string>& axes = used.find(dim.dim)->axes;
    if (dim.axes.empty() && !axes.empty()) {
      dim.axes = axes;
      for (const std::string& axis : axes) std::erase(out.unreduced, axis);
    }
  }
}

// dA = dC * B, and dB = A * dC: one statement for the operand at `i`.
void einsum_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                    std::size_t i) {
  const int wanted = st.in[i];
  const int other = st.in[1 - i];
  const std::string dc = gradient_name(b, st.out);
  const std::string da = gradient_name(b, wanted);
  const std::string& name = tensor(b, other).name;
  ShardedStatement step =
      new_step(StatementKind::einsum, i == 0 ? concat({da, " = ", dc, " * ", name})
                                             : concat({da, " = ", name, " * ", dc}));
  Einsum einsum;
  einsum.in[0].layout = gradient(b, st.out).copies.back();
  einsum.in[1].layout = b.copies[static_cast<std::size_t>(other)].back();
  Read cotangent = read_gradient(b, st.out, forward.out, step);
  Read factor = read_array(b, other, forward.operands[1 - i], step);
  einsum.in[0].array = {dc, cotangent.element_bytes};
  einsum.in[1].array = {name, factor.element_bytes};
  einsum.out = {da, gradient_bytes(b, wanted)};
  einsum.out_dims = tensor(b, wanted).dims;
  if (i == 1) std::swap(einsum.in[0], einsum.in[1]);
  step.cases = axis_cases(b.in.mesh, einsum);
  name_regather_cases(name, step);
  step.out = einsum_output(b.in.mesh, cotangent.layout, factor.layout, einsum.out_dims);
  spread_summed_dims(forward.operands[i], step.out);
  if (i == 1) std::swap(cotangent, factor);
  finish(b, std::move(step), reads_of(std::move(cotangent), std::move(factor)), wanted);
}

void add_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                 std::size_t i) {
  ShardedStatement step = new_step(
      StatementKind::add, concat({gradient_name(b, st.in[i]), " = ", gradient_name(b, st.out)}));
  Read cotangent = read_gradient(b, st.out, forward.out, step);
  step.out = dual(forward.operands[i]);
  finish(b, std::move(step), reads_of(std::move(cotangent)), st.in[i]);
}

// The inverse reshape: the gradient has the rows that its device read.
void reshape_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward) {
  ShardedStatement step =
      new_step(StatementKind::reshape, fmt::format("{} = {}({})", gradient_name(b, st.in[0]),
                                                   st.function, gradient_name(b, st.out)));
  Read cotangent = read_gradient(b, st.out, forward.out, step);
  step.out = dual(forward.operands[0]);
  finish(b, std::move(step), reads_of(std::move(cotangent)), st.in[0]);
}

void elementwise_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                         std::size_t i) {
  const std::string& in = tensor(b, st.in[0]).name;
  const std::string dc = gradient_name(b, st.out);
  const std::string da = gradient_name(b, st.in[i]);
  const bool gated = st.kind == StatementKind::gated;
  std::string text = concat({da, " = ", st.function, "'(", in, ") * ", dc});
  if (gated && i == 0) text += " * " + tensor(b, st.in[1]).name;
  if (gated && i == 1) text = concat({da, " = ", st.function, "(", in, ") * ", dc});
  ShardedStatement step = new_step(st.kind, std::move(text));
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  reads.push_back(read_array(b, st.in[0], forward.operands[0], step));
  if (gated && i == 0) reads.push_back(read_array(b, st.in[1], forward.operands[1], step));
  step.out = dual(forward.operands[i]);
  if (gated && i == 0) step.out.unreduced = forward.operands[1].unreduced;
  finish(b, std::move(step), std::move(reads), st.in[i]);
}

// The gradient of a factor of rows is summed over every dim of theirs that it lacks: partial sums
// over the axes that cut them.
Sharding summed_gradient(const Sharding& rows, const Sharding& factor, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (const DimLayout& dim : factor.dims) dims.push_back(dim.dim);
  return einsum_output(mesh, rows, factor, dims);
}

// The gradient of the sums of a norm has the sums' layout, partial over the axes that cut the rows.
// The formulas: plan/norm_parts.h.
void normalize_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                       std::size_t i) {
  const std::string& x = tensor(b, st.in[0]).name;
  const std::string& sums = tensor(b, st.in[1]).name;
  const std::string dc = gradient_name(b, st.out);
  const std::string da = gradient_name(b, st.in[i]);
  const std::string texts[] = {
      fmt::format("{} = {} scaled by {}", da, dc, sums),
      fmt::format("{} = sums of {} and {} over {}", da, dc, x, st.over_dim),
      fmt::format("{} = sum of {} * {}({})", da, dc, st.function, x)};
  ShardedStatement step = new_step(StatementKind::normalize, texts[i]);
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  const bool exponentials = takes_maximum(st);
  if (i > 0 || exponentials) reads.push_back(read_array(b, st.in[0], forward.operands[0], step));
  reads.push_back(read_array(b, st.in[1], forward.operands[1], step));
  if (i < 2 && st.in.size() > 2) {
    reads.push_back(read_array(b, st.in[2], forward.operands[2], step));
  }
  step.out = i == 0 ? forward.operands[0]
                    : summed_gradient(forward.operands[0], forward.operands[i], b.in.mesh);
  finish(b, std::move(step), std::move(reads), st.in[i]);
}

// The gradient goes to where the maximum was; where several elements are the maximum, to each.
void reduce_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward) {
  const std::string& x = tensor(b, st.in[0]).name;
  const std::string dc = gradient_name(b, st.out);
  ShardedStatement step =
      new_step(StatementKind::reduce,
               fmt::format("d{} = {} where {} is {}", x, dc, x, tensor(b, st.out).name));
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  reads.push_back(read_array(b, st.in[0], forward.operands[0], step));
  reads.push_back(read_array(b, st.out, dual(forward.out), step));
  step.out = forward.operands[0];
  finish(b, std::move(step), std::move(reads), st.in[0]);
}

void cast_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward) {
  ShardedStatement step =
      new_step(StatementKind::cast,
               fmt::format("{} = cast({})", gradient_name(b, st.in[0]), gradient_name(b, st.out)));
  Read cotangent = read_gradient(b, st.out, forward.out, step);
  step.out = dual(forward.operands[0]);
  finish(b, std::move(step), reads_of(std::move(cotangent)), st.in[0]);
}

void sums_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward) {
  const std::string& x = tensor(b, st.in[0]).name;
  const std::string ds = gradient_name(b, st.out);
  ShardedStatement step =
      new_step(StatementKind::sums, fmt::format("d{} += sums'({}) * {}", x, x, ds));
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  for (std::size_t i = 0; i < st.in.size(); ++i) {
    reads.push_back(read_array(b, st.in[i], forward.operands[i], step));
  }
  step.out = forward.operands[0];
  finish(b, std::move(step), std::move(reads), st.in[0]);
}

void norm_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                  std::size_t i) {
  const std::string& x = tensor(b, st.in[0]).name;
  const std::string dc = gradient_name(b, st.out);
  ShardedStatement step = new_step(
      StatementKind::norm, i == 0 ? fmt::format("d{} = {}'({}) * {}", x, st.function, x, dc)
                                  : fmt::format("{} = sum of {} * {}({})",
                                                gradient_name(b, st.in[1]), dc, st.function, x));
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  reads.push_back(read_array(b, st.in[0], forward.operands[0], step));
  if (i == 0) {
    if (st.in.size() > 1) reads.push_back(read_array(b, st.in[1], forward.operands[1], step));
    step.out = forward.operands[0];
  } else {
    step.out = summed_gradient(forward.operands[0], forward.operands[1], b.in.mesh);
  }
  finish(b, std::move(step), std::move(reads), st.in[i]);
}

// Key/value heads that are copied along an axis serve a part of their query heads on each device,
// so their gradients are partial sums over it.
Sharding partial_over_queries(const Backward& b, const Sharding& queries, Sharding layout) {
  for (const MeshAxis& axis : b.in.mesh.axes) {
    if (queries.dim_of_axis(axis.name) == nullptr) continue;
    if (layout.dim_of_axis(axis.name) == nullptr) layout.unreduced.push_back(axis.name);
  }
  return layout;
}

// Of the backward flops 8*B*T*S*N*H: dV = P'dO is a quarter; dQ needs dP = dO V' and dS K; dK =
// dS'Q.
void attention_adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
                       std::size_t i) {
  constexpr double kShares[] = {1.0, 0.5, 0.5};  // of the forward flops: dQ, dK, dV
  ShardedStatement step =
      new_step(StatementKind::attention,
               concat({gradient_name(b, st.in[i]), " = attention'(", gradient_name(b, st.out), ", ",
                       tensor(b, st.in[0]).name, ", ", tensor(b, st.in[1]).name, ", ",
                       tensor(b, st.in[2]).name, ")"}));
  std::vector<Read> reads = reads_of(read_gradient(b, st.out, forward.out, step));
  for (std::size_t k = 0; k < 3; ++k) {
    reads.push_back(read_array(b, st.in[k], forward.operands[k], step));
  }
  step.out = partial_over_queries(b, forward.operands[0], forward.operands[i]);
  StepWork work;
  work.attention_share = kShares[i] * b.in.attention->share(st.causal);
  work.imbalance = attention_imbalance(b.in, st.causal, forward.operands[0]);
  work.scores = b.in.attention->backward[i];
  finish(b, std::move(step), std::move(reads), st.in[i], std::move(work));
}

void adjoint(Backward& b, const LayerStatement& st, const ShardedStatement& forward,
             std::size_t i) {
  switch (st.kind) {
    case StatementKind::einsum:
      return einsum_adjoint(b, st, forward, i);
    case StatementKind::add:
      return add_adjoint(b, st, forward, i);
    case StatementKind::elementwise:
    case StatementKind::gated:
      return elementwise_adjoint(b, st, forward, i);
    case StatementKind::norm:
      return norm_adjoint(b, st, forward, i);
    case StatementKind::reduce:
      return reduce_adjoint(b, st, forward);
    case StatementKind::cast:
      return cast_adjoint(b, st, forward);
    case StatementKind::normalize:
      return normalize_adjoint(b, st, forward, i);
    case StatementKind::sums:
      return sums_adjoint(b, st, forward);
    case StatementKind::attention:
      return attention_adjoint(b, st, forward, i);
    case StatementKind::reshape:
      return reshape_adjoint(b, st, forward);
  }
}

// What the backward pass finds at hand: the held layouts, and gathered copies that are not freed;
// all of them when the forward pass runs again with its collectives.
void collect_copies(Backward& b) {
  const auto count = static_cast<int>(b.in.layer.tensors.size());
  b.copies.reserve(b.out.held.size());
  for (int t = 0; t < count; ++t) b.copies.emplace_back(1, b.out.held[static_cast<std::size_t>(t)]);
  for (const ShardedStatement& step : b.out.steps) {
    for (const ShardedCollective& c : step.before) {
      const int t = b.in.layer.tensor(c.tensor);
      must(t >= 0, "forward collectives move tensors of the layer");
      const bool again = b.in.recompute != nullptr && b.in.recompute->collectives;
      const bool freed = !again && b.in.layouts.regathers(b.in.layer, t);
      std::vector<Sharding>& copies = b.copies[static_cast<std::size_t>(t)];
      if (!freed) {
        copies.push_back(c.after);
        continue;
      }
      Sharding left = b.in.layouts.kept_after_forward(b.in.layer, t);
      // A copy that is cut where others are kept whole leaves nothing of its own.
      if (only_slices(c.after, left)) copies.push_back(std::move(left));
    }
  }
}

void count_reads(Backward& b) {
  b.gradients.resize(b.in.layer.tensors.size());
  for (const LayerStatement& st : b.in.layer.statements) {
    for (const std::size_t i : gradient_order(b, st)) ++gradient(b, st.in[i]).waiting;
  }
  // Nothing in the layer reads its outputs: their gradients come from outside, complete.
  for (std::size_t t = 0; t < b.gradients.size(); ++t) {
    if (b.gradients[t].waiting != 0) continue;
    b.gradients[t].held = dual(b.out.held[t]);
    b.gradients[t].copies = {b.gradients[t].held};
  }
}

// A forward step once more, in the backward pass. Without the collectives of the forward pass it
// gathers only what was freed.
void run_again(Backward& b, std::size_t s) {
  ShardedStatement step = b.out.steps[s];
  step.pass = Pass::backward;
  step.text.insert(0, "again: ");
  step.again = true;
  if (!b.in.recompute->collectives) {
    step.before.clear();
    step.after.clear();
    const LayerStatement& st = b.in.layer.statements[s];
    for (std::size_t i = 0; i < st.in.size(); ++i) read_array(b, st.in[i], step.operands[i], step);
  }
  for (auto* list : {&step.before, &step.after}) {
    for (ShardedCollective& c : *list) {
      if (b.in.recompute->collectives)
        c.reason += "; the forward pass runs again before the backward pass";
    }
  }
  b.out.steps.push_back(std::move(step));
}

bool recomputed(const Backward& b, std::size_t s) {
  return b.in.recompute != nullptr && recomputes(*b.in.recompute, b.in.layer.statements[s].kind);
}

// Weights that are updated in blocks are put together again, once per step (ZeRO, section 5.1).
void gather_updates(Backward& b) {
  for (std::size_t t = 0; t < b.in.layer.tensors.size(); ++t) {
    if (!is_parameter(b, static_cast<int>(t))) continue;
    const TensorLayout& layout = b.in.layouts.tensors[t];
    const ArrayInfo array{b.in.layer.tensors[t].name, b.in.precision.weights};
    for (ShardedCollective& c :
         moves(b, static_cast<int>(t), array, layout.optimizer, layout.held)) {
      c.case_text = "update";
      c.reason = fmt::format("every device updates its block {} of {}, which is held as {}",
                             to_text(layout.optimizer), array.name, to_text(layout.held));
      c.once_per_step = true;
      b.out.steps.back().after.push_back(std::move(c));
    }
  }
}

// Every forward step, once more, and an adjoint for each of its operands.
std::size_t most_steps(const Backward& b) {
  std::size_t steps = 2 * b.forward_steps;
  for (const LayerStatement& st : b.in.layer.statements) steps += st.in.size();
  return steps;
}

}  // namespace

void append_backward(const ShardInput& input, ShardedLayer& sharded) {
  Backward b{input, sharded, sharded.steps.size(), {}, {}};
  must(b.forward_steps == input.layer.statements.size(), "one forward step for every statement");
  const std::size_t room = most_steps(b);
  sharded.steps.reserve(room);
  collect_copies(b);
  count_reads(b);
  const bool all_first = input.recompute != nullptr && input.recompute->collectives;
  for (std::size_t s = 0; all_first && s < b.forward_steps; ++s) {
    if (recomputed(b, s)) run_again(b, s);
  }
  for (std::size_t s = b.forward_steps; s-- > 0;) {
    const LayerStatement& st = input.layer.statements[s];
    if (!all_first && recomputed(b, s)) run_again(b, s);
    const std::size_t first = sharded.steps.size();
    const ShardedStatement& forward = sharded.steps[s];  // there is room for those that come
    for (const std::size_t i : gradient_order(b, st)) adjoint(b, st, forward, i);
    for (std::size_t k = first; k < sharded.steps.size(); ++k) {
      sharded.steps[k].statement = static_cast<int>(s);
    }
  }
  must(sharded.steps.size() <= room, "no more steps than forward ones, those again, and adjoints");
  gather_updates(b);
  sharded.padding = padding_of(input, sharded);
  sharded.model_flops = sharded.model_flops * 3;  // of the forward pass
}

}  // namespace shardsim
