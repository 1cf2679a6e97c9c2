// The table of recomputation: which statements of a layer its backward pass computes again.
//
//   selective   attention alone, from Q, K and V, which are kept: FLOPs, nothing moves
//   full        the whole forward pass with its collectives, from the layer's input
//
// Source: Korthikanti et al. 2022 (arXiv 2205.05198), section 5; full is Chen et al. 2016 (arXiv
// 1604.06174) with one checkpoint per layer.
#pragma once

#include <span>
#include <string_view>

#include "ir/notation.h"

namespace shardsim {

struct RecomputeRow {
  std::string_view name;
  std::string_view help;
  std::span<const StatementKind> kinds = {};
  bool collectives = false;  // false: operands and outputs are where they were
};

std::span<const RecomputeRow> recomputations();
const RecomputeRow* find_recompute(std::string_view name);  // nullptr when there is none
bool recomputes(const RecomputeRow& row, StatementKind kind);

}  // namespace shardsim
