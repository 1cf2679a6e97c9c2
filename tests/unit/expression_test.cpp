// Formulas: their values, and what is said of texts that are none.
#include "base/expression.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace shardsim;

namespace {

PlacedText placed(const std::string& text) {
  return {text, argument_pos("f", text), true};
}

struct Result {
  std::optional<double> value;
  std::string error;
};

// V = 64, N = 8, t = 0.5.
Result value_of(const std::string& text) {
  std::vector<Problem> problems;
  const auto formula = parse_formula(placed(text), problems);
  if (!formula) return {std::nullopt, format(problems.at(0))};
  const auto named = [&](const std::string& name,
                         const SourcePos& pos) -> std::optional<FormulaValue> {
    if (name == "V") return 64;
    if (name == "N") return 8;
    if (name == "t") return 0.5;
    if (name == "batch.global") return 12;
    if (name == "chip") return std::string_view("h100");
    problems.push_back({pos, "unknown " + name, ""});
    return std::nullopt;
  };
  const auto value = evaluate(*formula, named, problems);
  return {value, problems.empty() ? "" : format(problems.at(0))};
}

}  // namespace

TEST_CASE("formulas have the values that arithmetic gives them") {
  const struct {
    const char* text;
    double value;
  } kRows[] = {
      {"1", 1},
      {"1.5e-3", 1.5e-3},
      {"2e3", 2000},
      {"V*(N-1)/(2*N)/t", 56},
      {"1 - 2 - 3", -4},
      {"64/8/2", 4},
      {"2^3^2", 512},
      {"-2^2", -4},
      {"2^-1", 0.5},
      {"--3", 3},
      {"7 % 3", 1},
      {"-7 % 3", 2},
      {"7.5 % 2", 1.5},
      {"1 + 2*3", 7},
      {"(1 + 2)*3", 9},
      {"N == 8", 1},
      {"N in (1, 2, 8)", 1},
      {"N in (1, 2)", 0},
      {"N not in (1, 2)", 1},
      {"not N in (1, 2) and V > 0", 1},
      {"batch.global / 3", 4},
      {"chip == 'h100'", 1},
      {"chip != \"h100\"", 0},
      {"chip in (\"tpu\", \"h100\")", 1},
      {"chip in (1, N)", 0},
      {"chip == N", 0},
      {"0.1 + 0.2 == 0.3", 1},
      {"1 == 1.000001", 0},
      {"N != 8", 0},
      {"N < 8 or N >= 8 and t > 1", 0},
      {"(N < 8 or N >= 8) and t < 1", 1},
      {"not N == 8", 0},
      {"not not 5", 1},
      {"3 and 2", 1},
      {"0 or 0", 0},
      {"1 or 2 and 0", 1},
      {"N > 1 and V/(N-1) > 9", 1},
      {"N == 8 or V/(N-8) > 9", 1},  // the other side is not evaluated
      {"N != 8 and V/(N-8) > 9", 0},
      {"min(3, 1, 2)", 1},
      {"max(N)", 8},
      {"max(N, V, t)", 64},
      {"floor(7/2) + ceil(7/2)", 7},
      {"sqrt(V)", 8},
      {"log2(V)", 6},
      {"abs(-t)", 0.5},
      {"round(2.5) + round(-2.5)", 0},
      {"log(1)", 0},
      {" N ", 8},
      {"80 GB", 80e9},
      {"64MiB / 1 KiB", 65536},
      {"25 GB/s", 25e9},
      {"400 Gb/s == 50 GB/s and 1 ms == 1e-3", 1},
      {"8 GB/V", 125e6},
      {"1 B / N", 0.125},
      {"2 GB in (1 GB, 2e9 B)", 1},
      {"0.5 s", 0.5},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    const Result result = value_of(row.text);
    CHECK(result.error == "");
    REQUIRE(result.value.has_value());
    CHECK(std::abs(*result.value - row.value) <= 1e-15 * std::abs(row.value));
  }
}

TEST_CASE("what is no formula, or has no value, is refused at its place") {
  const struct {
    const char* text;
    const char* error;
  } kRows[] = {
      {"", "f:1:1: expected a formula, found nothing\n  \n  ^"},
      {"1 +", "f:1:4: expected a number, a name or a parenthesis, found its end\n  1 +\n     ^"},
      {"(1", "f:1:3: expected \")\", found its end\n  (1\n    ^"},
      {"1 2", "f:1:3: expected an operator or the end of the formula, found \"2\"\n  1 2\n    ^"},
      {"8 V",
       "f:1:3: expected an operator or the end of the formula, found \"V\"\n  8 V\n    ^\n"
       "  a number may have a unit: 80 GB, 64 MiB, 25 GB/s, 5 us"},
      {"1 GB 2",
       "f:1:6: expected an operator or the end of the formula, found \"2\"\n  1 GB 2\n       ^"},
      {"8 GB/s2", "f:1:6: unknown s2\n  8 GB/s2\n       ^~"},
      {"N = 8",
       "f:1:3: expected an operator or the end of the formula, found \"=\"\n  N = 8\n    ^\n"
       "  two values are compared with =="},
      {"sqr(4)",
       "f:1:1: expected a function, found \"sqr\"\n  sqr(4)\n  ^~~\n  did you mean \"sqrt\"?"},
      {"system(1)",
       "f:1:1: expected a function, found \"system\"\n  system(1)\n  ^~~~~~\n  expected one of "
       "min, "
       "max, floor, ceil, sqrt, log2, log, abs, round"},
      {"sqrt(1, 2)", "f:1:1: expected 1 value in sqrt(), found 2\n  sqrt(1, 2)\n  ^~~~"},
      {"min()", "f:1:1: expected at least 1 value in min(), found 0\n  min()\n  ^~~"},
      {"sqrt", "f:1:1: expected parentheses after the function sqrt, found none\n  sqrt\n  ^~~~"},
      {"1 < 2 < 3",
       "f:1:7: expected \"and\" between two comparisons, found \"<\"\n  1 < 2 < 3\n        ^"},
      {"1 + and",
       "f:1:5: expected a number, a name or a parenthesis, found \"and\"\n  1 + and\n      ^~~"},
      {"`rm -rf`",
       "f:1:1: expected a number, a name or a parenthesis, found \"`\"\n  `rm -rf`\n  ^"},
      {"\"/etc/passwd\"",
       "f:1:1: expected a number, found the text \"/etc/passwd\"\n  \"/etc/passwd\"\n  "
       "^~~~~~~~~~~~~"},
      {"'a", "f:1:1: expected a quote at the end of the text, found none\n  'a\n  ^~"},
      {"1 + chip",
       "f:1:3: expected numbers beside \"+\", found the text \"h100\"\n  1 + chip\n    ^\n  texts "
       "are "
       "compared with ==, != or in"},
      {"N in 8",
       "f:1:6: expected a list in parentheses such as (1, 2), found \"8\"\n  N in 8\n       ^"},
      {"1/(N-8)", "f:1:2: division by zero\n  1/(N-8)\n   ^"},
      {"1 % 0", "f:1:3: remainder of a division by zero\n  1 % 0\n    ^"},
      {"sqrt(-1)", "f:1:1: expected a finite number, found none: sqrt(-1)\n  sqrt(-1)\n  ^~~~"},
      {"log2(0)", "f:1:1: expected a finite number, found none: log2(0)\n  log2(0)\n  ^~~~"},
      {"10^400", "f:1:3: expected a finite number, found none: 10 ^ 400\n  10^400\n    ^"},
      {"1e999", "f:1:1: expected a number, found \"1e999\"\n  1e999\n  ^~~~~"},
      {"M + 1", "f:1:1: unknown M\n  M + 1\n  ^"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    const Result result = value_of(row.text);
    CHECK(!result.value.has_value());
    CHECK(result.error == row.error);
  }
}

TEST_CASE("hostile formulas end in a message or a value, quickly") {
  const std::string sum = "1" + [] {
    std::string more;
    for (int i = 0; i < 2'400; ++i) more += " + 1";
    return more;
  }();
  CHECK(value_of(sum).value == 2'401);
  CHECK(value_of(sum + sum).error.find(
            "expected a formula of at most 10000 characters, found 19202") != std::string::npos);
  for (const char* open : {"(", "-", "not ", "sqrt(", "2^"}) {
    std::string deep;
    for (int i = 0; i < 1'900; ++i) deep += open;
    CAPTURE(open);
    const Result result = value_of(deep + "1");
    CHECK(result.error.find("at most 64 parentheses and signs inside each other") !=
          std::string::npos);
  }
}

TEST_CASE("numbers are written so that they read back") {
  for (const double number : {0.0, -0.0, 1.0, 67108864.0, 1e15, 1e16, 0.75, 1e-9, 1.0 / 3, 1e300}) {
    CHECK(std::stod(exact_text(number)) == number);
  }
  CHECK(exact_text(100e9) == "100000000000");
  CHECK(exact_text(-0.0) == "0");
}
