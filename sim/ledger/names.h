// Which names a row uses, before anything is simulated.
#pragma once

#include <vector>

#include "base/problem.h"
#include "ledger/rows.h"

namespace shardsim {

// Appends a problem for every name that is neither variable nor figure of its point (nearest
// named), one that is both, every variable and figure that nothing uses, a text in a formula, and a
// point without any figure.
void check_names(const LedgerRow& row, std::vector<Problem>& problems);

}  // namespace shardsim
