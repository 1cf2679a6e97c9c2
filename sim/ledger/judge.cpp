#include "ledger/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shardsim {

namespace {

// The names of a point under one replay, each computed when it is asked for.
class Values {
 public:
  Values(const LedgerSettings& is, Replay replay, Commands& commands,
         std::vector<Problem>& problems)
      : is_(is), replay_(replay), commands_(commands), problems_(problems) {}

  std::optional<double> of(const Formula& formula) {
    return evaluate(
        formula, [this](const std::string& name, const SourcePos& pos) { return named(name, pos); },
        problems_);
  }
  std::optional<double> of(const std::optional<Formula>& formula) {
    return formula ? of(*formula) : std::nullopt;
  }

  const std::map<std::string, FigureValue>& figures() const { return figures_; }

  // A text with its formulas replaced.
  std::optional<std::string> text(const Template& wanted) {
    std::string made;
    for (const TemplatePiece& piece : wanted.pieces) {
      made += piece.text;
      if (!piece.formula) continue;
      const LedgerVariable* variable = variable_named(lone_name(piece));
      std::optional<std::string> value;
      if (variable != nullptr && !variable->number) {
        value = within(variable->name, variable->pos, [&] { return text(variable->text); });
      } else if (const std::optional<double> number = of(*piece.formula)) {
        value = exact_text(*number);
      }
      if (!value) return std::nullopt;
      made += *value;
    }
    return made;
  }

 private:
  const LedgerVariable* variable_named(const std::string& name) const {
    for (const LedgerVariable& one : is_.where) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }

  // Computes a name, unless that leads back to it.
  template <class Compute>
  auto within(const std::string& name, const SourcePos& pos, const Compute& compute)
      -> decltype(compute()) {
    if (std::find(path_.begin(), path_.end(), name) != path_.end()) {
      problems_.push_back({pos,
                           fmt::format("expected a value that does not need itself, found {}",
                                       fmt::format("{} -> {}", fmt::join(path_, " -> "), name)),
                           ""});
      return std::nullopt;
    }
    path_.push_back(name);
    auto value = compute();
    path_.pop_back();
    return value;
  }

  std::optional<double> named(const std::string& name, const SourcePos& pos) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    const std::optional<double> value = within(name, pos, [&] { return compute(name); });
    if (value) numbers_[name] = *value;
    return value;
  }

  std::optional<double> compute(const std::string& name) {
    if (const LedgerVariable* variable = variable_named(name)) return of(variable->number);
    for (const LedgerFigure& figure : is_.figures) {
      if (figure.name != name) continue;
      const std::optional<std::string> command = text(figure.command);
      if (!command) return std::nullopt;
      const auto value = figure_value(figure, *command, replay_, commands_, problems_);
      if (!value) return std::nullopt;
      figures_[name] = *value;
      return value->value;
    }
    return std::nullopt;  // check_names has refused it
  }

  const LedgerSettings& is_;
  Replay replay_;
  Commands& commands_;
  std::vector<Problem>& problems_;
  std::map<std::string, double> numbers_;
  std::map<std::string, FigureValue> figures_;
  std::vector<std::string> path_;
};

bool agree(double a, double b, double within) {
  return std::fabs(a - b) <= within * std::fabs(b);
}

std::string in_unit(double value, const JudgedPoint& point) {
  return point.unit.empty() ? exact_text(value)
                            : fmt::format("{} {}", exact_text(value), point.unit);
}

void check_exact(JudgedPoint& point) {
  if (!point.exact || agree(point.simulated, *point.exact, point.exact_within)) return;
  point.failures.push_back(
      fmt::format("simulated {}, the exact formula says {}: off by {:.3g}, expected at most {:g}",
                  in_unit(point.simulated, point), in_unit(*point.exact, point),
                  off_by(point.simulated, *point.exact), point.exact_within));
}

void check_book(JudgedPoint& point, double within) {
  if (!point.book) return;
  const bool same = agree(point.simulated, *point.book, within);
  if (!same && point.differs.empty()) {
    point.failures.push_back(
        fmt::format("simulated {}, the book prints {}: off by {:.3g}, and no `differs` says why",
                    in_unit(point.simulated, point), in_unit(*point.book, point),
                    off_by(point.simulated, *point.book)));
  } else if (same && !point.differs.empty()) {
    point.failures.push_back("the printed figure agrees, but `differs` says that it does not");
  }
}

std::optional<JudgedPoint> judge_point(const LedgerRow& row, std::size_t index, Commands& commands,
                                       std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const LedgerPoint& point = row.points[index];
  const LedgerSettings is = settings_of(row, point);
  Values folded(is, Replay::folded, commands, problems);
  const auto simulated_folded = folded.of(is.simulated);
  if (!simulated_folded) return std::nullopt;
  Values values(is, Replay::full, commands, problems);
  const auto simulated = values.of(is.simulated);
  const auto claim = values.of(is.claim);
  const auto condition = values.of(is.condition);
  JudgedPoint result;
  result.exact = values.of(is.exact);
  result.book = values.of(is.book);
  if (!simulated || !claim || problems.size() != before) return std::nullopt;
  result.name = point.name.empty() ? fmt::format("point {}", index + 1) : point.name;
  result.unit = is.unit;
  result.differs = is.differs;
  result.note = is.note;
  result.simulated = *simulated;
  result.claim = *claim;
  result.within = is.within.value_or(kExact);
  result.exact_within = is.exact_within.value_or(kExact);
  result.holds = agree(*simulated, *claim, result.within);
  if (condition) result.condition = *condition != 0;
  for (const auto& [name, value] : values.figures()) {
    FigureResult figure{name, value, std::nullopt};
    const auto other = folded.figures().find(name);
    if (value.full && other != folded.figures().end()) figure.folded = other->second.value;
    for (const std::string& failure : value.failures) {
      result.failures.push_back(fmt::format("{}: {}", value.command, failure));
    }
    result.figures.push_back(std::move(figure));
  }
  if (!agree(*simulated_folded, *simulated, kExact)) {
    result.failures.push_back(
        fmt::format("folded by symmetry it is {}, with every device {}: off by {:.3g}",
                    in_unit(*simulated_folded, result), in_unit(*simulated, result),
                    off_by(*simulated_folded, *simulated)));
  }
  check_exact(result);
  check_book(result, is.book_within.value_or(kBook));
  return result;
}

struct Count {
  int points = 0, true_points = 0;

  void take(bool holds) {
    ++points;
    if (holds) ++true_points;
  }
};

Verdict verdict_of(RowResult& result) {
  Count all, inside, outside;
  bool conditioned = false;
  for (const JudgedPoint& point : result.points) {
    all.take(point.holds);
    conditioned = conditioned || point.condition.has_value();
    (point.condition.value_or(true) ? inside : outside).take(point.holds);
  }
  if (conditioned) {
    if (inside.points > 0 && inside.true_points == inside.points && outside.points > 0 &&
        outside.true_points == 0) {
      return Verdict::holds_if;
    }
    if (inside.points == 0 || outside.points == 0) {
      result.misleads = fmt::format("the condition is {} at every point, which shows nothing",
                                    inside.points == 0 ? "false" : "true");
    }
    for (const JudgedPoint& point : result.points) {
      const bool expected = point.condition.value_or(true);
      if (point.holds == expected || !result.misleads.empty()) continue;
      result.misleads =
          fmt::format("at {} the condition is {}, and the claim {}", point.name,
                      expected ? "true" : "false", point.holds ? "holds" : "does not hold");
    }
  }
  if (all.true_points == all.points) return Verdict::holds;
  return all.true_points == 0 ? Verdict::wrong : Verdict::imprecise;
}

}  // namespace

std::optional<RowResult> judge(const LedgerRow& row, Commands& commands,
                               std::vector<Problem>& problems) {
  RowResult result;
  result.row = &row;
  std::vector<Problem> wrong;
  for (std::size_t i = 0; i < row.points.size(); ++i) {
    std::optional<JudgedPoint> point = judge_point(row, i, commands, wrong);
    if (!point) continue;
    for (const std::string& failure : point->failures) {
      result.failures.push_back(
          row.points.size() == 1 ? failure : fmt::format("{}: {}", point->name, failure));
    }
    result.points.push_back(std::move(*point));
  }
  for (Problem& problem : wrong) {  // points share formulas: each place is told once
    const bool told = std::any_of(problems.begin(), problems.end(), [&](const Problem& other) {
      return other.pos.source == problem.pos.source && other.pos.line == problem.pos.line &&
             other.pos.column == problem.pos.column;
    });
    if (!told) problems.push_back(std::move(problem));
  }
  if (!wrong.empty()) return std::nullopt;
  result.verdict = verdict_of(result);
  if (*result.verdict != row.verdict) {
    result.failures.push_back(fmt::format("the verdict is \"{}\", recorded is \"{}\"{}",
                                          to_text(*result.verdict), to_text(row.verdict),
                                          result.misleads.empty() ? "" : "; " + result.misleads));
  }
  return result;
}

double off_by(double a, double b) {
  if (a == b) return 0;
  return b == 0 ? std::numeric_limits<double>::infinity() : std::fabs(a - b) / std::fabs(b);
}

}  // namespace shardsim
