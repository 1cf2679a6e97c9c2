#include "base/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "base/must.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {

namespace {

using Numbers = std::span<const double>;

constexpr double kSame = 1e-12;  // relative
constexpr int kDeepest = 64;     // parentheses and signs inside each other

double remainder_of(Numbers x) {
  return x[0] - x[1] * std::floor(x[0] / x[1]);
}

// One operation: an operator or a function.
struct Row {
  std::string_view name;
  int fewest = 2;  // operands
  int most = 2;    // 0: any number
  double (*value)(Numbers) = nullptr;
  std::string_view zero = {};  // what it must not do with a last operand of 0
};

constexpr std::array kOperators = {
    Row{"+", 2, 2, [](Numbers x) { return x[0] + x[1]; }},
    Row{"-", 2, 2, [](Numbers x) { return x[0] - x[1]; }},
    Row{"*", 2, 2, [](Numbers x) { return x[0] * x[1]; }},
    Row{"/", 2, 2, [](Numbers x) { return x[0] / x[1]; }, "division by zero"},
    Row{"%", 2, 2, remainder_of, "remainder of a division by zero"},
    Row{"^", 2, 2, [](Numbers x) { return std::pow(x[0], x[1]); }},
    Row{"==", 2, 2, [](Numbers x) { return nearly_equal(x[0], x[1]) ? 1.0 : 0.0; }},
    Row{"!=", 2, 2, [](Numbers x) { return nearly_equal(x[0], x[1]) ? 0.0 : 1.0; }},
    Row{"<=", 2, 2, [](Numbers x) { return x[0] <= x[1] ? 1.0 : 0.0; }},
    Row{">=", 2, 2, [](Numbers x) { return x[0] >= x[1] ? 1.0 : 0.0; }},
    Row{"<", 2, 2, [](Numbers x) { return x[0] < x[1] ? 1.0 : 0.0; }},
    Row{">", 2, 2, [](Numbers x) { return x[0] > x[1] ? 1.0 : 0.0; }},
    Row{"in", 2, 0,
        [](Numbers x) {
          return std::any_of(x.begin() + 1, x.end(),
                             [&](double one) { return nearly_equal(x[0], one); })
                     ? 1.0
                     : 0.0;
        }},
    Row{"minus", 1, 1, [](Numbers x) { return -x[0]; }},
    Row{"not", 1, 1, [](Numbers x) { return x[0] == 0 ? 1.0 : 0.0; }},
    Row{"truth", 1, 1, [](Numbers x) { return x[0] == 0 ? 0.0 : 1.0; }},
};

constexpr std::array kFunctions = {
    Row{"min", 1, 0, [](Numbers x) { return *std::min_element(x.begin(), x.end()); }},
    Row{"max", 1, 0, [](Numbers x) { return *std::max_element(x.begin(), x.end()); }},
    Row{"floor", 1, 1, [](Numbers x) { return std::floor(x[0]); }},
    Row{"ceil", 1, 1, [](Numbers x) { return std::ceil(x[0]); }},
    Row{"sqrt", 1, 1, [](Numbers x) { return std::sqrt(x[0]); }},
    Row{"log2", 1, 1, [](Numbers x) { return std::log2(x[0]); }},
    Row{"log", 1, 1, [](Numbers x) { return std::log(x[0]); }},
    Row{"abs", 1, 1, [](Numbers x) { return std::fabs(x[0]); }},
    Row{"round", 1, 1, [](Numbers x) { return std::round(x[0]); }},
};

constexpr std::array<std::string_view, 4> kWords = {"and", "or", "not", "in"};
constexpr std::array<std::string_view, 3> kOfTexts = {"==", "!=", "in"};  // besides numbers

// Rows are numbered through: operators, then functions.
const Row& row_at(int row) {
  const auto index = static_cast<std::size_t>(row);
  return index < kOperators.size() ? kOperators[index] : kFunctions[index - kOperators.size()];
}

int operator_row(std::string_view name) {
  const auto at = std::find_if(kOperators.begin(), kOperators.end(),
                               [&](const Row& row) { return row.name == name; });
  must(at != kOperators.end(), "the parser knows the operators of the table");
  return static_cast<int>(at - kOperators.begin());
}

std::optional<int> function_row(std::string_view name) {
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if (kFunctions[i].name == name) return static_cast<int>(kOperators.size() + i);
  }
  return std::nullopt;
}

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

// What one of this unit is in base units: 1e9 of "GB" and "GB/s", 0.001 of "ms"; 0: no unit.
double size_of_unit(const std::string& unit) {
  const std::string one = "1 " + unit;
  if (const auto size = parse_bytes(one)) return size.value / Bytes{1};
  if (const auto rate = parse_bandwidth(one)) return rate.value / BytesPerSec{1};
  if (const auto time = parse_seconds(one)) return time.value / Seconds{1};
  return 0;
}

struct Token {
  enum class Kind : std::uint8_t { number, word, text, sign, end };
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t offset = 0;
};

// The parse ends at the first problem, which is already among the problems.
struct Stop {};

class Parser {
 public:
  Parser(const PlacedText& text, std::vector<Problem>& problems)
      : placed_(text), text_(text.text), problems_(problems) {}

  std::vector<FormulaStep> parse() {
    if (text_.size() > kLongestFormula) {
      stop(0, 1,
           fmt::format("expected a formula of at most {} characters, found {}", kLongestFormula,
                       text_.size()));
    }
    next();
    if (token_.kind == Token::Kind::end) refuse("a formula");
    either();
    if (token_.kind != Token::Kind::end) refuse("an operator or the end of the formula");
    return std::move(steps_);
  }

 private:
  [[noreturn]] void stop(std::size_t offset, std::size_t length, std::string message,
                         std::string hint = {}) {
    problems_.push_back({placed_.at(offset, length), std::move(message), std::move(hint)});
    throw Stop{};
  }

  [[noreturn]] void refuse(std::string_view expected) {
    const bool end = token_.kind == Token::Kind::end;
    std::string hint;
    if (token_.text == "=") hint = "two values are compared with ==";
    if (token_.kind == Token::Kind::word && token_.offset == after_number_)
      hint = "a number may have a unit: 80 GB, 64 MiB, 25 GB/s, 5 us";
    stop(token_.offset, std::max<std::size_t>(1, token_.text.size()),
         fmt::format("expected {}, found {}", expected,
                     end ? (text_.empty() ? "nothing" : "its end") : in_quotes(token_.text)),
         hint);
  }

  std::size_t number_end(std::size_t at) const {
    const auto digits = [&] {
      while (at < text_.size() && digit(text_[at])) ++at;
    };
    digits();
    if (at < text_.size() && text_[at] == '.') {
      ++at;
      digits();
    }
    if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
      std::size_t power = at + 1;
      if (power < text_.size() && (text_[power] == '+' || text_[power] == '-')) ++power;
      if (power < text_.size() && digit(text_[power])) {
        at = power;
        digits();
      }
    }
    return at;
  }

  // A dot is part of a name when a letter or digit follows it.
  std::size_t word_end(std::size_t at) const {
    const auto part = [&](std::size_t i) {
      return i < text_.size() && (letter(text_[i]) || digit(text_[i]));
    };
    while (part(at) || (at < text_.size() && text_[at] == '.' && part(at + 1))) ++at;
    return at;
  }

  void next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    std::size_t end = at_;
    Token::Kind kind = Token::Kind::end;
    if (at_ < text_.size()) {
      const char c = text_[at_];
      if (digit(c)) {
        kind = Token::Kind::number;
        end = number_end(at_);
      } else if (letter(c)) {
        kind = Token::Kind::word;
        end = word_end(at_);
      } else if (c == '"' || c == '\'') {
        kind = Token::Kind::text;
        end = text_.find(c, at_ + 1);
        if (end == std::string_view::npos) {
          stop(at_, text_.size() - at_, "expected a quote at the end of the text, found none");
        }
        ++end;
      } else {
        kind = Token::Kind::sign;
        const std::string_view two = text_.substr(at_, 2);
        const bool pair = two == "==" || two == "!=" || two == "<=" || two == ">=";
        end = at_ + (pair ? 2 : std::max<std::size_t>(1, utf8_length(text_, at_)));
      }
    }
    token_ = {kind, text_.substr(at_, end - at_), at_};
    at_ = end;
  }

  bool at_any(std::initializer_list<std::string_view> texts) const {
    return std::find(texts.begin(), texts.end(), token_.text) != texts.end();
  }

  void apply(int row, int count, const Token& token) {
    steps_.push_back(
        {FormulaStep::Kind::apply, 0, {}, row, count, token.offset, token.text.size()});
  }

  // Grows while a parse goes down, so that no text overflows the stack.
  struct Depth {
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepest) {
        parser_.stop(
            parser_.token_.offset, 1,
            fmt::format("expected at most {} parentheses and signs inside each other", kDeepest));
      }
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser_;
  };

  // `a and b`: a, its truth, the decision, b, its truth.
  void decided(std::string_view word, FormulaStep::Kind kind, void (Parser::*part)()) {
    (this->*part)();
    while (token_.text == word) {
      const Token token = token_;
      next();
      apply(operator_row("truth"), 1, token);
      const std::size_t decision = steps_.size();
      steps_.push_back({kind, 0, {}, 0, 0, token.offset, token.text.size()});
      (this->*part)();
      apply(operator_row("truth"), 1, token);
      steps_[decision].count = static_cast<int>(steps_.size() - decision - 1);
    }
  }

  void either() { decided("or", FormulaStep::Kind::decide_or, &Parser::both); }
  void both() { decided("and", FormulaStep::Kind::decide_and, &Parser::denial); }

  // A sign before its operand, any number of times.
  void prefixed(std::string_view sign, std::string_view name, void (Parser::*part)()) {
    if (token_.text != sign) return (this->*part)();
    const Depth depth(*this);
    const Token token = token_;
    next();
    prefixed(sign, name, part);
    apply(operator_row(name), 1, token);
  }

  void denial() { prefixed("not", "not", &Parser::comparison); }

  // `x in (a, b)`, `x not in (a, b)`
  void membership() {
    const Token token = token_;
    if (token.text == "not") {
      next();
      if (token_.text != "in") refuse("\"in\" after \"not\"");
    }
    const Token in = token_;
    next();
    if (token_.text != "(") refuse("a list in parentheses such as (1, 2)");
    int count = 1;
    do {
      next();
      sum();
      ++count;
    } while (token_.text == ",");
    close();
    apply(operator_row("in"), count, in);
    if (token.text == "not") apply(operator_row("not"), 1, token);
  }

  void comparison() {
    sum();
    if (at_any({"in", "not"})) return membership();
    if (!at_any({"==", "!=", "<=", ">=", "<", ">"})) return;
    const Token token = token_;
    next();
    sum();
    apply(operator_row(token.text), 2, token);
    if (at_any({"==", "!=", "<=", ">=", "<", ">"})) refuse("\"and\" between two comparisons");
  }

  void sum() { left_to_right({"+", "-"}, &Parser::product); }
  void product() { left_to_right({"*", "/", "%"}, &Parser::sign); }

  void left_to_right(std::initializer_list<std::string_view> names, void (Parser::*part)()) {
    (this->*part)();
    while (token_.kind == Token::Kind::sign && at_any(names)) {
      const Token token = token_;
      next();
      (this->*part)();
      apply(operator_row(token.text), 2, token);
    }
  }

  void sign() { prefixed("-", "minus", &Parser::power); }

  void power() {
    operand();
    if (token_.text != "^") return;
    const Depth depth(*this);
    const Token token = token_;
    next();
    sign();
    apply(operator_row("^"), 2, token);
  }

  void operand() {
    const Token token = token_;
    if (token.kind == Token::Kind::number) return number();
    if (token.kind == Token::Kind::text) {
      next();
      steps_.push_back({FormulaStep::Kind::text, 0,
                        std::string(token.text.substr(1, token.text.size() - 2)), 0, 0,
                        token.offset, token.text.size()});
      return;
    }
    if (token.text == "(") {
      const Depth depth(*this);
      next();
      either();
      close();
      return;
    }
    const bool word = std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
    if (token.kind != Token::Kind::word || word) refuse("a number, a name or a parenthesis");
    next();
    if (token_.text == "(") return call(token);
    if (function_row(token.text)) {
      stop(token.offset, token.text.size(),
           fmt::format("expected parentheses after the function {}, found none", token.text));
    }
    steps_.push_back({FormulaStep::Kind::name, 0, std::string(token.text), 0, 0, token.offset,
                      token.text.size()});
  }

  void number() {
    const Token token = token_;
    double value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto read = std::from_chars(token.text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value)) {
      stop(token.offset, token.text.size(),
           fmt::format("expected a number, found {}", in_quotes(token.text)));
    }
    next();
    after_number_ = token_.offset;
    value *= unit();
    steps_.push_back({FormulaStep::Kind::number, value, {}, 0, 0, token.offset, token.text.size()});
  }

  // What one of the unit after a number is, in base units; 1: there is none. No name can stand
  // there. Of "GB/s" the "/s" belongs to the unit; "GB / s" divides.
  double unit() {
    if (token_.kind != Token::Kind::word) return 1;
    const bool per_second = text_.substr(at_).starts_with("/s") && word_end(at_ + 1) == at_ + 2;
    const double rate = per_second ? size_of_unit(std::string(token_.text) + "/s") : 0;
    if (rate != 0) at_ += 2;
    const double size = rate != 0 ? rate : size_of_unit(std::string(token_.text));
    if (size == 0) return 1;  // refused as what follows the number
    next();
    return size;
  }

  void close() {
    if (token_.text != ")") refuse("\")\"");
    next();
  }

  void call(const Token& name) {
    const Depth depth(*this);
    const std::optional<int> row = function_row(name.text);
    if (!row) {
      std::vector<std::string> names;
      for (const Row& function : kFunctions) names.emplace_back(function.name);
      stop(name.offset, name.text.size(),
           fmt::format("expected a function, found {}", in_quotes(name.text)),
           suggestion(name.text, names));
    }
    int count = 0;
    do {
      next();
      if (count == 0 && token_.text == ")") break;
      either();
      ++count;
    } while (token_.text == ",");
    close();
    const Row& function = row_at(*row);
    if (count < function.fewest || (function.most > 0 && count > function.most)) {
      stop(name.offset, name.text.size(),
           fmt::format("expected {}{} value{} in {}(), found {}",
                       function.most == 0 ? "at least " : "", function.fewest,
                       function.fewest == 1 ? "" : "s", name.text, count));
    }
    apply(*row, count, name);
  }

  const PlacedText& placed_;
  std::string_view text_;
  std::vector<Problem>& problems_;
  std::vector<FormulaStep> steps_;
  Token token_;
  std::size_t at_ = 0;
  std::size_t after_number_ = std::string_view::npos;  // where what follows the last one begins
  int depth_ = 0;
};

// Why an operation on finite numbers has no finite value.
std::string why_not_finite(const Row& row, Numbers x) {
  if (!row.zero.empty() && x.back() == 0) return std::string(row.zero);
  std::vector<std::string> operands;
  for (const double one : x) operands.push_back(exact_text(one));
  const bool infix = x.size() == 2 && row.name.size() <= 2;
  return fmt::format("expected a finite number, found none: {}",
                     infix ? fmt::format("{} {} {}", operands[0], row.name, operands[1])
                           : fmt::format("{}({})", row.name, fmt::join(operands, ", ")));
}

using Values = std::span<const FormulaValue>;

bool same(const FormulaValue& a, const FormulaValue& b) {
  if (a.text || b.text) return a.text == b.text;
  return nearly_equal(a.number, b.number);
}

// The first operand against the others, some of which are texts.
std::optional<double> compared(const Row& row, Values x) {
  if (std::find(kOfTexts.begin(), kOfTexts.end(), row.name) == kOfTexts.end()) return std::nullopt;
  const bool any = std::any_of(x.begin() + 1, x.end(),
                               [&](const FormulaValue& one) { return same(x.front(), one); });
  return any != (row.name == "!=") ? 1.0 : 0.0;
}

template <class Here>
std::optional<double> applied(const Row& row, Values x, Here here, std::vector<Problem>& problems) {
  constexpr std::size_t kUsual = 8;  // operands that need no memory of their own
  const auto text = std::find_if(x.begin(), x.end(),
                                 [](const FormulaValue& value) { return value.text.has_value(); });
  if (text != x.end()) {
    const std::optional<double> truth = compared(row, x);
    if (!truth) {
      problems.push_back({here(),
                          fmt::format("expected numbers beside {}, found the text {}",
                                      in_quotes(row.name), in_quotes(*text->text)),
                          "texts are compared with ==, != or in"});
    }
    return truth;
  }
  std::array<double, kUsual> few{};
  std::vector<double> many;
  if (x.size() > kUsual) many.resize(x.size());
  double* numbers = many.empty() ? few.data() : many.data();
  std::transform(x.begin(), x.end(), numbers, [](const FormulaValue& v) { return v.number; });
  const Numbers operands(numbers, x.size());
  const double value = row.value(operands);
  if (std::isfinite(value)) return value;
  problems.push_back({here(), why_not_finite(row, operands), ""});
  return std::nullopt;
}

}  // namespace

SourcePos PlacedText::at(std::size_t offset, std::size_t length) const {
  return as_is ? pos.at(static_cast<int>(offset), static_cast<int>(length)) : pos;
}

std::optional<Formula> parse_formula(PlacedText text, std::vector<Problem>& problems) {
  Formula formula{std::move(text), {}};
  try {
    formula.steps = Parser(formula.text, problems).parse();
  } catch (const Stop&) {
    return std::nullopt;
  }
  return formula;
}

std::optional<double> evaluate(const Formula& formula, const NameValue& value_of,
                               std::vector<Problem>& problems) {
  std::vector<FormulaValue> stack;
  for (std::size_t i = 0; i < formula.steps.size(); ++i) {
    const FormulaStep& step = formula.steps[i];
    const auto here = [&] { return formula.text.at(step.offset, step.length); };
    switch (step.kind) {
      case FormulaStep::Kind::number:
        stack.emplace_back(step.number);
        break;
      case FormulaStep::Kind::text:
        stack.emplace_back(std::string_view(step.name));
        break;
      case FormulaStep::Kind::name: {
        const std::optional<FormulaValue> value = value_of(step.name, here());
        if (!value) return std::nullopt;
        stack.push_back(*value);
        break;
      }
      case FormulaStep::Kind::decide_and:
      case FormulaStep::Kind::decide_or:
        // The truth so far decides when it is that of the word; otherwise the other side does.
        if ((stack.back().number != 0) == (step.kind == FormulaStep::Kind::decide_or)) {
          i += static_cast<std::size_t>(step.count);
        } else {
          stack.pop_back();
        }
        break;
      case FormulaStep::Kind::apply: {
        const auto count = static_cast<std::size_t>(step.count);
        const Values operands(stack.data() + stack.size() - count, count);
        const std::optional<double> value = applied(row_at(step.row), operands, here, problems);
        if (!value) return std::nullopt;
        stack.resize(stack.size() - count);
        stack.emplace_back(*value);
        break;
      }
    }
  }
  must(stack.size() == 1, "a formula has one value");
  if (!stack.front().text) return stack.front().number;
  problems.push_back(
      {formula.text.at(0, formula.text.text.size()),
       fmt::format("expected a number, found the text {}", in_quotes(*stack.front().text)), ""});
  return std::nullopt;
}

bool nearly_equal(double a, double b) {
  return a == b || std::fabs(a - b) <= kSame * std::max(std::fabs(a), std::fabs(b));
}

bool is_formula_name(std::string_view text) {
  if (text.empty() || !letter(text.front())) return false;
  if (std::find(kWords.begin(), kWords.end(), text) != kWords.end() || function_row(text)) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) { return letter(c) || digit(c); });
}

std::string exact_text(double number) {
  constexpr double kLargestWhole = 1e15;
  if (number == std::trunc(number) && std::fabs(number) < kLargestWhole) {
    return fmt::format("{:.0f}", number == 0 ? 0.0 : number);
  }
  return fmt::format("{}", number);
}

}  // namespace shardsim
