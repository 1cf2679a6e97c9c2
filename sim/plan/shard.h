// shard: a layer and its layouts become local statements and the collectives around them, forward.
//
//   Y1[B_X,T,D] * Wq[D_X,N_Y,H] -> Q      before: all-gather Wq over X on D (case 2, pinned)
//                                         compute: [B_X,T,D] * [D,N_Y,H] = Q[B_X,T,N_Y,H]
//   O[B_X,T,N_Y,H] * Wo[N_Y,H,D_X] -> A   before: all-gather Wo over X on D (case 4, pinned)
//                                         compute: A[B_X,T,D]{U_Y}
//                                         after: all-reduce A over Y, or reduce-scatter into T_Y
//
// A gathered copy serves every later reader. Collectives before a statement are those that it is
// the first to need; those after it turn its output into the layout that A is held in.
//
// Partial sums may pass through what is linear: einsums, adds, reshapes, and the second factor of a
// gated product. A layout that keeps an array unreduced into anything else is a problem there. Two
// partial sums over the same axes that only an add reads are left as they are, so that their sum is
// reduced once:
//
//   Sub = Attn{U_Y} + Mlp{U_Y}            after: one all-reduce of Sub, none of Attn and Mlp
#pragma once

#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/sharded_layer.h"
#include "plan/attention.h"
#include "plan/presets.h"
#include "plan/price.h"
#include "plan/recompute.h"
#include "plan/reshard.h"

namespace shardsim {

struct ShardInput {
  Layer& layer;      // shard() may take norms apart (plan/norm_parts.h)
  Layouts& layouts;  // of its tensors
  const Mesh& mesh;
  const Precision& precision;
  PriceBook& prices;                        // of the same mesh on the run's cluster
  const RecomputeRow* recompute = nullptr;  // nullptr: nothing is
  bool refuse_ties = false;                 // on_ambiguity: error
  bool refuse_clash = false;                // of batch dims, unless on_ambiguity: choose is written
  bool use_idle_axes = false;               // idle_axes: use
  const AttentionRow* attention = &attention_rows().front();
};

// Forward steps only; model_flops is that of the forward pass. backward() (backward.h) appends.
ShardedLayer shard(const ShardInput& input, std::vector<Problem>& problems);

// What a reshard of this tensor may do: presets move arrays as their authors do; tables and layers
// without presets are free, but for idle axes unless they are asked for.
ReshardFreedom freedom_of(const ShardInput& input, int tensor);

// Every padded dim of the steps' layouts, once, in words.
std::vector<std::string> padding_of(const ShardInput& input, const ShardedLayer& sharded);

}  // namespace shardsim
