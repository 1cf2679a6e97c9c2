// The order in which the rows of a sequence lie on the devices that cut it.
//
//   in_order   device i of n holds the rows from i*T/n on
//   zigzag     of 2n pieces, device i holds number i and number 2n-1-i, so that under a causal mask
//              every device has as many scores (Megatron-LM, context_parallel; Zhu 2024, zigzag
//              ring attention; Dubey et al. 2024, arXiv 2407.21783, section 3.3.2)
//
//   T = 8 on 2 devices, zigzag: 0 1 6 7 | 2 3 4 5
//
// Rows of a sequence are alike to all statements but attention, so the order changes nothing else.
#pragma once

#include <cstdint>
#include <vector>

namespace shardsim {

enum class BlockOrder : std::uint8_t { in_order, zigzag };

// Scores of the device that has most under a causal mask, over the mean of all. A row attends to
// what is before it and to half of itself: (2i + 1)/n of the mean on device i in order.
double causal_imbalance(BlockOrder order, int devices);

// The position in the sequence of every row as it is stored, device after device. REQUIRES: zigzag
// pieces are equal, 2 * devices divides the length.
std::vector<int> positions(BlockOrder order, int length, int devices);

}  // namespace shardsim
