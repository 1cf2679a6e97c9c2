// cost: the work of a statement, and its seconds by the roofline
//
//   seconds = max(flops / peak * fill, bytes / memory bandwidth) + beside / memory bandwidth +
//   launch overhead
//
// (Williams et al. 2009; JAX Scaling Book ch. 1). `fill` is 1 unless the chip's variant says how
// many multiprocessors it has: then a product takes whole waves of tiles of 256 x 128 of its
// result, one for each multiprocessor (NVIDIA, Matrix Multiplication Background User's Guide, tile
// and wave quantization; that tile is the largest and most efficient one, one block of it fits an
// SM). Conventions of the work, all per device on padded local blocks:
//
//   einsum       2 * product of the local sizes of all its dims, or 1 * without a contraction
//   attention    4 * B * T * S * N * H (scores and values), half of it when causal; backward twice
//                that (scores are not recomputed); over a cut sequence that is the mean of the
//                devices, and the busiest one's time counts (plan/block_order.h); what scores move
//                is that of the run's row of plan/attention.h: nothing with flash; otherwise
//                kernels that do not multiply (softmax, dropout) take their time beside the
//                products, as `beside`
//   the others   1 flop per element and array read; they are charged their memory traffic only
//   bytes        every array read once and the output written once; a gradient that is added to an
//                earlier contribution reads that, too
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/sharded_layer.h"
#include "plan/attention.h"
#include "spec/run_spec.h"

namespace shardsim {

// Fills flops, memory_bytes, beside_bytes, tiles, matmul and idle_axes of a step whose layouts are
// known. `element_bytes` are those of the operands, then of the output. A reshape is no work.
struct StepWork {
  std::vector<double> element_bytes;
  double attention_share = 0;  // of the forward flops of attention, halving for `causal` included
  double imbalance = 1;        // the busiest device's flops over the mean
  ScoreTraffic scores = {};
};
void add_work(const Layer& layer, const Mesh& mesh, const StepWork& work, ShardedStatement& step);

// Whole machine, nothing padded or repeated: einsums that contract, and attention. Forward only; a
// training step is 3 times that (Chowdhery et al. 2022, appendix B: no recomputation counted).
Flops model_flops(const Layer& layer);
// The half of causal attention's scores that model_flops leaves out.
Flops skipped_scores(const Layer& layer);
// What all devices compute of one step, nothing padded or repeated.
Flops whole_flops(const Layer& layer, const Mesh& mesh, const ShardedStatement& step);

// Of an element of the tensor: its own, or those of its role; of its gradient.
double element_bytes(const LayerTensor& tensor, const Precision& precision);
double gradient_element_bytes(const LayerTensor& tensor, const Precision& precision);

// Bytes per element of each role. A name that is not given is bf16, or fp32 for the optimizer.
Precision element_bytes(const PrecisionSpec& spec);

// What a device can do, the variant's factors included.
struct ChipRates {
  FlopsPerSec peak;
  BytesPerSec memory;
  Seconds launch;
  int multiprocessors = 0;  // 0: products need not fill waves
};

// Appends a problem when the chip has no such variant, or no peak for the dtype of the activations.
ChipRates chip_rates(const ChipSpec& chip, const Chosen<std::string>& variant,
                     const Chosen<std::string>& dtype, std::vector<Problem>& problems);

// "459 TFLOP/s in bf16, memory 2.765 TB/s, launch overhead 0 s a statement"
std::string rates_text(const ChipRates& rates, std::string_view dtype);

// A step without work (the gradient of an add is passed on) costs nothing, not even a launch.
Seconds cost(const ShardedStatement& step, const ChipRates& rates);
// Whether it is its memory traffic that takes so long.
bool memory_bound(const ShardedStatement& step, const ChipRates& rates);

}  // namespace shardsim
