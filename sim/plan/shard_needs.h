// What a statement needs of its operands so that every device can compute on its blocks, and what
// it then yields; the first half of shard.cpp, one function for each kind of statement.
//
//   norm(X[B, T_Y, D_X], D)     needs X as [B, T_Y, D], yields [B, T_Y, D]
#pragma once

#include <string>
#include <vector>

#include "plan/einsum.h"
#include "plan/shard.h"

namespace shardsim {

struct Sharder {
  const ShardInput& in;
  std::vector<Problem>& problems;
  const std::vector<int>& kept;               // tensors passed on as the partial sums they are
  std::vector<std::vector<Sharding>> copies;  // [tensor] gathered copies at hand
  ShardedLayer out;
};

// What a statement needs of its operands, and what it then yields.
struct Needs {
  std::vector<Sharding> operands;
  Sharding out;
  std::vector<AxisCase> cases;
  std::vector<Gathering> gatherings;
  std::vector<PricedPlan> plans;  // of an einsum
  std::string reason;             // of collectives that no gathering explains
};

const LayerTensor& tensor(const Sharder& s, int t);
const Sharding& held(const Sharder& s, int t);
ArrayInfo info(const Sharder& s, int t);            // its name and element size
const TensorLayout* wish(const Sharder& s, int t);  // nullptr when no preset or table speaks of it
void report(Sharder& s, const LayerStatement& st, std::string message, std::string hint = "");

// Appends a problem when the statement cannot be computed on blocks.
Needs needs_of(Sharder& s, const LayerStatement& st);

}  // namespace shardsim
