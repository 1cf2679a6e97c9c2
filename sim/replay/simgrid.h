// The door to SimGrid: replays a graph on this process's one and only engine.
//
// An engine runs one graph. After that the process ends, or takes it down and makes a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "ir/op_graph.h"

namespace shardsim {

// What the door offers; it is a library of its own, whose one symbol is shardsim_simgrid_door.
struct SimgridDoor {
  // The engine, on this thread, before it is needed. Replaces the handler of SIGINT.
  void (*make_engine)();

  // Whether this build of SimGrid gives us its clock.
  bool (*can_renew_engine)();

  // A new engine in place of the one that has run, as good as the first: its clock is at 0.
  // REQUIRES: can_renew_engine; the same thread as make_engine.
  void (*renew_engine)();

  // Writes when each op starts and ends, and how many have ended so far; an op that never does
  // keeps what was there.
  // REQUIRES: check(graph) is empty, cycles aside; the engine has run nothing; the process ends by
  // _exit (start_child); the stack is large.
  void (*run)(const OpGraph& graph, std::span<Seconds> start, std::span<Seconds> end,
              std::atomic<std::uint64_t>& ended);
};

// The door, loaded at the first call: SimGrid and the libraries that it brings along take longer to
// load than most commands take. Throws std::runtime_error when it cannot be loaded.
const SimgridDoor& simgrid();

}  // namespace shardsim
