// Small linear programmes, by the simplex method.
#pragma once

#include <vector>

namespace shardsim {

// The x >= 0 that makes objective * x largest where rows * x <= limits; a corner, so at most as
// many values are not 0 as there are rows. Equal input, equal result.
// REQUIRES: no limit is negative (x = 0 is allowed), and the objective is bounded.
std::vector<double> maximise(const std::vector<std::vector<double>>& rows,
                             const std::vector<double>& limits,
                             const std::vector<double>& objective);

}  // namespace shardsim
