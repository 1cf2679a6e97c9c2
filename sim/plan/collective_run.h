// From "these collectives on this cluster" to ops: what the `collective` command runs, and how
// every collective of a run is described.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/plan.h"
#include "plan/algorithms.h"
#include "plan/lower_collective.h"

namespace shardsim {

// Names the algorithm that a call gets: `wanted`, or with "auto" the cheapest by closed form, where
// single links differ by what the candidates' sends put on each link (plan/plan_time.h). Says
// which, why, and the runner-up in `reason`. Appends a problem at `pos` when `wanted` is unknown or
// unsuited. Heeds all of the call but its algorithm.
struct AlgorithmChoice {
  const AlgorithmRow* row = nullptr;  // nullptr: one rank, nothing to send, or a problem
  std::string reason;
};
AlgorithmChoice pick_algorithm(const std::string& wanted, const CollectiveCall& call,
                               const Cluster& cluster, const SourcePos& pos,
                               std::vector<Problem>& problems);

// Whether it names an algorithm or is "auto"; otherwise says so, with the nearest name or where to
// find them all.
bool names_algorithm(const std::string& name, const SourcePos& pos, std::vector<Problem>& problems);

// The instance of a call for reports; the bracket is filled in by lowering.
CollectiveInstance describe_call(const CollectiveCall& call, const Cluster& cluster,
                                 std::vector<std::string> axis_names);

// The same for one collective by itself: where single links differ, its plan laid over them
// (plan/plan_time.h) in place of the closed form, within that one's limits.
CollectiveInstance describe_on_links(const CollectiveCall& call, const Cluster& cluster,
                                     std::vector<std::string> axis_names);

// Collectives that start together, all groups of the mesh at once.
struct CollectiveRequest {
  Cluster cluster;
  std::vector<CollectiveCall> calls;
  Grain grain = Grain::flow;
  bool full = false;
  Mesh mesh = {};  // without axes: every hardware axis is one
};
Mesh mesh_of(const CollectiveRequest& request);
Lowered lower_collectives(const CollectiveRequest& request);

// The same graph with V `factor` times as large: all that changes with the size of a collective.
void scale_bytes(OpGraph& graph, double factor);

// Appends what the algorithm takes for granted of the network, once.
void say_assumption(const AlgorithmRow* algorithm, std::vector<std::string>& said);

// What may be asked for instead of what is too large, and the ops that this would be.
struct Instead {
  std::string hint;
  std::function<double()> ops;
};

// Throws ConfigError at `pos` when the graph would have more than about 12 million ops, with the
// first hint that is not refused again, or `fewer` of something.
void refuse_too_many_ops(double ops, std::span<const Instead> instead, const SourcePos& pos,
                         std::string_view fewer = "devices");

// The ways out of a replay that is too large, given its ops when folded or not in either grain.
std::vector<Instead> smaller_replays(bool full, Grain grain, std::string_view fewer,
                                     const std::function<double(bool full, Grain grain)>& ops);

}  // namespace shardsim
