// The memory that an order of cells needs.
#pragma once

#include <vector>

#include "ir/schedule.h"

namespace shardsim {

// Chunk activations that a rank holds at most, from the order alone. In an overlapped cell the
// forward's are there before the backward's are freed.
struct PeakActivations {
  int until_input = 0;   // each from F to the end of B or I
  int until_weight = 0;  // each from F to the end of B or W
  int weighted = 0;      // 2 from F to I, 1 from I to W: M_B = 2 M_W (arXiv 2401.10241, section 3)
};
PeakActivations peak_activations(const std::vector<Cell>& order);
// [ranks]
std::vector<PeakActivations> peak_activations(const Schedule& schedule);

}  // namespace shardsim
