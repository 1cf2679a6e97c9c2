// Plays a collective plan on sets: who holds whose contributions to which chunk, send by send. A
// plain reading of CollectivePlan that every algorithm is checked against.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/collective_plan.h"
#include "plan/algorithms.h"

namespace shardsim {

inline constexpr int kMostPlayed = 64;  // ranks

// What is wrong with an unfolded plan, or "": a send of something that the sender does not hold or
// may not hold yet (its arrival is no ancestor of the send), a contribution that arrives twice, a
// rank that ends without what the collective promises.
//
// A send that keeps (an exchange of partial sums) adds what its ancestors have brought.
// `targets` [ranks]: where a collective-permute takes each rank's block (targets_of); without them
// its sends are checked, but not where they end. REQUIRES: at most kMostPlayed ranks.
std::string play(const CollectivePlan& plan, std::span<const int> targets = {});

// [ranks] of a collective-permute.
std::vector<int> targets_of(const CollectiveAsk& ask, std::span<const int> sizes);

}  // namespace shardsim
