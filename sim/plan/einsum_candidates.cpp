#include "plan/einsum_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plan/cost.h"

namespace shardsim {
namespace {

// Whose order of the axes of a dim comes first: 0 and 1 the operands', 2 the wish's. What they
// leave open is ordered as the mesh is, or the other way round. All orders of two axes are among
// these.
struct Lead {
  std::vector<std::size_t> layouts;
  bool backwards = false;
};
const std::array<Lead, 5> kLeads = {{{{0, 1, 2}}, {{1, 0, 2}}, {{2, 0, 1}}, {{}}, {{}, true}}};

using Names = std::vector<std::string>;

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names contracted_dims(const EinsumPlanner& p) {
  Names dims;
  for (const DimLayout& dim : p.given[0].dims) {
    if (p.given[1].find(dim.dim) != nullptr && !has(p.einsum.out_dims, dim.dim)) {
      dims.push_back(dim.dim);
    }
  }
  return dims;
}

// Whether the output must give up the axis, so that a free dim could as well be gathered before.
bool wish_lacks(const EinsumPlanner& p, const std::string& axis) {
  const Sharding* wish = p.einsum.wish;
  return wish != nullptr && wish->dim_of_axis(axis) == nullptr && !has(wish->unreduced, axis);
}

// Whether the axis may cut any dim: the output's layout is given, no preset has a say in any of the
// three arrays, none is a partial sum over it, and the statement uses it or may use idle axes.
bool anywhere(const EinsumPlanner& p, const std::string& axis) {
  const Sharding* wish = p.einsum.wish;
  if (wish == nullptr) return false;
  for (const ReshardFreedom freedom : {p.in(0).freedom, p.in(1).freedom, p.einsum.freedom}) {
    if (freedom == ReshardFreedom::straight) return false;
  }
  bool used = p.einsum.freedom == ReshardFreedom::any;
  for (const Sharding* layout : {&p.given[0], &p.given[1], wish}) {
    if (has(layout->unreduced, axis)) return false;
    used = used || layout->dim_of_axis(axis) != nullptr;
  }
  return used;
}

void add_all_dims(const EinsumPlanner& p, Names& options) {
  for (const Sharding& layout : p.given) {
    for (const DimLayout& dim : layout.dims) {
      if (!has(options, dim.dim)) options.push_back(dim.dim);
    }
  }
}

bool may_be_whole(const EinsumPlanner& p, const AxisView& v, const std::string& axis) {
  if (anywhere(p, axis)) return true;
  if (v.in(0) && v.in(1)) return !same_shared_dim(v);
  const DimClass kind = v.kind[v.in(0) ? 0 : 1];
  if (kind == DimClass::free) {
    return p.einsum.freedom != ReshardFreedom::straight && wish_lacks(p, axis);
  }
  return kind != DimClass::summed;
}

// Presets pin an operand: it is whole over the axis before anything else, and cut again at most
// like the other one.
void apply_pins(const EinsumPlanner& p, AxisChoice& choice) {
  const AxisView& v = choice.view;
  choice.allowed.assign(choice.options.size(), true);
  if (pinned(p, 0, choice.axis) == pinned(p, 1, choice.axis)) return;
  const std::size_t i = pinned(p, 0, choice.axis) ? 0 : 1;
  if (!v.in(static_cast<int>(i))) return;
  const bool alone = !v.in(static_cast<int>(1 - i));
  if (alone && v.kind[i] != DimClass::contracted && v.kind[i] != DimClass::batch) return;
  choice.forbids = p.in(i).pin_text;
  for (std::size_t o = 0; o < choice.options.size(); ++o) {
    const std::string& option = choice.options[o];
    const bool like_other = option == v.dim[1 - i] && !option.empty();
    choice.allowed[o] =
        same_shared_dim(v) ? like_other : option.empty() || (like_other && option != v.dim[i]);
  }
}

// How many of them are tried: presets follow the operands.
std::size_t leads(const EinsumPlanner& p) {
  if (!free_hand(p)) return 2;
  return p.axes.size() <= 2 ? kLeads.size() : 3;
}

// The axes that cut a dim under these picks, major first.
Names ordered(const EinsumPlanner& p, const std::vector<std::size_t>& picks, const std::string& dim,
              const Lead& lead) {
  Names result;
  const auto cuts = [&](std::size_t a) {
    const std::string& option = p.axes[a].options[picks[a]];
    const AxisView& v = p.axes[a].view;
    return option == dim || (option == kDiagonal && (v.dim[0] == dim || v.dim[1] == dim));
  };
  const std::array<const Sharding*, 3> layouts = {&p.given[0], &p.given[1], p.einsum.wish};
  for (const std::size_t l : lead.layouts) {
    const DimLayout* has_dim = layouts[l] == nullptr ? nullptr : layouts[l]->find(dim);
    if (has_dim == nullptr) continue;
    for (const std::string& axis : has_dim->axes) {
      for (std::size_t a = 0; a < p.axes.size(); ++a) {
        const bool here = p.axes[a].axis == axis && cuts(a);
        if (here && !has(result, axis)) result.push_back(axis);
      }
    }
  }
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    const std::size_t a = lead.backwards ? p.axes.size() - 1 - i : i;
    const std::string& axis = p.axes[a].axis;
    if (cuts(a) && !has(result, axis)) result.push_back(axis);
  }
  return result;
}

Sharding placed_as(const EinsumPlanner& p, const std::vector<std::size_t>& picks,
                   std::size_t operand, const Lead& lead) {
  Sharding result = p.given[operand];
  for (DimLayout& dim : result.dims) dim.axes = ordered(p, picks, dim.dim, lead);
  return result;
}

bool at_hand(const EinsumOperand& in, const Sharding& need) {
  return std::any_of(in.copies.begin(), in.copies.end(),
                     [&](const Sharding& copy) { return only_slices(copy, need); });
}

// The layout that the output is brought to: the wish, or what it is with its partial sums reduced.
Sharding wished(const EinsumPlanner& p, EinsumCandidate& c) {
  Sharding target = c.out;
  target.unreduced.clear();
  if (p.einsum.wish == nullptr) {
    // {U} is never a free output.
    for (const std::string& axis : c.out.unreduced) {
      if (has(p.given[0].unreduced, axis) || has(p.given[1].unreduced, axis)) continue;
      c.refused = fmt::format("no layout says what becomes of partial sums over {}", axis);
    }
    return target;
  }
  target = *p.einsum.wish;
  for (const std::string& axis : p.einsum.wish->unreduced) {
    if (has(c.out.unreduced, axis)) continue;
    std::erase(target.unreduced, axis);
    c.refused = fmt::format("{} would not be a partial sum over {}", p.einsum.out.name, axis);
  }
  return target;
}

void refuse_diagonal(const EinsumPlanner& p, EinsumCandidate& c) {
  Names dims;
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    if (p.axes[a].options[c.picks[a]] != kDiagonal) continue;
    c.diagonal.push_back(p.axes[a].axis);
    for (const std::string& dim : p.axes[a].view.dim) dims.push_back(dim);
  }
  if (c.diagonal.empty()) return;
  c.refused =
      fmt::format("computes 1/{} of {}; all of it, were {} one batch dim",
                  p.mesh().size_of(c.diagonal), p.einsum.out.name, fmt::join(dims, " and "));
}

// What is moved, from where to where: of operand `i`, or (2) of the output.
struct Reshard {
  const ArrayInfo& array;
  const Sharding& from;
  const Sharding& to;
  ReshardFreedom freedom;
};
Reshard reshard_of(const EinsumPlanner& p, const Sketch& s, std::size_t i) {
  if (i == 2) return {p.einsum.out, s.candidate.out, s.target, p.einsum.freedom};
  return {p.in(i).array, p.given[i], s.candidate.operands[i], p.in(i).freedom};
}

// Equal for equal layouts of one array, and only for those.
std::string key_of(const Sharding& layout) {
  std::string key;
  const auto add = [&](const Names& axes) {
    for (const std::string& axis : axes) key += axis, key += ',';
    key += ';';
  };
  for (const DimLayout& dim : layout.dims) add(dim.axes);
  add(layout.unreduced);
  return key;
}

void bound_reshards(EinsumPlanner& p, Sketch& s) {
  for (const std::size_t i : {0u, 1u, 2u}) {
    const bool nothing =
        i == 2 ? !s.candidate.diagonal.empty() : at_hand(p.in(i), s.candidate.operands[i]);
    if (nothing) continue;
    const Reshard r = reshard_of(p, s, i);
    const auto [at, fresh] = p.known.try_emplace({i, key_of(r.from) + key_of(r.to)});
    SharedReshard& shared = at->second;
    if (fresh) shared.least = reshard_bound(p.layer, p.pricing, r.array, r.from, r.to, r.freedom);
    s.reshards[i] = &shared;
    s.least[i] = shared.least;
  }
}

}  // namespace

bool pinned(const EinsumPlanner& p, std::size_t operand, const std::string& axis) {
  return has(p.in(operand).gather_axes, axis);
}

AxisChoice choice_of(const EinsumPlanner& p, const std::string& axis) {
  AxisChoice choice{axis, view_axis(p.given[0], p.given[1], p.einsum.out_dims, axis), {}, {}, ""};
  const AxisView& v = choice.view;
  for (const std::string& dim : v.dim) {
    if (!dim.empty() && !has(choice.options, dim)) choice.options.push_back(dim);
  }
  if (v.in(0) && v.in(1) && !same_shared_dim(v)) {
    for (const std::string& dim : contracted_dims(p)) {
      if (!has(choice.options, dim)) choice.options.push_back(dim);
    }
  }
  if (may_be_whole(p, v, axis)) choice.options.emplace_back();
  if (anywhere(p, axis)) add_all_dims(p, choice.options);
  apply_pins(p, choice);
  const bool clash =
      v.in(0) && v.in(1) && v.kind[0] == DimClass::free && v.kind[1] == DimClass::free;
  if (clash) {
    choice.options.emplace_back(kDiagonal);
    choice.allowed.push_back(false);
  }
  return choice;
}

bool free_hand(const EinsumPlanner& p) {
  return std::any_of(p.axes.begin(), p.axes.end(),
                     [&](const AxisChoice& choice) { return anywhere(p, choice.axis); });
}

Sketch sketch(EinsumPlanner& p, const std::vector<std::size_t>& picks,
              const std::array<Sharding, 2>& operands) {
  Sketch s;
  EinsumCandidate& c = s.candidate;
  c.picks = picks;
  c.operands = operands;
  c.out = einsum_output(p.mesh(), operands[0], operands[1], p.einsum.out_dims);
  s.target = wished(p, c);
  refuse_diagonal(p, c);
  ShardedStatement step;
  step.operands = {operands[0], operands[1]};
  step.out = c.out;
  StepWork work;
  for (const std::size_t i : {0u, 1u}) work.element_bytes.push_back(p.in(i).array.element_bytes);
  work.element_bytes.push_back(p.einsum.out.element_bytes);
  add_work(p.layer, p.mesh(), work, step);
  c.flops = step.flops;
  // Without a chip FLOPs break ties only.
  if (p.pricing.rates().peak > FlopsPerSec{}) c.compute = cost(step, p.pricing.rates());
  bound_reshards(p, s);
  return s;
}

bool too_dear(const EinsumPlanner& p, const Sketch& s) {
  return p.limit && s.bound() > *p.limit * (1 + kSamePrice);
}

// Bounds give way to prices one by one, until they exceed the limit.
std::optional<EinsumCandidate> evaluate(EinsumPlanner& p, Sketch s) {
  for (const std::size_t i : {0u, 1u, 2u}) {  // other candidates may have found more
    if (s.reshards[i] != nullptr) s.least[i] = s.reshards[i]->least;
  }
  EinsumCandidate& c = s.candidate;
  std::array<std::size_t, 3> order = {0, 1, 2};  // the largest first: it may settle the matter
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return s.least[a] != s.least[b] ? s.least[a] > s.least[b] : a < b;
  });
  for (const std::size_t i : order) {
    if (too_dear(p, s)) return std::nullopt;
    if (s.reshards[i] == nullptr) continue;
    SharedReshard& shared = *s.reshards[i];
    Seconds most{std::numeric_limits<double>::infinity()};
    if (p.limit) most = *p.limit * (1 + kSamePrice) - (s.bound() - s.least[i]);
    if (!shared.plan && shared.searched < most) {
      const Reshard r = reshard_of(p, s, i);
      shared.plan = reshard_within(p.layer, p.pricing, r.array, r.from, r.to, r.freedom, most);
      shared.searched = most;
      shared.least = shared.plan ? shared.plan->price : std::max(shared.least, most);
    }
    if (!shared.plan) return std::nullopt;
    s.least[i] = shared.least;
  }
  if (too_dear(p, s)) return std::nullopt;
  for (const std::size_t i : {0u, 1u, 2u}) {
    if (s.reshards[i] == nullptr) continue;
    ReshardPlan& plan = i == 2 ? c.after : c.in[i];
    plan = *s.reshards[i]->plan;
    c.communication += plan.price;
    c.bytes += plan.bytes;
  }
  return std::move(c);
}

void try_picks(EinsumPlanner& p, const std::vector<std::size_t>& picks,
               std::vector<EinsumCandidate>& tried) {
  const auto known = [&](const std::array<Sharding, 2>& operands) {
    return std::any_of(tried.begin(), tried.end(),
                       [&](const EinsumCandidate& c) { return c.operands == operands; });
  };
  for (std::size_t lead = 0; lead < leads(p); ++lead) {
    const std::array<Sharding, 2> operands = {placed_as(p, picks, 0, kLeads[lead]),
                                              placed_as(p, picks, 1, kLeads[lead])};
    if (known(operands)) continue;
    auto candidate = evaluate(p, sketch(p, picks, operands));
    if (candidate) tried.push_back(*std::move(candidate));
  }
}

bool allowed(const EinsumPlanner& p, const std::vector<std::size_t>& picks) {
  for (std::size_t a = 0; a < p.axes.size(); ++a) {
    if (!p.axes[a].allowed[picks[a]]) return false;
  }
  return true;
}

}  // namespace shardsim
