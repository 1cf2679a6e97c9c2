// Layouts that stand in the statements of a layer, and what must be stated.
//
//   "Q[B_X,T,N_Y,H] = Y1[B_X,T,D] * Wq[D,N_Y,H]"
//
// states three layouts, each for its array wherever it occurs; a name without brackets states
// nothing. Brackets without any axis mean "whole on every device"; beside presets they give the
// dims only, and the presets decide.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "ir/sharded_layer.h"
#include "plan/presets.h"
#include "spec/run_spec.h"

namespace shardsim {

// One entry for every array with a layout, in order of first mention. Appends a problem for an
// array with two different ones, here or in `tensors` (the entries of tensors:), naming both
// places.
std::vector<ArrayExpr> stated_layouts(std::span<const Statement> statements,
                                      std::span<const Chosen<std::string>> tensors,
                                      bool beside_presets, const Mesh& mesh,
                                      std::vector<Problem>& problems);

// Mesh axes that cut `dim` in any of them, in order of first mention.
std::vector<std::string> axes_of_dim(std::span<const ArrayExpr> stated, std::string_view dim);

// Writes them into the table of layouts, over what presets said. Appends a problem for partial sums
// of an array that is not made here.
void apply_stated(std::span<const ArrayExpr> stated, const Layer& layer, const Mesh& mesh,
                  Layouts& layouts, std::vector<Problem>& problems);

// The ways to settle an array that is yielded as partial sums, as one may write them: all-reduced,
// reduce-scattered into each of its dims, kept.
std::string ways_to_settle(const std::string& name, const Sharding& yielded);

// Appends a problem for every statement that yields partial sums for an array without a layout:
// whether to reduce them, and into what, is the user's to say (architecture D8).
void require_stated_sums(const Layer& layer, const Layouts& layouts, const ShardedLayer& sharded,
                         std::vector<Problem>& problems);

}  // namespace shardsim
