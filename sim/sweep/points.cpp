#include "sweep/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/counted.h"
#include "base/file.h"
#include "base/must.h"
#include "base/progress.h"
#include "spec/yaml_text.h"
#include "sweep/draw.h"
#include "sweep/formula_names.h"

namespace shardsim {

std::optional<std::string> text_of(const Field& field, double number) {
  constexpr double kMost = std::numeric_limits<int>::max();
  const auto with = [&](const char* unit) -> std::optional<std::string> {
    if (number <= 0) return std::nullopt;
    return fmt::format("{:.15g} {}", number, unit);
  };
  switch (field.type) {
    case FieldType::count:
    case FieldType::large_count:
    case FieldType::position:
    case FieldType::mesh_axis: {
      // What rounding leaves of a quotient is no fraction.
      const double whole = std::round(number);
      const double least = field.type == FieldType::position ? 0 : 1;
      if (!nearly_equal(whole, number) || whole < least || whole > kMost) return std::nullopt;
      return exact_text(whole);
    }
    case FieldType::bytes:
      return with("B");
    case FieldType::bandwidth:
      return with("B/s");
    case FieldType::seconds:
      return with("s");
    default:
      if (number <= 0 || (field.type == FieldType::factor && number > 1) ||
          (field.type == FieldType::share && number >= 1) ||
          (field.type == FieldType::ratio && number < 1)) {
        return std::nullopt;
      }
      return exact_text(number);
  }
}

std::string dotted(const std::vector<PathStep>& field) {
  std::string path;
  for (const PathStep& step : field) path += (path.empty() ? "" : ".") + step.key;
  return path;
}

Candidates::Candidates(const SweepSpec& spec) : spec_(spec), axes_(spec.axes()) {
  for (const AxisGroup& group : spec.groups) count_ *= static_cast<double>(group.size());
  for (const Formula& formula : spec.where) rules_.push_back(formula.text.text);
  for (const DerivedField& derived : spec.derived) {
    rules_.push_back(derived.row == nullptr ? ""
                                            : fmt::format("{} = {} is no {}", dotted(derived.field),
                                                          derived.formula.text.text,
                                                          type_row(derived.row->type).text));
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    names_.push_back({axes_[i]->name, i, false});
    if (!axes_[i]->field.empty()) names_.push_back({dotted(axes_[i]->field), i, false});
  }
  for (std::size_t i = 0; i < spec.derived.size(); ++i) {
    names_.push_back({spec.derived[i].name, i, true});
    if (spec.derived[i].row != nullptr) names_.push_back({dotted(spec.derived[i].field), i, true});
  }
  const auto known = [&](const std::string& name) {
    return std::any_of(names_.begin(), names_.end(), [&](const Name& n) { return n.name == name; });
  };
  const auto add_base = [&](const Formula& formula) {
    for (const FormulaStep& step : formula.steps) {
      if (step.kind != FormulaStep::Kind::name || known(step.name)) continue;
      if (const auto number = number_in_base(spec.base, step.name))
        of_base_.emplace_back(step.name, *number);
    }
  };
  for (const Formula& formula : spec.where) add_base(formula);
  for (const DerivedField& derived : spec.derived) add_base(derived.formula);
  if (!spec.search) return;
  for (const Formula& formula : spec.search->constraints) {
    add_base(formula);
    const bool is_early =
        std::all_of(formula.steps.begin(), formula.steps.end(), [&](const FormulaStep& step) {
          const auto is_of_base = [&](const auto& one) { return one.first == step.name; };
          return step.kind != FormulaStep::Kind::name || known(step.name) ||
                 std::any_of(of_base_.begin(), of_base_.end(), is_of_base);
        });
    if (is_early) early_.push_back(&formula);
  }
}

void Candidates::check_constraints(const Candidate& candidate) const {
  for (const Formula* formula : early_)
    if (*evaluated(*formula, candidate) == 0) return;
}

std::optional<FormulaValue> Candidates::value_of(const Candidate& candidate,
                                                 const std::string& name) const {
  for (const Name& known : names_) {
    if (known.name != name) continue;
    if (known.derived) {
      must(known.index < candidate.derived.size(), "derived values are read in their order");
      return candidate.derived[known.index];
    }
    const AxisValue& value = *candidate.values[known.index];
    if (value.number) return *value.number;
    return std::string_view(value.text);
  }
  for (const auto& [known, number] : of_base_)
    if (known == name) return number;
  return std::nullopt;
}

std::optional<double> Candidates::evaluated(const Formula& formula,
                                            const Candidate& candidate) const {
  std::vector<Problem> problems;
  const auto value = evaluate(
      formula, [&](const std::string& name, const SourcePos&) { return value_of(candidate, name); },
      problems);
  if (!problems.empty()) {
    problems.front().hint += fmt::format("{}where {}", problems.front().hint.empty() ? "" : "; ",
                                         candidate_text(spec_, candidate));
    throw ConfigError(std::move(problems));
  }
  must(value.has_value(), "names of formulas were checked when they were read");
  return value;
}

Candidate Candidates::at(std::uint64_t number) const {
  Candidate out;
  out.number = number;
  out.values.resize(axes_.size());
  std::size_t axis = axes_.size();
  for (auto group = spec_.groups.rbegin(); group != spec_.groups.rend(); ++group) {
    const std::uint64_t digit = number % group->size();
    number /= group->size();
    for (auto one = group->axes.rbegin(); one != group->axes.rend(); ++one)
      out.values[--axis] = &one->values[digit];
  }
  out.derived.reserve(spec_.derived.size());
  int unfit = -1;
  for (std::size_t i = 0; i < spec_.derived.size(); ++i) {
    out.derived.push_back(*evaluated(spec_.derived[i].formula, out));
    const Field* row = spec_.derived[i].row;
    if (unfit < 0 && row != nullptr && !text_of(*row, out.derived.back()))
      unfit = static_cast<int>(spec_.where.size() + i);
  }
  for (std::size_t i = 0; i < spec_.where.size(); ++i) {
    if (*evaluated(spec_.where[i], out) != 0) continue;
    out.left_out = static_cast<int>(i);
    return out;
  }
  out.left_out = unfit;
  return out;
}

std::string candidate_text(const SweepSpec& spec, const Candidate& candidate) {
  std::string text;
  const std::vector<const SweepAxis*> axes = spec.axes();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", axes[i]->name, candidate.values[i]->text);
  }
  return text;
}

Node run_of(const SweepSpec& spec, const Candidate& candidate) {
  struct Placed {
    const std::vector<PathStep>* field;
    Node node;
  };
  std::vector<Placed> values;
  const std::vector<const SweepAxis*> axes = spec.axes();
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!axes[i]->field.empty()) values.push_back({&axes[i]->field, candidate.values[i]->node});
  for (std::size_t i = 0; i < spec.derived.size(); ++i) {
    const DerivedField& one = spec.derived[i];
    if (one.row == nullptr) continue;
    const auto text = text_of(*one.row, candidate.derived[i]);
    must(text.has_value(), "candidates whose fields do not take their value are no points");
    values.push_back({&one.field, {NodeKind::scalar, *text, false, {}, one.field.front().pos}});
  }
  // A topology goes before the fields in it.
  std::stable_sort(values.begin(), values.end(), [](const Placed& a, const Placed& b) {
    return a.field->size() < b.field->size();
  });
  Node run = spec.base;
  std::vector<Problem> problems;
  for (Placed& value : values) assign(*value.field, std::move(value.node), run, problems);
  const PathStep name{"name", run.pos};
  const std::string title = fmt::format("{}, point {}", spec.name, candidate.number);
  assign(std::span(&name, 1), {NodeKind::scalar, title, false, {}, run.pos}, run, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return run;
}

namespace {

void require_points(const SweepSpec& spec, const PointList& list, const Candidates& candidates) {
  if (!list.points.empty()) return;
  std::string by;
  for (std::size_t i = 0; i < list.left_out.size(); ++i) {
    if (list.left_out[i] > 0)
      by += fmt::format("{}{} by {}", by.empty() ? "" : ", ", list.left_out[i],
                        candidates.rules()[i]);
  }
  const SourcePos at = spec.where.empty()
                           ? spec.groups.front().axes.front().pos
                           : spec.where.front().text.at(0, spec.where.front().text.text.size());
  throw ConfigError(
      {{at,
        fmt::format("expected a point, found none: all {:.0f} candidates are left out",
                    list.candidates),
        by}});
}

[[noreturn]] void refuse_so_many(const SweepSpec& spec, const std::string& found) {
  throw ConfigError(
      {{spec.groups.front().axes.front().pos,
        fmt::format("expected at most {} points, found {}", grouped(kMostPoints), found),
        "draw some: sample: {points: 10000, seed: 1}"}});
}

}  // namespace

PointList list_points(const SweepSpec& spec, const Candidates& candidates, bool quiet) {
  PointList list;
  list.left_out.resize(candidates.rules().size());
  const double limit = spec.sample ? kMostToDrawFrom : kMostCandidates;
  if (candidates.count() > limit) {
    throw ConfigError({{spec.groups.front().axes.front().pos,
                        fmt::format("expected at most {:.0e} candidates, found {:.4g}", limit,
                                    candidates.count()),
                        spec.sample ? "" : "draw some: sample: {points: 10000, seed: 1}"}});
  }
  const auto all = static_cast<std::uint64_t>(candidates.count());
  const Draw draw(all, spec.sample ? spec.sample->seed : 0);
  const std::size_t wanted = spec.sample ? static_cast<std::size_t>(spec.sample->points)
                                         : std::numeric_limits<std::size_t>::max();
  constexpr std::uint64_t kLook = 1 << 16;  // candidates between looks at the interrupt flag
  const std::uint64_t most =
      std::min<std::uint64_t>(all, static_cast<std::uint64_t>(kMostCandidates));
  if (!spec.sample && candidates.rules().empty() && all > kMostPoints)
    refuse_so_many(spec, grouped(all));
  Progress progress(spec.sample ? "candidates drawn" : "candidates looked at",
                    spec.sample ? 0 : most, quiet);
  for (std::uint64_t i = 0; i < most && list.points.size() < wanted; ++i) {
    if (i % kLook == 0) {
      throw_if_interrupted();
      progress.at(i);
      if (list.points.size() > kMostPoints)
        refuse_so_many(spec, fmt::format("more in the first {} candidates", grouped(i)));
    }
    const Candidate candidate = candidates.at(spec.sample ? draw.at(i) : i);
    ++list.candidates;
    if (candidate.left_out < 0) {
      candidates.check_constraints(candidate);
      list.points.push_back(candidate.number);
    } else {
      ++list.left_out[static_cast<std::size_t>(candidate.left_out)];
    }
  }
  std::sort(list.points.begin(), list.points.end());
  require_points(spec, list, candidates);
  return list;
}

}  // namespace shardsim
