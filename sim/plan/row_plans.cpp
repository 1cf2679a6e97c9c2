#include "plan/row_plans.h"

#include <algorithm>
#include <utility>

#include "plan/cost.h"
#include "plan/norm_parts.h"
#include "plan/plan_candidate.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

// The layout of X, and what it costs.
struct Candidate {
  Sharding rows;
  PlanCandidate plan;
};

void add_step(const Sharder& s, const std::vector<Sharding>& operands,
              std::vector<double> element_bytes, const Sharding& out, Candidate& c) {
  ShardedStatement step;
  step.kind = StatementKind::norm;
  step.operands = operands;
  step.out = out;
  add_work(s.in.layer, s.in.mesh, {std::move(element_bytes)}, step);
  c.plan.flops += step.flops;
  // Without a chip FLOPs break ties only.
  if (s.in.prices.rates().peak > FlopsPerSec{}) c.plan.compute += cost(step, s.in.prices.rates());
}

bool cuts(const Sharder& s, const LayerStatement& st, const Sharding& rows) {
  return s.in.mesh.size_of(rows.find(st.over_dim)->axes) > 1;
}

// The all-reduce of a statistic of the rows, and the pass over them that makes it; `made` are those
// that came before.
struct Statistics {
  std::vector<Sharding> layouts;
  std::vector<double> element_bytes;
};
void add_statistic(Sharder& s, const LayerStatement& st, const ArrayInfo& statistic,
                   Reduction reduction, Statistics& made, Candidate& c) {
  const Sharding parts = parts_of_rows(c.rows, st.over_dim, reduction);
  const Sharding all{parts.dims, {}};
  add_moves(reshard(s.in.layer, s.in.prices, statistic, parts, all, freedom_of(s.in, st.out)),
            c.plan.before, c.plan);
  std::vector<Sharding> read = {c.rows};
  std::vector<double> element_bytes = {info(s, st.in[0]).element_bytes};
  read.insert(read.end(), made.layouts.begin(), made.layouts.end());
  element_bytes.insert(element_bytes.end(), made.element_bytes.begin(), made.element_bytes.end());
  element_bytes.push_back(statistic.element_bytes);
  add_step(s, read, std::move(element_bytes), all, c);
  made.layouts.push_back(all);
  made.element_bytes.push_back(statistic.element_bytes);
}

void add_statistics(Sharder& s, const LayerStatement& st, std::vector<Sharding>& operands,
                    std::vector<double>& element_bytes, Candidate& c) {
  Statistics made;
  if (takes_maximum(st)) {
    add_statistic(s, st, {maxima_name(s.in.layer, st), kStatisticBytes}, Reduction::max, made, c);
  }
  add_statistic(s, st, {sums_name(s.in.layer, st), kStatisticBytes * sums_per_row(st)},
                Reduction::sum, made, c);
  operands.insert(operands.end(), made.layouts.begin(), made.layouts.end());
  element_bytes.insert(element_bytes.end(), made.element_bytes.begin(), made.element_bytes.end());
}

Candidate candidate(Sharder& s, const LayerStatement& st, const Sharding& rows) {
  Candidate c;
  c.rows = rows;
  std::vector<Sharding> operands = row_operands(s, st, rows);
  std::vector<double> element_bytes;
  for (std::size_t i = 0; i < st.in.size(); ++i) {
    add_moves(brought(s, st.in[i], operands[i]), c.plan.before, c.plan);
    element_bytes.push_back(info(s, st.in[i]).element_bytes);
  }
  Sharding out = rows;
  if (st.kind == StatementKind::reduce) {
    out = parts_of_rows(rows, st.over_dim, reduction_of(st));
  } else if (cuts(s, st, rows)) {
    add_statistics(s, st, operands, element_bytes, c);
  }
  element_bytes.push_back(info(s, st.out).element_bytes);
  add_step(s, operands, std::move(element_bytes), out, c);
  add_moves(handed_on(s, st.out, out), c.plan.after, c.plan);
  return c;
}

// Layouts of X to work in: with the dim whole, other dims as they lie and as the output has them;
// and as it lies.
std::vector<Sharding> layouts_of_rows(const Sharder& s, const LayerStatement& st,
                                      const Sharding& rows) {
  std::vector<Sharding> result;
  const auto with_dim_whole = [&](const Sharding& like) {
    Sharding layout = rows;
    for (DimLayout& dim : layout.dims) {
      const DimLayout* other = like.find(dim.dim);
      dim.axes.clear();
      if (other != nullptr && dim.dim != st.over_dim) dim.axes = other->axes;
    }
    if (std::find(result.begin(), result.end(), layout) == result.end()) result.push_back(layout);
  };
  with_dim_whole(rows);
  if (const TensorLayout* w = wish(s, st.out)) with_dim_whole(w->held);
  result.push_back(rows);
  return result;
}

}  // namespace

std::vector<Sharding> row_operands(const Sharder& s, const LayerStatement& st,
                                   const Sharding& rows) {
  std::vector<Sharding> result = {rows};
  for (std::size_t i = 1; i < st.in.size(); ++i) {
    Sharding layout = held(s, st.in[i]);
    for (DimLayout& dim : layout.dims) {
      const DimLayout* cut = rows.find(dim.dim);  // the sums of a norm have a dim of their own
      if (cut != nullptr) dim.axes = cut->axes;
    }
    result.push_back(std::move(layout));
  }
  return result;
}

Reduction reduction_of(const LayerStatement& st) {
  return st.function == "min" ? Reduction::min : Reduction::max;
}

RowPlans row_plans(Sharder& s, const LayerStatement& st, const Sharding& rows) {
  if (!cuts(s, st, rows)) return {rows, {}};
  std::vector<Candidate> tried;
  for (const Sharding& layout : layouts_of_rows(s, st, rows)) {
    tried.push_back(candidate(s, st, layout));
  }
  std::stable_sort(tried.begin(), tried.end(), [](const Candidate& a, const Candidate& b) {
    return costs_less(a.plan, b.plan);
  });
  std::vector<PlanCandidate> plans;
  for (const Candidate& c : tried) plans.push_back(c.plan);
  const std::string_view verb = st.kind == StatementKind::norm ? "normalise" : "reduce";
  RowPlans result{tried[0].rows, priced_plans(s.in.prices, plans, verb)};
  result.apart = st.kind == StatementKind::norm && cuts(s, st, result.rows);
  return result;
}

}  // namespace shardsim
