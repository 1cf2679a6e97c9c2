// `take`: the one number of a JSON result that a figure is.
//
//   time_s                                            a key
//   collectives[kind=all-reduce,pass=forward].bytes   items of a list that pass the filters
//   steps[0].plans[verdict!=taken].bytes              an index; != is for all others
//   max(levels[*].latency_s)                          * is all; sum, count, min and max of several
//   status                                            the exit status of the command
//
// A filter compares texts, numbers, true, false and null; a list as its items joined by +. true and
// false count as 1 and 0, a text that is a number as that number.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/problem.h"
#include "report/json.h"

namespace shardsim {

struct TakeFilter {
  std::string key, value;
  bool equal = true;
};

// A key, or which items of a list.
struct TakeStep {
  enum class Kind : std::uint8_t { key, all, index, filter };
  Kind kind = Kind::key;
  std::string key;
  std::size_t index = 0;
  std::vector<TakeFilter> filters;
  std::size_t offset = 0, length = 1;  // in the text
};

enum class TakeOf : std::uint8_t { one, sum, count, min, max, status };

struct Take {
  PlacedText text;
  TakeOf of = TakeOf::one;
  std::vector<TakeStep> steps;
};

// Nothing when the text is no path; the reason is appended with its place.
std::optional<Take> parse_take(PlacedText text, std::vector<Problem>& problems);

// The number, or nothing after appending why: no such key or item (nearest named), not exactly one,
// null, no number. REQUIRES: not TakeOf::status.
std::optional<double> take_from(const Json& document, const Take& take,
                                std::vector<Problem>& problems);

}  // namespace shardsim
