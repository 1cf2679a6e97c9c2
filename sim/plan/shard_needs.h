// What a statement needs of its operands so that every device can compute on its blocks, and what
// it then yields; the first half of shard.cpp, one function for each kind of statement.
//
//   O = attention(Q[B, T_Y, N_X, H], ...)     needs Q as [B, T, N_X, H], yields [B, T, N_X, H]
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/einsum.h"
#include "plan/shard.h"

namespace shardsim {

// Statements in their first form do not always stand: what the next round of shard() takes as
// given.
struct Findings {
  std::vector<int> kept;                               // tensors passed on as partial sums
  std::map<int, std::vector<PricedPlan>> parted = {};  // norms apart, by the tensor of the sums
};

struct NormApart {
  int statement = 0;
  std::vector<PricedPlan> plans;
};

struct Sharder {
  const ShardInput& in;
  std::vector<Problem>& problems;
  const Findings& known;
  std::vector<std::vector<Sharding>> copies;  // [tensor] gathered copies at hand
  ShardedLayer out;
  std::optional<NormApart> apart = {};  // the first norm to be taken apart
};

// What a statement needs of its operands, and what it then yields.
struct Needs {
  std::vector<Sharding> operands;
  Sharding out;
  std::vector<AxisCase> cases;
  std::vector<Gathering> gatherings;
  std::vector<PricedPlan> plans;  // of an einsum, a norm over a cut dim, attention
  std::string reason;             // of collectives that no gathering explains
};

const LayerTensor& tensor(const Sharder& s, int t);
const Sharding& held(const Sharder& s, int t);
ArrayInfo info(const Sharder& s, int t);            // its name and element size
const TensorLayout* wish(const Sharder& s, int t);  // nullptr when no preset or table speaks of it
void report(Sharder& s, const LayerStatement& st, std::string message, std::string hint = "");

// Whether the tensor, or a copy gathered earlier, can be cut to the layout.
bool at_hand(const Sharder& s, int t, const Sharding& need);
// What makes the layout out of the tensor as it is held; nothing where it is at hand.
ReshardPlan brought(const Sharder& s, int t, const Sharding& need);
// What makes the layout that is wished of a tensor out of the one that it is computed in, with
// partial sums reduced.
ReshardPlan handed_on(const Sharder& s, int t, const Sharding& made);

// Appends a problem when the statement cannot be computed on blocks.
Needs needs_of(Sharder& s, const LayerStatement& st);

}  // namespace shardsim
