// The page of a sweep: the best points as a table, and all that reports/template/sweep.js draws.
//
//   {"schema": "shardsim-sweep-page-1", "db", "objective", "columns": [name], "rows": [[cell]],
//    "lines": [text], "runs": [[line]]}   rows and runs by point, columns as exported; the YAML of
//    a
//   run is its lines, one after the other
#pragma once

#include <string>

#include "sweep/store.h"

namespace shardsim {

// More points than a page can hold are left out, as it says: the best of the objective stay, then
// those with the lowest numbers.
inline constexpr std::size_t kMostPagePoints = 5000;

std::string sweep_page(const Store& store);

}  // namespace shardsim
