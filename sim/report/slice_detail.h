// Fewer slices where there are too many to draw.
#pragma once

#include <cstddef>
#include <cstdint>

#include "report/slices.h"

namespace shardsim {

struct Detail {
  Slices shown;
  std::size_t slices_left_out = 0;  // that were merged with the one before them
};

// At most `most` slices, and half as many bubbles and cells each: of those that begin in the same grain of
// time on one track, one is left that reaches to the end of the last and is what the longest of
// them was. The grain is the finest of step/2^k that suffices; with few slices, nothing is merged.
Detail with_detail(Slices all, std::size_t most);

}  // namespace shardsim
