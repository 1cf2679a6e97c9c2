// Plays a collective plan on sets: who holds whose contributions to which chunk, send by send. A
// plain reading of CollectivePlan that every algorithm is checked against.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "plan/lower_collective.h"

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

// Whether a plan is a broadcast that scatters and gathers: in the gather the root, and whoever
// relayed the scatter, gets back what it has, which play() then allows.
bool shards_come_again(const CollectivePlan& plan);

// Plays the plan of every call. Throws CheckFailed for the first that does not deliver, ConfigError
// at `pos` for groups of more than kMostPlayed ranks.
void require_delivery(const Cluster& cluster, std::span<const CollectiveCall> calls,
                      const SourcePos& pos);
// What a report says of plans that have been played.
inline constexpr const char* kDelivers =
    "checked: the plans, played on sets, bring every rank every contribution, once";

// [ranks] of a collective-permute.
std::vector<int> targets_of(const CollectiveAsk& ask, std::span<const int> sizes);

}  // namespace shardsim
