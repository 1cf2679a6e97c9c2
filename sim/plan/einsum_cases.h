// What one mesh axis does to the two operands of an einsum: the classes of the dims it cuts.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ir/notation.h"

namespace shardsim {

enum class DimClass { batch, contracted, free, summed };

struct AxisView {
  std::array<std::string, 2> dim;  // the dim it cuts in each, or empty
  std::array<DimClass, 2> kind = {DimClass::free, DimClass::free};
  bool in(int operand) const { return !dim[static_cast<std::size_t>(operand)].empty(); }
};

AxisView view_axis(const Sharding& a, const Sharding& b, const std::vector<std::string>& out,
                   std::string_view axis);

// The same batch or contracted dim in both.
bool same_shared_dim(const AxisView& view);

// Whether an axis that cuts this dim in both cuts it into the same rows: what is major to it is the
// same. J_XY and J_X have the same rows over X; J_YX and J_X, or J_YX and J_XY, have not.
bool same_rows(const DimLayout& a, const DimLayout& b, std::string_view axis);

}  // namespace shardsim
