// --sweep-bytes START:END[:FACTOR]
//
//   1KiB:1GiB      1 KiB, 2 KiB, 4 KiB, … 1 GiB
//   1KiB:1GiB:10   1 KiB, 10 KiB, … the last size that does not pass the end
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "base/units.h"

namespace shardsim {

// The sizes, ascending. Appends a problem at the part that is wrong: not two or three parts, a size
// of 0, an end before the start, a factor of 1 or less, too many sizes.
std::vector<Bytes> sweep_sizes(const std::string& text, std::vector<Problem>& problems);

}  // namespace shardsim
