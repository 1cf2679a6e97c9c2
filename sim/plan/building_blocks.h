// Building blocks of schedules that go down the ranks and up again (arXiv 2405.15362, section 3):
// when each work of one micro-batch starts on every rank, such that micro-batches which follow each
// other at the rate at which a rank works never want a rank at the same time. Found as in modulo
// scheduling (Rau, MICRO-27, 1994): the works of a micro-batch in their order, each after a wait in
// the first slots that are free on its rank modulo the period.
//
// A slot is the time of an F, and of an I and a W; B takes `fused` slots (0: backwards are split).
// The period is what two chunks take, 6 slots or 2 + 2 * fused, or more where memory wants it.
#pragma once

#include <optional>
#include <vector>

#include "ir/peak_activations.h"

namespace shardsim {

struct BuildingBlock {
  int fused = 0;
  std::vector<int> waits;   // [4 * ranks] slots: F down the ranks, F up, I (B) down, I up
  std::vector<int> starts;  // [ranks * 6] slots, of F0 F1 I0 I1 W0 W1 on each rank
  int period = 0;           // slots
  int length = 0;           // until the last I or B on rank 0 ends
};

// Nothing if a work finds no slot or a rank has no room for its activations in the steady state.
std::optional<BuildingBlock> building_block(int ranks, int fused, int period,
                                            const ActivationRoom& room, std::vector<int> waits);

// Those with equal waits on all hops of a way, up to 2 slots, and up to 5 at the turns, of the
// shortest period that has any; the shortest first. REQUIRES: room for two chunks.
std::vector<BuildingBlock> building_blocks(int ranks, int fused, const ActivationRoom& room);

}  // namespace shardsim
