// Slices of TPU pods: which shapes exist and which of their axes wrap, as the chip file says.
//
//   tpu-v5e   4x4    a mesh: an axis wraps at 16 only          16x8    x wraps, y does not
//   tpu-v5p   4x4x8  a torus: all axes are multiples of 4      2x2x4   a mesh
#pragma once

#include <string_view>
#include <vector>

#include "base/problem.h"
#include "spec/run_spec.h"

namespace shardsim {

inline constexpr std::string_view kSlice = "tpu-slice";  // row of the topology table

// The topology with `wrap` filled in for every level of kind tpu-slice, and its axes of size 1 left
// out. Appends problems: a chip without slices, too many axes, chips or chips along an axis, wrap
// written beside the chip's.
TopologySpec settle_slices(TopologySpec topology, const IciSpec& ici,
                           std::vector<Problem>& problems);

}  // namespace shardsim
