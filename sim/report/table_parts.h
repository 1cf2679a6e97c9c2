// Parts of the tables on the terminal, of at most kTableWidth columns.
#pragma once

#include <string>
#include <string_view>

#include "report/run.h"

namespace shardsim {

inline constexpr std::size_t kTableWidth = 100;

// At most `width` characters; what is cut off is shown by a dot.
std::string cut(std::string text, std::size_t width);
std::string percent(double ratio);          // "12.5 %"
std::string rate_text(double rate);         // four digits, thousands apart: "146,300"
std::string without_end(std::string text);  // without blanks at the end
// A label and what there is to say, wrapped.
std::string line(std::string_view label, std::string_view text);
// "simgrid engine, flow grain, 1 device class, 17 operations"
std::string engine_text(const Run& run);
// The busiest links, and of those that differ from the others the busiest, too.
std::string link_lines(const Run& run, const Metrics& metrics);

}  // namespace shardsim
