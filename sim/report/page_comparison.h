// Runs and schedules beside each other, as elements of a page's "runs".
#pragma once

#include <string>
#include <vector>

#include "report/json.h"

namespace shardsim {

inline constexpr std::size_t kMostCompared = 6;

// For the terminal, at most 100 columns: the figures that any of them has, a column for each, and
// below it the difference to the first.
std::string page_comparison_text(const Array& runs);
// {"runs": [{name, kind, command}], "figures": [{figure, key, values[], differences[]}]}:
// differences to the first, of shares as they are, of all else relative; null where there is none.
Json page_comparison_json(const Array& runs);

}  // namespace shardsim
