#include "ledger/template.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/text.h"

namespace shardsim {

Template parse_template(PlacedText placed, std::vector<Problem>& problems) {
  Template made{std::move(placed), {}};
  const std::string_view text = made.text.text;
  std::string literal;
  const auto refuse = [&](std::size_t at, std::string message) {
    problems.push_back(
        {made.text.at(at, 1), std::move(message), "{{ and }} are braces themselves"});
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if ((c == '{' || c == '}') && text.substr(at + 1, 1) == text.substr(at, 1)) {
      literal += c;
      at += 2;
    } else if (c == '}') {
      refuse(at, "expected a { before this }, found none");
      return made;
    } else if (c == '{') {
      const std::size_t close = text.find('}', at);
      if (close == std::string_view::npos) {
        refuse(at, "expected a } after this {, found none");
        return made;
      }
      const std::string_view inside = text.substr(at + 1, close - at - 1);
      PlacedText formula{std::string(inside), made.text.at(at + 1, 1), made.text.as_is};
      const std::size_t before = problems.size();
      made.pieces.push_back({std::exchange(literal, ""), std::nullopt});
      made.pieces.push_back({"", parse_formula(std::move(formula), problems)});
      if (problems.size() > before && problems.back().hint.empty()) {
        problems.back().hint = "{{ and }} are braces themselves";
      }
      at = close + 1;
    } else {
      literal += c;
      ++at;
    }
  }
  made.pieces.push_back({std::move(literal), std::nullopt});
  return made;
}

std::string lone_name(const TemplatePiece& piece) {
  if (!piece.formula || piece.formula->steps.size() != 1) return "";
  const FormulaStep& step = piece.formula->steps.front();
  return step.kind == FormulaStep::Kind::name ? step.name : "";
}

std::vector<std::string> command_words(const std::string& line, const SourcePos& pos,
                                       std::vector<Problem>& problems) {
  constexpr std::string_view kShell = "$`\\;|&<>()*?[]{}#~!\n";
  constexpr std::string_view kInQuotes = "$`\\!";
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      open = true;
    } else if (quote == 0 && c == ' ') {
      if (open) words.push_back(std::exchange(word, ""));
      open = false;
    } else {
      const bool special = quote == 0     ? kShell.find(c) != std::string_view::npos
                           : quote == '"' ? kInQuotes.find(c) != std::string_view::npos
                                          : false;
      if (special) {
        problems.push_back({pos,
                            fmt::format("expected {} inside '…', found it outside: a shell would "
                                        "change it; the line is {}",
                                        in_quotes(std::string_view(&c, 1)), line),
                            ""});
        return {};
      }
      word += c;
      open = true;
    }
  }
  if (quote != 0) {
    problems.push_back(
        {pos, fmt::format("expected a closing {}, found none: {}", quote, line), ""});
    return {};
  }
  if (open) words.push_back(std::move(word));
  return words;
}

}  // namespace shardsim
