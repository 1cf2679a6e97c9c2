// Where the textbook formulas hold: the asymptotic V/W, 2V/W, V/(4W), … of a collective against its
// replay (folded, flow grain, the algorithm with the smallest closed form, with latency), over
// 2 to 1,024 devices and 1 KiB to 16 GiB, on a ring, a torus, a switch and nodes of 8 GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "ledger/figures.h"

namespace shardsim {

struct RegimePoint {
  std::string network, kind, command;
  int devices = 0;
  double bytes = 0, textbook_s = 0, time_s = 0;
  std::string algorithm;
};

inline constexpr double kRegimeWithin = 0.05;

// Network by network, kind by kind, then by devices and bytes. REQUIRES: the program accepts the
// commands (a refusal is an error of ours).
std::vector<RegimePoint> regime(Commands& commands);

// One character a point, axes labelled, with a legend.
std::string regime_map(const std::vector<RegimePoint>& points);

// regime.csv and regime.txt (the map) in a directory.
std::vector<OutputFile> regime_files(const std::vector<RegimePoint>& points,
                                     const std::string& directory);

}  // namespace shardsim
