#include "report/page_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/problem.h"
#include "report/figures.h"
#include "report/reports.h"
#include "report/table_parts.h"

namespace shardsim {

namespace {

std::vector<std::optional<double>> values_of(const Figure& figure, const Array& runs) {
  std::vector<std::optional<double>> values;
  for (const Json& run : runs) {
    const Json* const summary = find(run, "summary");
    values.push_back(summary == nullptr ? std::nullopt : value_of(figure, *summary));
  }
  return values;
}

bool any(const std::vector<std::optional<double>>& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& value) { return bool(value); });
}

std::string row(std::string_view label, const std::vector<std::string>& cells) {
  std::string text = fmt::format("{:<27}", label);
  for (const std::string& cell : cells) text += fmt::format(" {:>11}", cell);
  return without_end(std::move(text)) + "\n";
}

Json difference(const Figure& figure, std::optional<double> value, std::optional<double> first) {
  if (!value || !first) return nullptr;
  if (figure.is_share) return *value - *first;
  if (*first == 0) return nullptr;
  return *value / *first - 1;
}

}  // namespace

std::string page_comparison_text(const Array& runs) {
  std::string text;
  std::vector<std::string> letters;
  for (const Json& run : runs) {
    letters.emplace_back(1, static_cast<char>('A' + letters.size()));
    text += cut(letters.back() + "  " + printable(text_at(run, "name")), kTableWidth) + "\n";
  }
  text += "\n" + row("figure", letters);
  for (const Figure& figure : figures()) {
    const std::vector<std::optional<double>> values = values_of(figure, runs);
    if (!any(values)) continue;
    std::vector<std::string> shown, differences;
    for (const std::optional<double>& value : values) {
      shown.push_back(value ? figure.text(*value) : "");
      differences.push_back(shown.size() == 1 ? ""
                                              : difference_text(figure, value, values.front()));
    }
    text += row(figure.name, shown);
    const bool differs = std::any_of(differences.begin(), differences.end(),
                                     [](const auto& d) { return !d.empty() && d != "="; });
    if (differs) text += row("", differences);
  }
  return text;
}

Json page_comparison_json(const Array& runs) {
  Array names, table;
  for (const Json& run : runs) {
    names.push_back(Object{{"name", text_at(run, "name")},
                           {"kind", text_at(run, "kind")},
                           {"command", text_at(run, "command")}});
  }
  for (const Figure& figure : figures()) {
    const std::vector<std::optional<double>> values = values_of(figure, runs);
    if (!any(values)) continue;
    Array shown, differences;
    for (const std::optional<double>& value : values) {
      shown.push_back(value ? Json(*value) : Json(nullptr));
      differences.push_back(difference(figure, value, values.front()));
    }
    table.push_back(Object{{"figure", std::string(figure.name)},
                           {"key", std::string(figure.key)},
                           {"values", std::move(shown)},
                           {"differences", std::move(differences)}});
  }
  return Object{{"schema", kSchema}, {"runs", std::move(names)}, {"figures", std::move(table)}};
}

}  // namespace shardsim
