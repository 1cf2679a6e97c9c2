// Which rows of a dim a device holds, also where the dim does not divide.
#pragma once

#include <span>

namespace shardsim {

// The rows of a dim that one device holds, without padding.
struct DimPart {
  int from = 0, size = 0;
  bool operator==(const DimPart&) const = default;
};
// DimPart `at` [axes] of a dim of `size` rows cut over axes of these sizes, major first, axis by
// axis: the part over XY lies in that over X. An axis of n cuts the room r of what is cut so far,
// padding included, into n parts with room for ceil(r / n): 10 over {X:2, Y:4} is 5 and 5, then 2,
// 2, 1, 0 of each. (DTensor cuts the rows that are there: for 10 the same, but of the last 3 of 11
// over {X:3, Y:3} it makes 1, 1, 1, not 2, 1, 0.)
DimPart part_of(int size, std::span<const int> axes, std::span<const int> at);

}  // namespace shardsim
