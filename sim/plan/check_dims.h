// The dims that a statement's operands and output must have, and those that are written at all.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "spec/run_spec.h"

namespace shardsim {

// Appends a problem for every operand that does not fit, and for an output that cannot be.
// REQUIRES: every dim has a size in `layer`; `in` are the tensors of s.in.
void check_dims(const Layer& layer, const Statement& s, const std::vector<std::string>& out,
                const std::vector<const LayerTensor*>& in, std::vector<Problem>& problems);

// The dims that arrays are written with, as often as they are.
std::vector<std::string> dims_of(std::span<const ArrayExpr> arrays);
std::vector<std::string> dims_of(const Statement& statement);

// Appends a problem for every size of a dim that is not used.
void require_used(std::span<const AxisSpec> sizes, const std::vector<std::string>& used,
                  std::vector<Problem>& problems);

}  // namespace shardsim
