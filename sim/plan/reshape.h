// Reshapes: one dim becomes several, or several neighbours become one, major first; the other dims
// stay where they are.
//
//   Q[B, T, N, H] = reshape(Qf[B, T, M])     row m of M is row m % |H| of head m / |H|
//
// Blocks keep their rows only where the axes that cut M cut the major part, N, into whole blocks
// (JAX and Shardy call what goes beyond that sub-axes): n devices hold M/n rows each, which is
// N/n heads if n divides N, and a piece of a head if not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/layer.h"
#include "ir/notation.h"

namespace shardsim {

struct Regroup {
  bool splits = true;              // `one` is the operand's; false: it is the result's
  std::string one;                 // M
  std::vector<std::string> parts;  // N, H
};

// Nothing when the lists differ in any other way. Sizes are not looked at.
std::optional<Regroup> regroup(const std::vector<std::string>& from,
                               const std::vector<std::string>& to);

struct Reshaped {
  Sharding out;
  std::string error;  // what keeps the blocks from being reshaped where they are, and
  std::string hint;   // the ways out; empty when nothing does
};

// The layout that a reshape of blocks yields; partial sums stay partial sums (it is linear).
// That of `from` where the dims are the same (a reshard). REQUIRES: they are, or regroup() of the
// dims of the two tensors is something.
Reshaped reshaped(const Layer& layer, const Mesh& mesh, const LayerTensor& from,
                  const Sharding& layout, const LayerTensor& to);

}  // namespace shardsim
