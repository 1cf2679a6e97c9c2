// replay: OpGraph in, Timeline out. Two engines behind one pure signature.
//
//   simgrid  max-min fair sharing of links by SimGrid (CM02), in a forked child: a process may own
//            one SimGrid engine ever, and the child's abort becomes an exception here
//            what holds a share of a device's compute (OpGraph::holds) slows what it computes
//   ideal    every transfer takes its latency plus the load that its own phase puts on the most
//            loaded link of its route, as if nothing else ran; a longest path over the graph. A
//            lower bound of simgrid where the groups of a collective begin together (a slow chip
//            has its own come later); equal to it when no two phases use one link at once
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ir/op_graph.h"
#include "ir/timeline.h"

namespace shardsim {

struct EngineRow {
  std::string_view name;
  std::string_view help;
  Timeline (*run)(const OpGraph&);
};
std::span<const EngineRow> engines();

// The replay stopped before every op had ended: what() lists the first stuck ops and, for each,
// what it waits for. Exit status 1.
class StuckGraph : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws StuckGraph, Interrupted, or std::runtime_error when the engine died (its message inside).
// REQUIRES: check(graph) is empty, except that cycles are allowed (they end in StuckGraph).
Timeline replay_simgrid(const OpGraph& graph);
Timeline replay_ideal(const OpGraph& graph);

}  // namespace shardsim
