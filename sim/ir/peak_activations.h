// The memory that an order of cells needs.
#pragma once

#include <limits>
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
// Adds what a work takes, or takes away what it frees.
void add(PeakActivations& live, WorkKind kind);
// Each count the larger of the two.
PeakActivations most(const PeakActivations& a, const PeakActivations& b);

PeakActivations peak_activations(const std::vector<Cell>& order);
// [ranks]
std::vector<PeakActivations> peak_activations(const Schedule& schedule);

// What a rank has room for, count by count.
struct ActivationRoom {
  int until_input = std::numeric_limits<int>::max();
  int until_weight = std::numeric_limits<int>::max();
  int weighted = std::numeric_limits<int>::max();

  bool holds(const PeakActivations& live) const {
    return live.until_input <= until_input && live.until_weight <= until_weight &&
           live.weighted <= weighted;
  }
};

}  // namespace shardsim
