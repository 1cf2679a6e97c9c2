// The figures of a run's hardware that can be varied: of the chip, and of every level or link of
// the network as far as it states them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/run_spec.h"

namespace shardsim {

struct HardwareFigure {
  std::string name;   // "ib bandwidth"
  std::string value;  // "50 GB/s"; of several that differ: "25 GB/s to 50 GB/s"
  std::function<void(RunSpec&, double factor)> scale;
};

// In a fixed order. Figures that are zero or not stated are left out: a share of them is nothing.
std::vector<HardwareFigure> hardware_figures(const RunSpec& spec);

}  // namespace shardsim
