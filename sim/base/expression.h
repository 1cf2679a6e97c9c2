// Formulas over named numbers: parsed once, evaluated as often as needed.
//
//   V*(N-1)/(2*N)/W1       W == 2*W1 and N % 2 == 0       max(t, 2*g) ^ 0.5
//
//   chip in ("h100-sxm", "b200-sxm") and batch.global % dp == 0
//
//   peak_memory_bytes <= 80 GB       bandwidth in (25 GB/s, 50 GB/s)
//
// Numbers, also of a unit (B, b, s and their prefixes; they count in bytes, bytes per second and
// seconds), names (with dots: batch.global), texts in quotes, + - * / % ^, unary minus,
// == != < <= > >=, in and not in before a list in parentheses, and or not, parentheses, and the
// functions min max floor ceil sqrt log2 log abs round. Nothing else: no file, command or
// assignment. Truth is 1 and 0; whatever is not 0 is true. `log` is the natural logarithm, x % y
// has the sign of y, ^ binds tighter than the minus before it and is grouped from the right, ==
// holds to 1e-12 relative. Texts are only compared, by ==, != and in; a text never equals a number.
// What follows a decided `and` or `or` is not evaluated.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"

namespace shardsim {

// A text of a file, and where its characters stand.
struct PlacedText {
  std::string text;
  SourcePos pos;      // of its first character
  bool as_is = true;  // false: written with escapes or over several lines; all of it is at pos

  SourcePos at(std::size_t offset, std::size_t length) const;
};

// Postfix: operands, then what is done with them.
struct FormulaStep {
  enum class Kind : std::uint8_t { number, text, name, apply, decide_and, decide_or };
  Kind kind = Kind::number;
  double number = 0;
  std::string name = {};   // of the variable; the text
  int row = 0;             // of the table of operators and functions
  int count = 0;           // operands; of a decision: steps to skip when it is made
  std::size_t offset = 0;  // in the text
  std::size_t length = 1;
};

inline constexpr std::size_t kLongestFormula = 10'000;  // bytes

struct Formula {
  PlacedText text;
  std::vector<FormulaStep> steps;
};

// Nothing when the text is no formula; the first reason is appended with its place.
std::optional<Formula> parse_formula(PlacedText text, std::vector<Problem>& problems);

// A number or a text, which outlives its use.
struct FormulaValue {
  double number = 0;
  std::optional<std::string_view> text = {};

  FormulaValue() = default;
  FormulaValue(double value) : number(value) {}
  FormulaValue(std::string_view value) : text(value) {}
};

// The value of a name; nothing when there is none, after appending why.
using NameValue =
    std::function<std::optional<FormulaValue>(const std::string& name, const SourcePos&)>;

// Nothing when a step has no finite value (division by zero, sqrt(-1), overflow), a name has none
// or a text stands where a number must; the reason is appended with the place of that step.
std::optional<double> evaluate(const Formula& formula, const NameValue& value_of,
                               std::vector<Problem>& problems);

// Equal to 1e-12 relative.
bool nearly_equal(double a, double b);

// A name as formulas have it: a letter, then letters, digits and _; no word of the language.
bool is_formula_name(std::string_view text);

// The shortest text that reads back as this number: 67108864, 0.75, 1e-09.
std::string exact_text(double number);

}  // namespace shardsim
