#include "base/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/must.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kWidest = 100;     // columns of a quoted source line
constexpr std::size_t kMostShown = 100;  // problems printed; the others are counted

// One character of the source as it is shown: itself, a blank for a tab, or \xNN.
struct Shown {
  std::string text;
  std::size_t columns = 1;
  std::size_t bytes = 1;
};

Shown show(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == '\t') return {" ", 1, 1};
  const std::size_t length = utf8_length(text, at);
  if (length == 0 || byte < 0x20 || byte == 0x7F) return {fmt::format("\\x{:02X}", byte), 4, 1};
  return {std::string(text.substr(at, length)), 1, length};
}

std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Shown one = show(text, at);
    out += one.text;
    at += one.bytes;
  }
  return out;
}

// Line `number` (1-based) without its end, or nothing when the text is shorter.
std::string_view line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  auto line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The source line and the caret under it; columns are cut to kWidest around the caret.
struct Excerpt {
  std::string line;
  std::string caret;
};

Excerpt excerpt(std::string_view line, const SourcePos& pos) {
  const auto target = static_cast<std::size_t>(std::max(pos.column, 1) - 1);
  const auto wanted = static_cast<std::size_t>(std::max(pos.length, 1));
  // Start far enough left to see what comes before, but never in the middle of a character.
  std::size_t from = target > kWidest / 2 && line.size() > kWidest ? target - kWidest / 2 : 0;
  while (from > 0 && from < line.size() &&
         (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) {
    --from;
  }
  Excerpt out;
  out.line = from > 0 ? "…" : "";
  std::size_t columns = out.line.empty() ? 0 : 1;
  std::size_t caret_at = columns, caret_columns = 0, at = from;
  while (at < line.size() && columns < kWidest) {
    const Shown one = show(line, at);
    if (at < target) caret_at = columns + one.columns;
    if (at >= target && at < target + wanted) caret_columns += one.columns;
    out.line += one.text;
    columns += one.columns;
    at += one.bytes;
  }
  if (at < line.size()) out.line += "…";
  out.caret = std::string(caret_at, ' ') + "^";
  if (caret_columns > 1) out.caret.append(caret_columns - 1, '~');
  return out;
}

// The column in characters, as editors count it, of a 1-based column in bytes.
std::size_t character_column(std::string_view line, int column) {
  const auto end = static_cast<std::size_t>(std::max(column, 1) - 1);
  std::size_t characters = 1;
  for (std::size_t at = 0; at < std::min(end, line.size());) {
    at += show(line, at).bytes;
    ++characters;
  }
  return characters;
}

// Problems by source, in the order in which the sources first appear, then by position.
std::vector<Problem> in_file_order(std::vector<Problem> problems) {
  std::map<const Source*, std::size_t> rank;
  for (const Problem& problem : problems) rank.emplace(problem.pos.source.get(), rank.size());
  const auto key = [&](const Problem& problem) {
    return std::tuple(rank.at(problem.pos.source.get()), problem.pos.line, problem.pos.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  return problems;
}

std::string format_all(std::span<const Problem> problems) {
  std::string out;
  for (const Problem& problem : problems.first(std::min(problems.size(), kMostShown))) {
    if (!out.empty()) out += "\n";
    out += format(problem);
  }
  if (problems.size() > kMostShown) {
    out += fmt::format("\n… and {} more problems", problems.size() - kMostShown);
  }
  return out;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Insertions, deletions, replacements and swaps of neighbours, case ignored (optimal string
// alignment: Boytsov 2011, "Indexing methods for approximate dictionary searching").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) old[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) now[j] = std::min(now[j], older[j - 2] + 1);
    }
    std::swap(older, old);
    std::swap(old, now);
  }
  return old[b.size()];
}

}  // namespace

SourcePos SourcePos::at(int offset, int n) const {
  SourcePos moved = *this;
  moved.column += offset;
  moved.length = n;
  return moved;
}

SourcePos argument_pos(std::string name, std::string text) {
  const auto length = static_cast<int>(text.size());
  auto source = std::make_shared<const Source>(Source{std::move(name), std::move(text)});
  return {std::move(source), 1, 1, length};
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : ConfigError(Sorted{}, in_file_order(std::move(problems))) {}

ConfigError::ConfigError(Sorted, std::vector<Problem> problems)
    : std::runtime_error(format_all(problems)), problems_(std::move(problems)) {
  must(!problems_.empty(), "a ConfigError names at least one problem");
}

std::string format(const Problem& problem) {
  const SourcePos& pos = problem.pos;
  std::string out = pos.source ? shown(pos.source->name) : std::string();
  const std::string message = shown(problem.message);
  if (pos.source && pos.line > 0) {
    const auto line = line_of(pos.source->text, pos.line);
    const Excerpt quote = excerpt(line, pos);
    out += fmt::format(":{}:{}: {}\n  {}\n  {}", pos.line, character_column(line, pos.column),
                       message, quote.line, quote.caret);
  } else {
    out += (out.empty() ? "" : ": ") + message;
  }
  if (!problem.hint.empty()) out += "\n  " + shown(problem.hint);
  return out;
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  // A name of one letter is near to nothing but itself.
  const std::size_t allowed = name.size() < 2 ? 0 : std::max<std::size_t>(1, name.size() / 3);
  std::size_t best = allowed + 1;
  std::string_view found;
  for (const std::string& candidate : candidates) {
    const auto gap =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (gap >= best) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    found = candidate;
  }
  return std::string(found);
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kMostListed = 16;
  const std::string close = nearest(name, candidates);
  if (!close.empty()) return fmt::format("did you mean \"{}\"?", close);
  if (candidates.empty() || candidates.size() > kMostListed) return {};
  return fmt::format("expected one of {}", fmt::join(candidates, ", "));
}

std::string printable(std::string_view text) {
  return shown(text);
}

std::string joined_or(std::span<const std::string> names) {
  if (names.empty()) return {};
  if (names.size() == 1) return names.front();
  const auto before_last = names.first(names.size() - 1);
  return fmt::format("{} or {}", fmt::join(before_last, ", "), names.back());
}

}  // namespace shardsim
