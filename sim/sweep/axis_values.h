// The values of an axis, from lists and ranges.
//
//   [8, 16, 32]    1..8    1..8 step 2    2..64 step x2    25 GB/s..900 GB/s step x2    25..900
//   GB/s step 25
#pragma once

#include <vector>

#include "spec/fields.h"

namespace shardsim {

inline constexpr std::size_t kMostValues = 1'000'000;  // of an axis

// The items of a list, ranges in it expanded, or of one range, or one value. Appends what is wrong:
// an empty list or range, a step that leads nowhere, the same value twice unless it may repeat.
std::vector<Node> axis_nodes(const Node& node, const std::string& name, bool may_repeat,
                             std::vector<Problem>& problems);

}  // namespace shardsim
