// What a layer's pass takes of a device's memory and gives back, task by task; and what the device
// holds of the layer throughout the step. Worked out once for each kind of layer.
//
//   Y1 = norm(In)     takes Y1 when it begins
//   Q = Y1 * Wq       takes Q; before it, the gather of a cut Wq takes the whole Wq
//   …                 gives back what nothing reads any more, at its end
//
// Rules, those of frameworks that free an array after its last reader (PyTorch, XLA):
//   - An array is taken when the task that makes it begins, and given back when the last task that
//     reads it ends, in the forward or the backward pass. What is computed again (plan/recompute.h)
//     is a new array.
//   - An array is there once: the gradients of an add and what a reshape makes are the array they
//     come from; an all-reduce works in place; contributions to a gradient are added in place
//     unless something else still reads the array.
//   - The whole gradient of a weight is there from its statement until it is reduced, or else added
//     to what is held between micro-batches.
//   - What a layer makes is its successor's to give back, as is the gradient of its input its
//     predecessor's: Out turns into In, dIn into dOut, and at the end of the model Out into dOut.
//   - Attention keeps its output and, of each row of scores, one fp32 number (FlashAttention, Dao
//   et
//     al. 2022, arXiv 2205.14135, section 3.1); or, where scores go through memory, all of them
//     after the softmax, the mask of their dropout, a byte each, and what it leaves (Korthikanti et
//     al. 2022, arXiv 2205.05198, section 4.1). Dropout before the residual stream keeps a mask.
//   - Not counted: statistics of norms, token numbers, workspaces of kernels and of the network.
#pragma once

#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "plan/attention.h"
#include "plan/layer_tasks.h"
#include "plan/overlap.h"

namespace shardsim {

// At the start or the end of a task, on each device.
struct MemoryChange {
  bool at_end = false;
  MemoryKind kind = MemoryKind::activations;
  Bytes bytes;  // above 0: taken
};
using TaskChanges = std::vector<std::vector<MemoryChange>>;  // [Task::number]

struct LayerMemory {
  // With the backward pass in one piece, or with the gradients of weights after all others.
  TaskChanges whole, split;
  Bytes input;  // what enters the layer from the one before it, and its gradient when it leaves
  // Throughout the step. Gradients as they wait for the last micro-batch.
  Bytes weights, gradients, optimizer;
};

struct MemoryAsk {
  const Mesh& mesh;
  const Precision& precision;
  const Optimizer& optimizer;
  const AttentionRow& attention;
  bool dropout = false;
};

// Whether LayerMemory::split is asked for.
enum class SplitMemory : std::uint8_t { compute, leave_out };
LayerMemory layer_memory(const LayerTasks& tasks, const MemoryAsk& ask,
                         SplitMemory split = SplitMemory::compute);

}  // namespace shardsim
