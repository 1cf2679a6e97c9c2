// How gathers on several axes of one grid are cut: the pieces, their pipelines, and how long each
// axis is busy with them.
#pragma once

#include <vector>

#include "plan/algorithms.h"
#include "plan/axis_phases.h"
#include "plan/gather.h"

namespace shardsim {

bool two_way(const GroupNet& net);  // some axis is a ring that can be gone round both ways
// Whether rings are gone round both ways, half of every piece each: none has links one way only.
bool both_directions(const GroupNet& net);
bool alike(const GroupNet& net);  // axes
bool open(const GroupNet& net);   // some axis is a line
// What a device sends along each axis at once, in units of a link of the first.
std::vector<double> rates(const GroupNet& net);

// A piece in each of the rotated orders of the axes.
PhasedPieces in_rotation(std::size_t axes, const std::vector<double>& shares);
// Equal pieces where axes are alike, otherwise more and more pieces and phases.
std::vector<PhasedPieces> ways_in_phases(const GroupNet& net);

// For every stage of an order, ranks whose data a rank has already; then all.
std::vector<double> gathered(const GroupNet& net, const std::vector<int>& order);

// How long an axis, or a level, is busy with one piece after the other: for nothing, and with
// bytes.
struct Busy {
  Seconds latency, bandwidth;
};
using BusyPhases = std::vector<std::vector<Busy>>;  // [phases][axes]
BusyPhases busy_phases(const GroupNet& net, Bytes bytes, const PhasedPieces& pieces);
// Of a share of the bytes: phase by phase, each as long as its busiest axis.
Seconds time_in_phases(const BusyPhases& busy, double share = 1);

// Piece p as pipeline 2p forwards and 2p+1 backwards, or only forwards; and their shares.
std::vector<Pipeline> pipelines(const PhasedPieces& pieces, int direction, bool both);
std::vector<double> shares_of(const PhasedPieces& pieces, bool both);

}  // namespace shardsim
