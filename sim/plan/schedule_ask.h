// What a schedule is asked for, and what a closed form says of it.
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
  bool p2p_groups = false;  // with the groups of transfers that the authors' code posts
  CellCosts costs = {};     // searched kinds
  double memory_limit =
      0;  // searched kinds: activations of one stage that fit a rank; 0: the kind's
};

// A formula for one figure of a schedule, evaluated for one ask. Capital letters are costs of
// cells: F, I, W, B = I + W, X of an overlapped cell, c of a transfer; small f and b where a rank
// holds v chunks.
struct ClosedForm {
  std::string_view what;  // "makespan", "max span", "idle time of the middle ranks"
  std::string_view formula;
  std::string_view condition;  // when it is exact
  bool holds = false;
  Seconds value = {};
  std::string_view source;
  std::string_view note = {};  // what people get wrong about it
};

}  // namespace shardsim
