// permute: which device sends its block to which when a layout's blocks change places.
//
//   [I_{XY}] -> [I_{YX}], X = 2, Y = 3:   device (x, y) holds block 3x + y and afterwards block
//                                         2y + x; the block of (0, 1) goes to (1, 0), …
//   [I_X, J_Y] -> [I_Y, J_X], X = Y:      device (x, y) sends to (y, x)
//
// Both layouts use the same axes and cut every dim into equally many blocks, so every block goes to
// exactly one device. Block indices are major first: I_{XY} is x * |Y| + y (JAX's order).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/cluster.h"
#include "ir/notation.h"

namespace shardsim {

// The mesh axes along which blocks move, in the order of the mesh; those that stay major-most or
// minor-most in the same dim are left out.
std::vector<std::string> permuted_axes(const Mesh& mesh, const Sharding& before,
                                       const Sharding& after);

// Ranks are points on `axes`, row-major: the result names for each the rank that holds its block
// afterwards. REQUIRES: `axes` are permuted_axes(); the layouts are as above.
std::vector<int> permutation(const Mesh& mesh, std::span<const std::string> axes,
                             const Sharding& before, const Sharding& after);

// Per axis how many ranks apart two neighbours on it are.
std::vector<int> row_major_strides(std::span<const int> sizes);

// Per axis the smallest step (it divides the size) such that translating sender and receiver by it
// maps the pattern onto itself: 1 for a shift, the size where nothing of the symmetry is left.
std::vector<int> invariant_steps(std::span<const int> sizes, std::span<const int> targets);

}  // namespace shardsim
