// parallel: the short form of mesh, sharding and schedule. Sizes become mesh axes of the same
// names, in Megatron's order (tp-cp-dp-pp, the first innermost), the presets that go with them, and
// the ranks of a pipeline:
//
//   parallel: {tp: 8, pp: 16, dp: 128, sp: true, zero: 1}
//     mesh: {pp: 16, dp: 128, tp: 8, order: row-major}
//     sharding: {zero1: dp, tp: tp, sp: true}
//     schedule: {kind: 1f1b, axis: pp}
//
// Copies (dp) of what is fully sharded (fsdp) are hsdp: {dp: 2, fsdp: 8} writes hsdp: [dp, fsdp].
#pragma once

#include "spec/fields.h"
#include "spec/table.h"

namespace shardsim {

// Writes mesh, sharding and schedule of a run that has parallel:. Appends problems: a mesh, presets
// with axes or another axis of the pipeline beside it, and sizes that contradict each other.
void settle_parallel(const Node& root, RunSpec& run, Problems& problems);

}  // namespace shardsim
