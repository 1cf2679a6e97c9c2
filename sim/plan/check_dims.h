// The dims that a statement's operands and output must have.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/layer.h"
#include "ir/notation.h"

namespace shardsim {

// Appends a problem for every operand that does not fit, and for an output that cannot be.
// REQUIRES: every dim has a size in `layer`; `in` are the tensors of s.in.
void check_dims(const Layer& layer, const Statement& s, const std::vector<std::string>& out,
                const std::vector<const LayerTensor*>& in, std::vector<Problem>& problems);

}  // namespace shardsim
