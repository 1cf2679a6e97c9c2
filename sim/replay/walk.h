// Walking a graph in dependency order: what both engines share.
//
// Times live in a Timeline whose entries are kNever until an op has started or ended, so that ops
// that never got their turn (a cycle) can be told afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/followers.h"
#include "ir/op_graph.h"
#include "ir/timeline.h"

namespace shardsim {

inline constexpr Seconds kNever{-1};

// The dependencies turned around.
Followers followers(const OpGraph& graph);

// How many ops each op waits for (an op listed twice counts twice, here as in Followers).
std::vector<std::uint32_t> wait_counts(const OpGraph& graph);

// What each op takes without the network [ops]: compute, delays, latency.
std::vector<Seconds> own_times(const OpGraph& graph);

// Every op starts when the last op it waits for ends and takes its duration [ops]; the durations
// become the ends in place. O(ops + dependencies).
Timeline longest_path(const OpGraph& graph, std::vector<Seconds> duration);

// Throws StuckGraph (replay.h) when an op of the timeline never ended.
void throw_if_stuck(const OpGraph& graph, const Timeline& timeline);

}  // namespace shardsim
