// The layers at the two ends of a model, as statements like all others:
//
//   embedding   In[B,T,D] = Tok[B,T,V] * Wembed[V,D]   a row of the table for each token: as a
//   product
//                                                      it shards like one, but nothing is
//                                                      multiplied
//   head        Y = norm(Out, D, Wnorm)   Logits[B,T,V] = Y * Whead[D,V]   Loss = softmax(Logits,
//   V)
//
// so that tensor parallelism cuts the vocabulary of both, and an embedding over a cut vocabulary is
// completed by an all-reduce (Shoeybi et al. 2019, arXiv 1909.08053, section 3). What the head
// gathers is not freed after its forward pass, for it would be gathered again at once
// (torchtitan, parallelize_llama.py: norm and output reshard only where that is asked for). The
// loss stands for softmax and cross-entropy in one pass over the logits, in fp32; what its backward
// pass reads are the probabilities alone, on which the gradient of the logits is made (Megatron-LM,
// core/tensor_parallel/cross_entropy.py).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/layer_plan.h"
#include "spec/run_spec.h"

namespace shardsim {

struct EndRow {
  std::string_view kind;
  std::vector<std::string_view> statements;
  std::string_view weights;  // the table or matrix of the vocabulary
  bool looks_up = false;     // its product is a lookup
  bool keeps = false;        // gathered weights stay: the backward pass begins with them
};
std::span<const EndRow> end_rows();  // embedding, head

// The model file with these statements instead of its own.
ModelSpec end_model(const ModelSpec& model, const EndRow& row);

// The loss is kept in fp32, which its own element_bytes say; before shard().
void widen_loss(Layer& layer);
// Its adjoints read the probabilities, not the logits; after append_backward().
void read_probabilities(LayerPlan& plan, const Mesh& mesh, const Precision& precision);

// Turns the product of tokens and table into the lookup that it is: no FLOPs, memory traffic of the
// rows alone, no gradient of the tokens.
void make_lookup(LayerPlan& plan, const Mesh& mesh, const Precision& precision);

}  // namespace shardsim
