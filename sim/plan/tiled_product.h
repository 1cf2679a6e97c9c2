// Collective matmul: a product and the collective before it (an all-gather of an operand) or after
// it (a reduce-scatter or all-reduce of the result) cut into tiles, so that one tile moves while
// another is multiplied.
//
//   two-stage  n tiles, each a collective of V/n: max(math, comm) + min(math, comm)/n
//   ring       N tiles, one for each of the N devices. Before a product: the device's own shard
//              first, the others come by N-1 hops: g + (N-1) * max(g, h), g = math/N, h = one hop.
//              After it: the partial sums go round as they are made, the own shard last; the last
//              hop ends before the own shard can be added
//   ring-two-way   the same with hops both ways: ceil((N-1)/2) hops, each bringing two tiles
//
// Source: Wang et al. 2023 (ASPLOS), section 5; PyTorch's async TP
// (torch/distributed/_symmetric_memory) decomposes in the same way.
#pragma once

#include <deque>

#include "plan/device_streams.h"
#include "plan/layer_tasks.h"

namespace shardsim {

// Whether the two tasks, one right after the other, are a product and its collective that can run
// in tiles of this form, however many.
bool tiles_suit(const Task& first, const Task& second, TileForm form, const Cluster& cluster,
                const Mesh& mesh);
// The devices that the collective of two such tasks is over.
int tile_ranks(const Task& first, const Task& second, const Mesh& mesh);

class TiledProducts {
 public:
  TiledProducts(DeviceStreams& streams, const Cluster& cluster, const Mesh& mesh,
                const Overlap& overlap, Seconds launch);

  // Whether the two tasks are run in tiles here.
  bool suits(const Task& first, const Task& second) const;

  // Both, after `at`, which moves to the end. REQUIRES: suits.
  void lower(Classes classes, const Task& first, const Task& second, const StepPlace& place,
             ClassOps& at);

 private:
  // The collective that brings or takes one tile.
  const ShardedCollective& tile(const ShardedCollective& c, bool hop, int tiles);
  void two_stage(Classes classes, const Task& move, const Task& work, bool before,
                 const StepPlace& place, ClassOps& at);
  void ring(Classes classes, const Task& move, const Task& work, bool before,
            const StepPlace& place, ClassOps& at);

  DeviceStreams& streams_;
  const Cluster& cluster_;
  const Mesh& mesh_;
  const Overlap& overlap_;
  Seconds launch_;
  std::map<const ShardedCollective*, ShardedCollective> tiles_;
};

}  // namespace shardsim
