// A norm over a dim that is cut, taken apart so that the dim stays cut: sums over each row, and the
// rows scaled by them. The sums of the devices' blocks are partial sums, which an all-reduce adds
// up as it does those of any statement.
//
//   Y = layernorm(X[B, D_X], D)     Y.sums[B, 2]{U_X} = sums of x and x^2 over D
//                                   all-reduce Y.sums over X, 2 * B * 4 bytes
//                                   Y[B, D_X] = layernorm(X, D)
//
// One sum for an RMS norm, x^2 (Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4), two for a layer
// norm, x and x^2, which give mean and variance (Ba et al. 2016, arXiv:1607.06450, eq. 3). They are
// fp32, as frameworks accumulate them. Adjoints, r = 1 / root, n = |D|, g = dY * scale:
//
//   RMS norm    y = x r,        r = (s2/n + eps)^-1/2
//               dX = r g + 2 x ds2,         ds2 = -r^3 / (2n) sum(g x)
//   layer norm  y = (x - m) r,  m = s1/n,  r = (s2/n - m^2 + eps)^-1/2
//               dX = r g + ds1 + 2 x ds2,   ds1 = -r/n sum(g) - 2 m ds2, ds2 as above with x - m
//               for x
//
// The sums in ds1 and ds2 are partial, too, so the backward pass all-reduces as many bytes.
//
// A softmax takes one sum, too, s = sum exp(x - m), after the maximum m of each row, which is a
// statement of its own (Milakov, Gimelshein 2018, arXiv:1805.02867, section 2):
//
//   Y = softmax(X[B, D_X], D)       Y.max[B]{max_X} = max over D of X, all-reduced: B * 4 bytes
//                                   Y.sums[B, 1]{U_X} = sums of exp(x - m) over D, all-reduced
//                                   Y[B, D_X] = softmax(X, D)
//
//   y = exp(x - m) / s,  dX = exp(x - m) (dY / s + ds),  ds = -sum(dY exp(x - m)) / s^2
//
// m shifts a row and y does not depend on it, so it takes no gradient.
#pragma once

#include <string>
#include <string_view>

#include "ir/layer.h"
#include "plan/presets.h"

namespace shardsim {

inline constexpr double kStatisticBytes = 4;  // fp32

int sums_per_row(const LayerStatement& norm);    // 1 or 2
bool takes_maximum(const LayerStatement& norm);  // before the sums: a softmax
std::string sums_name(const Layer& layer, const LayerStatement& norm);
std::string maxima_name(const Layer& layer, const LayerStatement& norm);

// Whether the tensor is the maxima of a softmax that was taken apart: no gradient is owed to it.
bool shifts_rows(const Layer& layer, int tensor);

// Of what blocks in this layout yield when they are reduced over `dim`: one number a row, a part of
// it along the axes that cut the dim.
Sharding parts_of_rows(const Sharding& rows, std::string_view dim,
                       Reduction reduction = Reduction::sum);

// Replaces a norm by its parts; returns the tensor of the sums.
// REQUIRES: the statement is a norm.
int take_norm_apart(Layer& layer, Layouts& layouts, int statement);

}  // namespace shardsim
