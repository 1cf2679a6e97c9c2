// Phases that somebody measured or made up, with the streams they run on: a small what-if without a
// model.
//
//   phases:
//     - {name: gather 1, stream: network, time: 2 ms}
//     - {name: layer 1, stream: compute, time: 3 ms, after: [gather 1]}
//
// A phase begins when the one before it on its stream and all that it is `after` have ended.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/op_graph.h"

namespace shardsim {

struct Phase {
  std::string name;
  std::string stream;
  Seconds time;
  std::vector<int> after;  // indices of other phases, as written; stream order is not among them
};

// The phases of a YAML file. Appends what is wrong with it, each problem at its place: unknown or
// missing keys, a time without unit or below zero, two phases of one name, a name that no phase
// has, phases that wait for each other (the cycle as a path).
std::vector<Phase> read_phases(const std::string& path, std::vector<Problem>& problems);

// Op i is phase i, all on one device. REQUIRES: no phase waits for itself.
OpGraph lower_phases(const std::vector<Phase>& phases);

}  // namespace shardsim
