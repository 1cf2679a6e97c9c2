// Orders and cycles of a dependency graph (the door to Boost.Graph).
#pragma once

#include <vector>

#include "ir/op_graph.h"

namespace shardsim {

// All ops, each after everything it waits for. Empty when there is a cycle.
std::vector<OpId> topological_order(const OpGraph& graph);

// One cycle as a path a, b, …, a in which each op waits for the next; empty when there is none.
std::vector<OpId> find_cycle(const OpGraph& graph);

}  // namespace shardsim
