// attention_plans: the ways to compute attention over a sequence that is cut, priced on the run's
// cluster.
//
//   gather   queries stay where they are, keys and values are gathered (context parallelism; with
//            overlap.ring_attention they come round a ring, block by block)
//   heads    sequence and heads change places by all-to-alls, before and after (Jacobs et al. 2023,
//            arXiv 2309.14509, "Ulysses"), where there are enough heads
//   whole    every device gathers all of it and repeats the work
//
// A price is that of the operands' and the output's reshards and of the compute by the roofline,
// unoverlapped. The least is taken, but where a preset says that activations over these axes are
// what is gathered: there it is the first. Ties by fewer bytes, then the order above.
#pragma once

#include <vector>

#include "plan/shard_needs.h"

namespace shardsim {

struct AttentionPlans {
  std::vector<Sharding> operands;  // Q, K, V of the one taken
  std::vector<PricedPlan> plans;   // the one taken first; empty where the sequence is whole
};

// `in`: layouts of Q, K and V without partial sums. REQUIRES: [batch..., sequence, heads, head
// size].
AttentionPlans attention_plans(Sharder& s, const LayerStatement& st,
                               const std::vector<Sharding>& in);

// How much more the busiest device computes than the mean: causal rows have unlike numbers of
// scores. 1 for a kernel that computes masked scores, too.
double attention_imbalance(const ShardInput& input, bool causal, const Sharding& queries);

}  // namespace shardsim
