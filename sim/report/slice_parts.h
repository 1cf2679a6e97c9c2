// What slices_of is made of, after the slices themselves are there.
#pragma once

#include <cstdint>
#include <vector>

#include "report/slices.h"

namespace shardsim {

// Slices of one track that lie over each other take lanes; then tracks are sorted by rank, class
// (the shown one first), compute first and otherwise as they came up, and slices by track and time.
// `owner`: as below; it follows.
void order_tracks(Slices& made, std::vector<std::uint32_t>& owner);

// Fills cause, critical and the arrows. `owner`: [ops] the slice that ends with the op, or
// kNoSlice: what waits for the op waits for the slice.
void add_causes(const OpGraph& graph, const Timeline& timeline,
                const std::vector<std::uint32_t>& owner, Slices& made);

// REQUIRES: causes.
void add_bubbles(Slices& made);

// From the computes of the shown device of every rank: those of one work and micro-batch are a
// cell; two that lie over each other are an overlapped one.
void add_cells(Slices& made);

}  // namespace shardsim
