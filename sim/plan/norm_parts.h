// A norm over a dim that is cut, taken apart so that the dim stays cut: sums over each row, and the
// rows scaled by them. The sums of the devices' blocks are partial sums, which an all-reduce adds
// up as it does those of any statement.
//
//   Y = layernorm(X[B, D_X], D)     Y.sums[B, 2]{U_X} = sums of x and x^2 over D
//                                   all-reduce Y.sums over X, 2 * B * 4 bytes
//                                   Y[B, D_X] = layernorm(X, D)
//
// One sum for an RMS norm, x^2 (Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4), two for a layer
// norm, x and x^2, which give mean and variance (Ba et al. 2016, arXiv:1607.06450, eq. 3). Sums are
// fp32, as frameworks accumulate them. Adjoints, r = 1 / root, n = |D|, g = dY * scale:
//
//   RMS norm    y = x r,        r = (s2/n + eps)^-1/2
//               dX = r g + 2 x ds2,         ds2 = -r^3 / (2n) sum(g x)
//   layer norm  y = (x - m) r,  m = s1/n,  r = (s2/n - m^2 + eps)^-1/2
//               dX = r g + ds1 + 2 x ds2,   ds1 = -r/n sum(g) - 2 m ds2, ds2 as above with x - m
//               for x
//
// The sums in ds1 and ds2 are partial, too, so the backward pass all-reduces as many bytes.
#pragma once

#include <string>
#include <string_view>

#include "ir/layer.h"
#include "plan/presets.h"

namespace shardsim {

inline constexpr double kSumBytes = 4;  // fp32

int sums_per_row(const LayerStatement& norm);  // 1 or 2; 0: it does not come apart
std::string sums_name(const Layer& layer, const LayerStatement& norm);

// Of what blocks in this layout yield when they are reduced over `dim`: one number a row, a part of
// it along the axes that cut the dim.
Sharding parts_of_rows(const Sharding& rows, std::string_view dim,
                       Reduction reduction = Reduction::sum);

// Replaces a norm by its two parts; returns the tensor of the sums, which comes last.
// REQUIRES: the statement is a norm.
int take_norm_apart(Layer& layer, Layouts& layouts, int statement);

}  // namespace shardsim
