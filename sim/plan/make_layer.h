// make_layer: the statements of a model file, with sizes, become a Layer. Names written without
// brackets take the dims they have where they are first written with them; the output of a norm, an
// elementwise function, an add or an attention may stay without brackets altogether:
//
//   Y1 = norm(X[B,T,D], D, Wscale1[D])      Y1 has the dims of X
//   Q[B,T,N,H] = Y1 * Wq[D,N,H]
//   O = attention(Q, K, V, causal)          O has the dims of Q
//
//   Q[B,T,N,H] = reshape(Qf[B,T,M])        the dims of Q must be written (reshape.h)
//
// Attention reads its operands by position: [batch dims, sequence, heads, head size].
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "spec/run_spec.h"

namespace shardsim {

// The statements of a model, parsed. Layouts may stand in them when the run file holds them
// (ModelSpec::inlined): `axes` are then those of the mesh.
std::vector<Statement> parse_model(const ModelSpec& model, const BatchSpec& batch,
                                   std::vector<std::string> axes, std::vector<Problem>& problems);

// Sizes of all dims that are given. `sequences` is that of B: of one micro-batch, over all devices
// (presets.h, split_batch).
std::vector<NamedDim> model_dims(const ModelSpec& model, const BatchSpec& batch, int sequences,
                                 std::vector<Problem>& problems);

// Both, and the layer of them.
// Returns an incomplete layer when it appends problems: unknown dims, dims without a size, names
// read before they are made, made from themselves or made twice, dims that do not agree.
Layer make_layer(const ModelSpec& model, const BatchSpec& batch, int sequences,
                 std::vector<Problem>& problems);

// The same from parsed statements and the sizes of all their dims. Layouts in the statements are
// left to the caller.
Layer layer_from(std::span<const Statement> statements, std::vector<NamedDim> dims,
                 std::vector<Problem>& problems);

}  // namespace shardsim
