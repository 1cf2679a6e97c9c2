#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/problem.h"
#include "report/reports.h"

namespace shardsim {

std::string fine_text(Seconds seconds) {
  if (seconds > Seconds{0} && seconds < Seconds{1e-7}) {
    return fmt::format("{:.4g} ns", seconds / Seconds{1e-9});
  }
  if (seconds < Seconds{1}) return fmt::format("{:.4f} us", seconds / Seconds{1e-6});
  if (seconds < Seconds{1e6}) return fmt::format("{:.6f} s", seconds / Seconds{1});
  return fmt::format("{:.6g} s", seconds / Seconds{1});
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string result;
  std::size_t line = static_cast<std::size_t>(indent);
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(at, end - at);
    if (line + word.size() + 1 > static_cast<std::size_t>(width) && !result.empty()) {
      result += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      line = static_cast<std::size_t>(indent);
    } else if (!result.empty()) {
      result += ' ';
      ++line;
    }
    result += word;
    line += word.size();
    at = end + 1;
  }
  return result;
}

namespace {

constexpr std::size_t kWidest = 100;    // columns of a line
constexpr std::size_t kNarrowest = 35;  // of the last column of a table

}  // namespace

std::string assumption_lines(std::span<const std::string> assumptions) {
  std::string text = "\nassumptions\n";
  for (const std::string& a : assumptions)
    text += "  - " + wrapped(a, static_cast<int>(kWidest), 4) + "\n";
  return text;
}

std::string rows_text(const Rows& given) {
  Rows rows = given;
  std::vector<std::size_t> width;
  for (auto& row : rows) {
    std::transform(row.begin(), row.end(), row.begin(), printable);
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  const bool prose = width.empty() || width.back() > kNarrowest;
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    std::size_t column = 0;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], width[i]);
      column += width[i] + 2;
    }
    if (!prose) {
      text += line + row.back() + "\n";
      continue;
    }
    // A wide table gives its last column a line of its own, where that is prose.
    if (column > kWidest - kNarrowest && column + row.back().size() > kWidest) {
      line += "\n    ";
      column = 4;
    }
    text += line + wrapped(row.back(), kWidest, static_cast<int>(column)) + "\n";
  }
  return text;
}

}  // namespace shardsim
