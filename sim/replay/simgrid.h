// The door to SimGrid: replays a graph on this process's one and only engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "ir/op_graph.h"

namespace shardsim {

// The engine, on this thread, before it is needed. Replaces the handler of SIGINT.
void make_engine();

// Writes when each op starts and ends, and how many have ended so far; an op that never does keeps
// what was there.
// REQUIRES: check(graph) is empty, cycles aside; the process has not called this before and ends
// by _exit afterwards (run_in_child); the stack is large.
void run_simgrid(const OpGraph& graph, std::span<Seconds> start, std::span<Seconds> end,
                 std::atomic<std::uint64_t>& ended);

}  // namespace shardsim
