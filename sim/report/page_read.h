// What a page holds, read back from its file: the only thing that `compare` needs of a run.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "report/json.h"

namespace shardsim {

// The elements of "runs" of a page: of the file, or of timeline.html in the directory `path`.
// Checked as far as pages rely on it: every table has its columns, all of one length, with indices
// within their range. Empty after appending what is wrong: no such file, no page, another version,
// no whole JSON, a table that does not fit.
Array read_page(const std::string& path, std::vector<Problem>& problems);

}  // namespace shardsim
