#include "sweep/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/counted.h"
#include "base/units.h"
#include "sweep/rows.h"

namespace shardsim {
namespace {

constexpr std::string_view kFits = "fits_memory";

bool reads(const Formula& formula, std::string_view name) {
  return std::any_of(formula.steps.begin(), formula.steps.end(), [&](const FormulaStep& step) {
    return step.kind == FormulaStep::Kind::name && step.name == name;
  });
}

std::optional<FormulaValue> figure_named(const PointResult& result, const std::string& name) {
  const auto rows = figure_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name && result.figures[i]) return *result.figures[i];
  return std::nullopt;
}

BrokenConstraint without_value(const SweepSpec& spec, const Candidate& candidate,
                               const Formula& formula, Problem problem) {
  std::string reason = fmt::format("constraint {}, at {}:{}: {}", formula.text.text,
                                   problem.pos.line, problem.pos.column, problem.message);
  problem.hint = fmt::format("of point {}: {}", candidate.number, candidate_text(spec, candidate));
  return {std::move(reason), std::move(problem)};
}

}  // namespace

std::optional<BrokenConstraint> broken_constraint(const SweepSpec& spec,
                                                  const Candidates& candidates,
                                                  const Candidate& candidate,
                                                  const PointResult& result, bool all) {
  if (!spec.search) return std::nullopt;
  for (const Formula& formula : spec.search->constraints) {
    std::vector<Problem> problems;
    const auto value_of = [&](const std::string& name,
                              const SourcePos&) -> std::optional<FormulaValue> {
      if (const auto value = candidates.value_of(candidate, name)) return value;
      return figure_named(result, name);
    };
    const auto value = evaluate(formula, value_of, problems);
    if (!problems.empty()) return without_value(spec, candidate, formula, problems.front());
    if (value ? *value != 0 : !all) continue;
    const bool full = value && reads(formula, kFits) && memory_need(result).value_or(0) > 1;
    return BrokenConstraint{full
                                ? fmt::format("{}: {}", formula.text.text, memory_need_text(result))
                                : formula.text.text,
                            {}};
  }
  return std::nullopt;
}

std::vector<Problem> constraint_mistakes(const SweepSpec& spec, const Candidates& candidates,
                                         const Store& store) {
  struct Mistake {
    Problem problem;
    std::size_t points = 0;
  };
  std::map<std::string, Mistake> mistakes;  // by reason
  const ResultReader reader(store.columns());
  store.each({}, [&](const Row& row) {
    const PointResult result = reader.read(row);
    if (result.status != PointStatus::failed) return;
    const auto broken =
        broken_constraint(spec, candidates, candidates.at(result.point), result, false);
    if (!broken || !broken->no_value) return;
    auto [at, is_new] = mistakes.emplace(broken->reason, Mistake{*broken->no_value});
    ++at->second.points;
  });
  std::vector<Problem> problems;
  for (auto& [reason, mistake] : mistakes) {
    mistake.problem.message += fmt::format(
        "; {} by it", counted(mistake.points, "point has failed", "points have failed"));
    problems.push_back(std::move(mistake.problem));
  }
  return problems;
}

std::optional<double> memory_need(const PointResult& result) {
  const auto limit = result[ResultFigure::memory_limit];
  auto need = result[ResultFigure::peak_memory];
  if (!need) need = result[ResultFigure::memory_floor];
  if (!need || !limit || *limit == 0) return std::nullopt;
  return *need / *limit;
}

std::string memory_need_text(const PointResult& result) {
  if (!memory_need(result)) return "";
  const auto peak = result[ResultFigure::peak_memory];
  return fmt::format("needs {}{} of {}", peak ? "" : "at least ",
                     to_text(Bytes{peak ? *peak : *result[ResultFigure::memory_floor]}),
                     to_text(Bytes{*result[ResultFigure::memory_limit]}));
}

}  // namespace shardsim
