// What the symbols of a closed form stand for, with their values on a group's network.
#pragma once

#include <string>

#include "plan/algorithms.h"

namespace shardsim {

// "N = 16 devices of the group; A: devices along an axis (x 8, y 2); …": of the symbols that stand
// in the formula, but V and W1, which have lines of their own. Empty: there are none.
std::string terms_text(const std::string& formula, const AlgorithmRow& row, const GroupNet& net);

}  // namespace shardsim
