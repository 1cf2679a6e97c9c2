#include "sweep/formula_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "spec/field_path.h"
#include "spec/override.h"
#include "sweep/result_columns.h"

namespace shardsim {
namespace {

std::set<std::string> words_of(std::string_view name) {
  std::set<std::string> words;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (end > 0) words.emplace(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words;
}

// The first of the names that has all words of this one, of which there are several: memory_peak is
// peak_memory_bytes.
std::string with_the_same_words(std::string_view name, std::span<const std::string> known) {
  const std::set<std::string> words = words_of(name);
  if (words.size() < 2) return "";
  for (const std::string& one : known) {
    const std::set<std::string> there = words_of(one);
    if (std::includes(there.begin(), there.end(), words.begin(), words.end())) return one;
  }
  return "";
}

bool is_result(const std::string& name) {
  const std::vector<std::string> names = result_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The nearest path of base that has a number, of a name with several parts; "": none.
std::string nearest_number(const Node& base, const std::string& name) {
  if (name.find('.') == std::string::npos) return "";
  const std::string near = nearest_path(base, name);
  return number_in_base(base, near) ? near : "";
}

}  // namespace

std::optional<double> number_in_base(const Node& base, const std::string& name) {
  const Node* node = node_at(base, name);
  return node == nullptr ? std::nullopt : number_of(run_field(name), *node);
}

std::string FormulaNames::nearest_name(const std::string& name, bool of_results) const {
  std::vector<std::string> known;
  if (of_results) known = result_names();
  known.insert(known.end(), names_.begin(), names_.end());
  const std::string same = with_the_same_words(name, known);
  if (!same.empty()) return fmt::format("did you mean \"{}\"?", same);
  if (!of_results && is_result(name)) return "results are known to search.constraints only";
  const std::string near = suggestion(name, known);
  if (!near.empty() || !of_results) return near;
  return fmt::format("columns: {}", fmt::join(result_names(), ", "));
}

void FormulaNames::check(const Formula& formula, const Node& base, bool of_results,
                         std::vector<Problem>& problems) {
  for (const FormulaStep& step : formula.steps) {
    if (step.kind != FormulaStep::Kind::name) continue;
    read_.insert(step.name);
    if (names_.contains(step.name) || fields_.contains(step.name)) continue;
    if (of_results && is_result(step.name)) continue;
    if (number_in_base(base, step.name)) continue;
    const std::string near = nearest_number(base, step.name);
    problems.push_back(
        {formula.text.at(step.offset, step.length),
         fmt::format("expected {}an axis, a variable, a derived name or a field of base that is "
                     "a number, found {}",
                     of_results ? "a column of results, " : "", in_quotes(step.name)),
         near.empty() ? nearest_name(step.name, of_results)
                      : fmt::format("did you mean \"{}\"?", near)});
  }
}

}  // namespace shardsim
