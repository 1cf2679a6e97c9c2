// What a schedule is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"
#include "ir/schedule.h"

namespace shardsim {

// What a transfer between two ranks holds up. Each takes c.
//   async     nothing but the cell that waits for it; any number at a time
//   serial    the same, but one at a time from one rank to another, in the order in which they are
//             made; of an overlapped cell the forward's output goes first
//   blocking  the ranks themselves: a group of transfers stops its rank until all have ended, and a
//             transfer starts when both ends have come to it
enum class P2pMode : std::uint8_t { async, serial, blocking };
std::string_view to_text(P2pMode mode);
std::span<const P2pMode> p2p_modes();

struct ScheduleAsk {
  int ranks = 1;         // p
  int microbatches = 1;  // m
  int chunks = 1;        // v, stages per rank
  int group = 0;  // interleaved kinds: N, micro-batches that follow each other on a chunk; 0: p
  P2pMode mode = P2pMode::async;  // blocking: with the groups that the authors' code posts
  CellCosts costs = {};           // searched kinds
  double memory_limit =
      0;  // searched kinds: activations of one stage that fit a rank; 0: the kind's
};

}  // namespace shardsim
