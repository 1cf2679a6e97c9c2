#include "plan/attention_plans.h"

#include <algorithm>
#include <utility>

#include "plan/block_order.h"
#include "plan/cost.h"
#include "plan/plan_candidate.h"

namespace shardsim {
namespace {

using Axes = std::vector<std::string>;

bool has(const Axes& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool cuts_once(const Sharding& sharding) {
  Axes seen;
  for (const DimLayout& dim : sharding.dims) {
    for (const std::string& axis : dim.axes) {
      if (has(seen, axis)) return false;
      seen.push_back(axis);
    }
  }
  return true;
}

std::size_t sequence_of(const Sharding& array) {
  return array.dims.size() - 3;
}
std::size_t heads_of(const Sharding& array) {
  return array.dims.size() - 2;
}

// Batch dims and heads as the operand that cuts them most has them, if that makes a layout; else as
// the queries have them. The sequence and the head size are whole.
Sharding queries_layout(const std::vector<Sharding>& in) {
  Sharding own = in[0];
  Sharding most = in[0];
  for (std::size_t d = 0; d < own.dims.size(); ++d) {
    if (d == sequence_of(own) || d + 1 == own.dims.size()) {
      own.dims[d].axes.clear();
      most.dims[d].axes.clear();
      continue;
    }
    for (const Sharding& operand : in) {
      const Axes& other = operand.dims[d].axes;
      if (other.size() > most.dims[d].axes.size()) most.dims[d].axes = other;
    }
  }
  return cuts_once(most) ? most : own;
}

// Fewer heads than devices: one for each along the first axes, copies along the others.
void fit_heads(const Sharder& s, DimLayout& heads) {
  const int size = s.in.layer.dim_size(heads.dim);
  if (size % s.in.mesh.size_of(heads.axes) == 0) return;
  Axes first = heads.axes;
  while (s.in.mesh.size_of(first) > size) first.pop_back();
  if (s.in.mesh.size_of(first) == size) heads.axes = std::move(first);
}

// Q, K and V where the queries are cut like this: key/value heads are cut like the query heads
// they serve, as far as there are enough of them; their sequence is whole.
std::vector<Sharding> operands_of(const Sharder& s, const std::vector<Sharding>& in,
                                  const Sharding& queries) {
  std::vector<Sharding> result = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t d = 0; d < queries.dims.size(); ++d)
      result[i].dims[d].axes = queries.dims[d].axes;
    if (i == 0) continue;
    result[i].dims[sequence_of(queries)].axes.clear();
    fit_heads(s, result[i].dims[heads_of(queries)]);
  }
  return result;
}

bool heads_divide(const Sharder& s, const std::vector<Sharding>& operands) {
  return std::all_of(operands.begin(), operands.end(), [&](const Sharding& operand) {
    const DimLayout& heads = operand.dims[heads_of(operand)];
    return s.in.layer.dim_size(heads.dim) % s.in.mesh.size_of(heads.axes) == 0;
  });
}

// The operands, and what they cost.
struct Candidate {
  std::vector<Sharding> operands;
  PlanCandidate plan;
};

Candidate candidate(Sharder& s, const LayerStatement& st, std::vector<Sharding> operands) {
  Candidate c;
  c.operands = std::move(operands);
  const Sharding& out = c.operands[0];
  ShardedStatement step;
  step.kind = StatementKind::attention;
  step.operands = c.operands;
  step.out = out;
  StepWork work;
  for (std::size_t i = 0; i < st.in.size(); ++i) {
    add_moves(brought(s, st.in[i], c.operands[i]), c.plan.before, c.plan);
    work.element_bytes.push_back(info(s, st.in[i]).element_bytes);
  }
  work.element_bytes.push_back(info(s, st.out).element_bytes);
  work.attention_share = s.in.attention->share(st.causal);
  work.imbalance = attention_imbalance(s.in, st.causal, c.operands[0]);
  work.scores = s.in.attention->forward;
  add_work(s.in.layer, s.in.mesh, work, step);
  c.plan.flops = step.flops * step.imbalance;
  // Without a chip FLOPs break ties only.
  if (s.in.prices.rates().peak > FlopsPerSec{}) c.plan.compute = cost(step, s.in.prices.rates());
  add_moves(handed_on(s, st.out, out), c.plan.after, c.plan);
  return c;
}

// The first is what context parallelism does.
std::vector<Candidate> candidates(Sharder& s, const LayerStatement& st,
                                  const std::vector<Sharding>& in, const Sharding& uncut) {
  const std::size_t sequence = sequence_of(uncut);
  const Axes& axes = in[0].dims[sequence].axes;
  Sharding cut = uncut;
  cut.dims[sequence].axes = axes;
  Sharding by_heads = uncut;
  Axes& heads = by_heads.dims[heads_of(uncut)].axes;
  heads.insert(heads.end(), axes.begin(), axes.end());
  std::vector<Candidate> result;
  for (const Sharding& queries : {cut, by_heads}) {
    std::vector<Sharding> operands = operands_of(s, in, queries);
    if (cuts_once(queries) && heads_divide(s, operands))
      result.push_back(candidate(s, st, std::move(operands)));
  }
  result.push_back(candidate(s, st, operands_of(s, in, uncut)));
  return result;
}

bool pinned(const Sharder& s, const LayerStatement& st, const Axes& axes) {
  const Axes gathered = s.in.layouts.gather_axes(tensor(s, st.in[0]).role);
  return std::all_of(axes.begin(), axes.end(),
                     [&](const std::string& axis) { return has(gathered, axis); });
}

}  // namespace

AttentionPlans attention_plans(Sharder& s, const LayerStatement& st,
                               const std::vector<Sharding>& in) {
  const Sharding uncut = queries_layout(in);
  const Axes& axes = in[0].dims[sequence_of(uncut)].axes;
  if (s.in.mesh.size_of(axes) == 1) return {operands_of(s, in, uncut), {}};
  std::vector<Candidate> tried = candidates(s, st, in, uncut);
  const auto first = tried.begin() + (pinned(s, st, axes) ? 1 : 0);
  std::stable_sort(first, tried.end(), [](const Candidate& x, const Candidate& y) {
    return costs_less(x.plan, y.plan);
  });
  std::vector<PlanCandidate> plans;
  for (const Candidate& c : tried) plans.push_back(c.plan);
  return {tried[0].operands, priced_plans(s.in.prices, plans, "attend")};
}

double attention_imbalance(const ShardInput& input, bool causal, const Sharding& queries) {
  if (!causal || !input.attention->skips_masked) return 1;
  const Axes& axes = queries.dims[sequence_of(queries)].axes;
  return causal_imbalance(input.layouts.order_over(axes), input.mesh.size_of(axes));
}

}  // namespace shardsim
