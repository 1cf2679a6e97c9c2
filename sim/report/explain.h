// An Explanation for the terminal (at most 100 columns) and for scripts.
//
//   Q[B,T,N,H] = Y1[B,T,D] * Wq[D,N,H]
//     cases    X  case 2: cuts the contracted dim D of Wq only
//     before   all-gather of Wq over X: [D_X, N, H] -> [D, N, H]
//              V = 64 MiB …
//     compute  …
#pragma once

#include <string>

#include "ir/explanation.h"
#include "report/json.h"

namespace shardsim {

std::string explanation_text(const Explanation& explanation);

// Keys carry their unit; a price that is not known is null.
Json explanation_json(const Explanation& explanation);

}  // namespace shardsim
