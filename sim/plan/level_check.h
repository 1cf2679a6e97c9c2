// What a level of a topology may have, by its kind and place among the others.
#pragma once

#include <cstddef>
#include <vector>

#include "base/problem.h"
#include "plan/clusters.h"
#include "spec/run_spec.h"

namespace shardsim {

bool is_grid(const TopologyRow& row);
// Whether the ends of the axis are joined, as `wrap` says or else the kind.
bool axis_wraps(const TopologyRow& row, const LevelSpec& level, const AxisSpec& axis);

// Devices that share a NIC, as a part of each axis inside; `sizes` innermost axis first. Empty
// where they do not divide.
std::vector<int> nic_parts(const std::vector<int>& sizes, int devices);

// Each appends what is refused: axes, keys that are for other kinds or have no effect on level
// number `l` (0 is innermost; the whole of a topology of one level), and rails innermost;
void check_level(const TopologySpec& spec, std::size_t l, const TopologyRow& row,
                 std::vector<Problem>& problems);
// NICs that do not divide the devices inside, whose axes have these sizes, innermost first;
void check_nics(const LevelSpec& level, const std::vector<int>& inside,
                std::vector<Problem>& problems);
// keys of ports on a switch that has none of its own.
void check_without_ports(const LevelSpec& level, std::vector<Problem>& problems);

}  // namespace shardsim
