// Gathers on several axes at once, in phases: the array is cut into pieces, each goes along the
// axes in an order of its own, every axis in a phase of its own, and a phase begins when the one
// before it has ended everywhere. Within a phase the pieces on one axis take turns.
//
//   mesh of 8 x 4 (x, y), three phases, pieces and what they do in each (collectives.md section 3):
//     a1  x  y  -      b1  y  x  -
//     a2  -  x  y      b2  y  -  x
//
// In two phases, each order in both, the axes cannot be busy all the time; in enough phases they
// mostly can.
#pragma once

#include <span>
#include <vector>

namespace shardsim {

struct PhasedPiece {
  std::vector<int> order;   // axes, first travelled first
  std::vector<int> phases;  // [stages] when; ascending; empty: one after the other
  double share = 0;         // of the array
};

using PhasedPieces = std::vector<PhasedPiece>;

// The orders j, j+1, ..., j-1 of so many axes.
std::vector<std::vector<int>> rotated_orders(std::size_t axes);

// Ways to gather, of more and more phases and pieces, each the fastest of its kind by bandwidth;
// the last keeps all axes busy all the time, or is the one with the most phases tried. An axis of
// `sizes` ranks moves data at rates[axis], in any unit. A kind is a number of phases and a set of
// orders; the shares are the solution of a linear programme: the least sum of phases, each as long
// as its busiest axis, where a piece in its turn on an axis takes
// share * (size - 1) * sizes of the axes before / rate.
const std::vector<PhasedPieces>& phased_gathers(std::span<const int> sizes,
                                                std::span<const double> rates);

}  // namespace shardsim
