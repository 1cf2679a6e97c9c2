#include "ledger/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"

namespace shardsim {

namespace {

using Place = std::pair<int, int>;  // line and column

Place place_of(const SourcePos& pos) {
  return {pos.line, pos.column};
}

// Names of one point, and what uses them.
class Names {
 public:
  Names(const LedgerSettings& is, std::set<Place>& used, std::set<Place>& told,
        std::vector<Problem>& problems)
      : is_(is), used_(used), told_(told), problems_(problems) {}

  void check() {
    for (const LedgerVariable& variable : is_.where) {
      if (figure(variable.name) != nullptr) {
        tell(variable.pos, fmt::format("{} is a figure, too; expected another name for one of them",
                                       variable.name));
      }
    }
    for (const auto* formula :
         {&is_.simulated, &is_.claim, &is_.condition, &is_.exact, &is_.book}) {
      if (formula->has_value()) use(**formula);
    }
    while (!open_.empty()) {  // what is used uses more
      const std::string name = open_.back();
      open_.pop_back();
      if (const LedgerVariable* v = variable(name)) {
        if (v->number) use(*v->number);
        use(v->text);
      } else if (const LedgerFigure* f = figure(name)) {
        use(f->command);
      }
    }
    counts_ = false;
    for (const LedgerVariable& one : is_.where) {
      if (one.number) use(*one.number);
      use(one.text);
    }
    for (const LedgerFigure& one : is_.figures) use(one.command);
  }

 private:
  const LedgerVariable* variable(const std::string& name) const {
    const auto at = std::find_if(is_.where.begin(), is_.where.end(),
                                 [&](const LedgerVariable& one) { return one.name == name; });
    return at == is_.where.end() ? nullptr : &*at;
  }
  const LedgerFigure* figure(const std::string& name) const {
    const auto at = std::find_if(is_.figures.begin(), is_.figures.end(),
                                 [&](const LedgerFigure& one) { return one.name == name; });
    return at == is_.figures.end() ? nullptr : &*at;
  }

  // Once for a row's formula, however many points have it.
  void tell(const SourcePos& pos, std::string message, std::string hint = {}) {
    if (told_.insert(place_of(pos)).second) {
      problems_.push_back({pos, std::move(message), std::move(hint)});
    }
  }

  void use(const Template& text) {
    for (const TemplatePiece& piece : text.pieces) {
      if (piece.formula) use(*piece.formula, !lone_name(piece).empty());
    }
  }

  void use(const Formula& formula, bool texts = false) {
    for (const FormulaStep& step : formula.steps) {
      if (step.kind != FormulaStep::Kind::name) continue;
      const SourcePos pos = formula.text.at(step.offset, step.length);
      const LedgerVariable* v = variable(step.name);
      const LedgerFigure* f = figure(step.name);
      if (v == nullptr && f == nullptr) {
        tell(pos, fmt::format("expected a variable or figure, found {}", in_quotes(step.name)),
             hint_for(step.name, texts));
        continue;
      }
      if (v != nullptr && !v->number && !texts) {
        tell(pos, fmt::format("expected a number, found the text {}", step.name));
        continue;
      }
      if (!counts_) continue;
      used_.insert(place_of(v != nullptr ? v->pos : f->pos));
      if (seen_.insert(step.name).second) open_.push_back(step.name);
    }
  }

  std::string hint_for(const std::string& name, bool texts) const {
    std::vector<std::string> names;
    for (const LedgerVariable& one : is_.where) names.push_back(one.name);
    for (const LedgerFigure& one : is_.figures) names.push_back(one.name);
    const std::string close = nearest(name, names);
    if (close.empty() && texts) return "{{ and }} are braces themselves";
    return suggestion(name, names);
  }

  const LedgerSettings& is_;
  std::set<Place>& used_;
  std::set<Place>& told_;
  std::vector<Problem>& problems_;
  bool counts_ = true;  // what is reached from the row's formulas is used
  std::set<std::string> seen_;
  std::vector<std::string> open_;
};

}  // namespace

void check_names(const LedgerRow& row, std::vector<Problem>& problems) {
  std::set<Place> used, told;
  const std::size_t before = problems.size();
  bool figures = false;
  for (const LedgerPoint& point : row.points) {
    const LedgerSettings is = settings_of(row, point);
    Names(is, used, told, problems).check();
    figures = figures || !is.figures.empty();
  }
  if (!figures) {
    problems.push_back({row.pos,
                        fmt::format("expected at least one figure in row {}, found none", row.id),
                        "a row that takes nothing of the program has status: not simulated"});
  }
  if (problems.size() != before) return;
  std::map<Place, std::pair<SourcePos, std::string>> unused;
  const auto collect = [&](const auto& items) {
    for (const auto& item : items) {
      if (!used.contains(place_of(item.pos))) unused[place_of(item.pos)] = {item.pos, item.name};
    }
  };
  for (const LedgerPoint& point : row.points) {
    const LedgerSettings is = settings_of(row, point);
    collect(is.where);
    collect(is.figures);
  }
  for (const auto& [place, one] : unused) {
    problems.push_back(
        {one.first, fmt::format("expected a use of {}, found none", one.second), ""});
  }
}

}  // namespace shardsim
