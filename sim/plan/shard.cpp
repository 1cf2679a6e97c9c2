#include "plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/same_name.h"
#include "plan/attention_plans.h"
#include "plan/cost.h"
#include "plan/norm_parts.h"
#include "plan/priced_plan.h"
#include "plan/reshard.h"
#include "plan/shard_needs.h"

namespace shardsim {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool contains(const std::vector<int>& tensors, int t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

// Explains a collective by the gatherings of its axes.
void explain(ShardedCollective& c, const Needs& needs, int operand) {
  c.case_text = "layout";
  c.reason = needs.reason;
  std::vector<std::string> reasons;
  for (const Gathering& g : needs.gatherings) {
    if (g.operand != operand || !has(c.axes, g.axis)) continue;
    if (reasons.empty()) c.case_text = case_name(g.number);
    reasons.push_back(g.reason);
  }
  if (!reasons.empty()) c.reason = fmt::format("{}", fmt::join(reasons, "; "));
}

std::vector<ShardedCollective> moves(Sharder& s, int t, const Sharding& from, const Sharding& to) {
  ReshardPlan plan = reshard(s.in.layer, s.in.prices, info(s, t), from, to, freedom_of(s.in, t));
  s.out.warnings.insert(s.out.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  return std::move(plan.steps);
}

// Collectives that make `need` out of the copies at hand; the last result is kept for later
// readers.
void bring(Sharder& s, ShardedStatement& step, const Needs& needs, int operand, int t) {
  const Sharding& need = needs.operands[static_cast<std::size_t>(operand)];
  if (at_hand(s, t, need)) return;
  for (ShardedCollective& c : moves(s, t, held(s, t), need)) {
    explain(c, needs, operand);
    step.before.push_back(std::move(c));
  }
  s.copies[static_cast<std::size_t>(t)].push_back(need);
}

// The layout in which the output is passed on: the wish, as far as the partial sums allow it.
// `reported`: the statement cannot be computed on blocks, so that what it yields says nothing.
Sharding final_layout(Sharder& s, const LayerStatement& st, const Sharding& yielded,
                      bool reported) {
  Sharding result = yielded;
  if (contains(s.known.kept, st.out)) return result;
  const TensorLayout* w = wish(s, st.out);
  if (w == nullptr) {
    return {yielded.dims, {}};
  }
  result = w->held;
  const bool sums = yielded.reduction == Reduction::sum;
  for (const std::string& axis : w->held.unreduced) {
    if (sums && has(yielded.unreduced, axis)) continue;
    std::erase(result.unreduced, axis);
    if (reported) continue;
    report(s, st,
           fmt::format("{} is not a partial sum over {} here, so it cannot be kept as one",
                       tensor(s, st.out).name, axis),
           fmt::format("write {}{}", tensor(s, st.out).name, to_text(result)));
  }
  return result;
}

std::string output_reason(const ShardedCollective& c) {
  const std::string axes = fmt::format("{}", fmt::join(c.axes, ", "));
  switch (c.kind) {
    case Collective::reduce_scatter:
      return fmt::format("{} is a partial {} over {} and is held cut on {}", c.tensor,
                         to_text(c.before.reduction), axes, c.dim);
    case Collective::all_reduce:
      return fmt::format("{} is a partial {} over {} and is held whole on it", c.tensor,
                         to_text(c.before.reduction), axes);
    default:
      break;
  }
  return fmt::format("{} is held as {}", c.tensor, to_text(c.after));
}

std::vector<std::string> output_alternatives(const LayerStatement& st, const ShardedCollective& c) {
  if (c.kind != Collective::all_reduce || combines_parts(st.kind)) return {};
  std::vector<std::string> dims;
  for (const DimLayout& dim : c.before.dims) dims.push_back(dim.dim);
  return {fmt::format("reduce-scatter into {} and stay cut: {} instead of 2 x {}", joined_or(dims),
                      to_text(c.bytes), to_text(c.bytes))};
}

// Where the parts that a collective combines come from.
std::string case_of_parts(const LayerStatement& st, const ShardedStatement& step,
                          const std::string& axis) {
  if (combines_parts(st.kind)) return "parts";
  for (const AxisCase& c : step.cases) {
    if (c.axis == axis && c.number == 0) return case_name(0);
  }
  return case_name(3);
}

void settle_output(Sharder& s, const LayerStatement& st, ShardedStatement& step, bool reported) {
  const Sharding target = final_layout(s, st, step.out, reported);
  for (ShardedCollective& c : moves(s, st.out, step.out, target)) {
    const bool reduces = c.kind == Collective::all_reduce || c.kind == Collective::reduce_scatter;
    c.case_text = reduces ? case_of_parts(st, step, c.axes.front()) : "layout";
    c.reason = output_reason(c);
    c.alternatives = output_alternatives(st, c);
    step.after.push_back(std::move(c));
  }
  s.out.held[static_cast<std::size_t>(st.out)] = target;
}

// The plans that were not taken, at the first collective of the one that was.
void list_plans(ShardedStatement& step) {
  std::vector<ShardedCollective>& moved = step.before.empty() ? step.after : step.before;
  if (moved.empty()) return;
  for (std::size_t i = 1; i < step.plans.size(); ++i) {
    moved.front().alternatives.push_back(to_text(step.plans[i]));
  }
}

void add_step(Sharder& s, const LayerStatement& st) {
  const std::size_t problems = s.problems.size();
  Needs needs = needs_of(s, st);
  const bool reported = s.problems.size() != problems;
  ShardedStatement step;
  step.statement = static_cast<int>(&st - s.in.layer.statements.data());
  step.text = st.text;
  step.kind = st.kind;
  step.out_name = tensor(s, st.out).name;
  StepWork work;
  work.attention_share = s.in.attention->share(st.causal);
  if (st.kind == StatementKind::attention)
    work.imbalance = attention_imbalance(s.in, st.causal, needs.operands.front());
  work.scores = s.in.attention->forward;
  for (std::size_t i = 0; i < st.in.size(); ++i) {
    bring(s, step, needs, static_cast<int>(i), st.in[i]);
    step.operand_names.push_back(tensor(s, st.in[i]).name);
    work.element_bytes.push_back(info(s, st.in[i]).element_bytes);
  }
  step.operands = std::move(needs.operands);
  step.out = std::move(needs.out);
  step.cases = std::move(needs.cases);
  step.plans = std::move(needs.plans);
  work.element_bytes.push_back(info(s, st.out).element_bytes);
  add_work(s.in.layer, s.in.mesh, work, step);
  settle_output(s, st, step, reported);
  list_plans(step);
  s.out.steps.push_back(std::move(step));
}

// `apart`: the first norm to be taken apart.
ShardedLayer shard_once(const ShardInput& input, const Findings& known,
                        std::vector<Problem>& problems, std::optional<NormApart>& apart) {
  Sharder s{input, problems, known, {}, {}};
  s.copies.resize(input.layer.tensors.size());
  for (const TensorLayout& layout : input.layouts.tensors) s.out.held.push_back(layout.held);
  for (const LayerStatement& st : input.layer.statements) add_step(s, st);
  s.out.padding = padding_of(input, s.out);
  s.out.model_flops = model_flops(input.layer);
  apart = std::move(s.apart);
  return std::move(s.out);
}

// The one statement that reads a tensor, or nullptr.
const LayerStatement* only_reader(const Layer& layer, int t) {
  const LayerStatement* reader = nullptr;
  for (const LayerStatement& st : layer.statements) {
    for (const int in : st.in) {
      if (in != t) continue;
      if (reader != nullptr) return nullptr;
      reader = &st;
    }
  }
  return reader;
}

// Operands of adds that were reduced one by one, though their sum could have been: partial sums of
// one layout, read by nothing else, and not asked for in another layout by name.
std::vector<int> added_later(const ShardInput& input, const ShardedLayer& sharded,
                             const std::vector<int>& kept) {
  const auto made = [&](int t) -> const ShardedStatement* {
    for (std::size_t s = 0; s < input.layer.statements.size(); ++s) {
      if (input.layer.statements[s].out == t) return &sharded.steps[s];
    }
    return nullptr;
  };
  std::vector<int> more;
  for (const LayerStatement& st : input.layer.statements) {
    if (st.kind != StatementKind::add) continue;
    const ShardedStatement* a = made(st.in[0]);
    const ShardedStatement* b = made(st.in[1]);
    if (a == nullptr || b == nullptr || a->out != b->out || a->out.unreduced.empty()) continue;
    if (a->out.reduction != Reduction::sum) continue;
    const bool free = std::all_of(st.in.begin(), st.in.end(), [&](int t) {
      return only_reader(input.layer, t) == &st &&
             !input.layouts.tensors[static_cast<std::size_t>(t)].stated && !contains(kept, t);
    });
    if (free) more.insert(more.end(), st.in.begin(), st.in.end());
  }
  return more;
}

}  // namespace

namespace {

// Dims that some axes of the mesh may leave padding in: not those that all of them together divide.
std::vector<std::string_view> may_be_padded(const Layer& layer, const Mesh& mesh) {
  std::int64_t devices = 1;
  for (const MeshAxis& axis : mesh.axes) devices *= axis.size;
  std::vector<std::string_view> dims;
  for (const NamedDim& dim : layer.dims)
    if (dim.size % devices != 0) dims.push_back(dim.name);
  return dims;
}

}  // namespace

std::vector<std::string> padding_of(const ShardInput& input, const ShardedLayer& sharded) {
  std::vector<std::string> result;
  const std::vector<std::string_view> open = may_be_padded(input.layer, input.mesh);
  const auto divides = [&](const DimLayout& dim) {
    if (dim.axes.empty()) return true;
    const bool checked = std::any_of(
        open.begin(), open.end(), [&](std::string_view name) { return same_name(name, dim.dim); });
    return !checked || input.layer.dim_size(dim.dim) % input.mesh.size_of(dim.axes) == 0;
  };
  const auto note = [&](const Sharding& sharding) {
    if (std::all_of(sharding.dims.begin(), sharding.dims.end(), divides)) return;
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

ReshardFreedom freedom_of(const ShardInput& input, int tensor) {
  const bool free = input.layouts.timings.empty() ||
                    input.layouts.tensors[static_cast<std::size_t>(tensor)].stated;
  if (!free) return ReshardFreedom::straight;
  return input.use_idle_axes ? ReshardFreedom::any : ReshardFreedom::used_axes;
}

ShardedLayer shard(const ShardInput& input, std::vector<Problem>& problems) {
  Findings known;
  while (true) {
    std::vector<Problem> found;
    std::optional<NormApart> apart;
    ShardedLayer sharded = shard_once(input, known, found, apart);
    const std::vector<int> more = added_later(input, sharded, known.kept);
    if (!found.empty() || (more.empty() && !apart)) {
      problems.insert(problems.end(), found.begin(), found.end());
      return sharded;
    }
    known.kept.insert(known.kept.end(), more.begin(), more.end());
    if (!more.empty()) continue;
    const int sums = take_norm_apart(input.layer, input.layouts, apart->statement);
    known.parted[sums] = std::move(apart->plans);
  }
}

}  // namespace shardsim
