// row_plans: the ways to work on rows over a dim that is cut, priced on the run's cluster.
//
//   gather   the rows are gathered whole, or moved to where the output cuts other dims
//   parts    max, min: every device reduces its part of each row, an all-reduce combines the parts.
//            norm, layernorm: every device adds up its part of each row, an all-reduce adds up the
//            parts, and every device scales its block (plan/norm_parts.h); that reads the rows
//            twice. softmax: the same after an all-reduce of the maxima; three times
//
// A price is that of the operands' and the output's reshards, of the parts, and of the compute by
// the roofline, unoverlapped. The least is taken; ties by fewer bytes, then the order above.
#pragma once

#include <vector>

#include "plan/shard_needs.h"

namespace shardsim {

struct RowPlans {
  Sharding rows;                  // the layout of X for the one taken
  std::vector<PricedPlan> plans;  // the one taken first; empty where the dim is not cut
  bool apart = false;             // a norm that is to be taken apart
};

// `rows`: the layout of X, without partial sums.
RowPlans row_plans(Sharder& s, const LayerStatement& st, const Sharding& rows);

// The layouts of the operands that go with one of X: a scale is cut as X is.
std::vector<Sharding> row_operands(const Sharder& s, const LayerStatement& st,
                                   const Sharding& rows);

// REQUIRES: a statement of kind reduce.
Reduction reduction_of(const LayerStatement& st);

}  // namespace shardsim
