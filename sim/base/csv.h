// A field of a CSV file as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// The text, in double quotes where a comma, a quote or the end of a line is in it: "a ""b"", c".
// Nothing else is changed: what a spreadsheet takes for a formula ("=1+2") stays what it is.
std::string csv_field(std::string_view text);

}  // namespace shardsim
