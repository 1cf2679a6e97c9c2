// The figures by which runs and schedules are told apart, out of their results as JSON: one table
// for the terminal, for pages and for whoever reads them without JavaScript.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"

namespace shardsim {

struct Figure {
  std::string_view name;
  std::string_view key;       // of summary.json, and of the comparison's JSON
  std::string_view schedule;  // what it is called in the result of `schedule`; empty: not there
  std::string (*text)(double);
  bool is_share = false;  // of one: differences are in points, not in per cent
};
std::span<const Figure> figures();

// Nothing where the result has none, or null.
std::optional<double> value_of(const Figure& figure, const Json& summary);

// "+12.5 %", "-3.1 points", "=" where they are equal to 1e-9; "" where there is nothing to compare.
std::string difference_text(const Figure& figure, std::optional<double> value,
                            std::optional<double> first);

}  // namespace shardsim
