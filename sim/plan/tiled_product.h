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
// Ring attention is the ring of attention and of the gathers of its keys and values: the block at
// hand is attended to while the next one comes; gradients of keys and values go round as they are
// made.
//
// Source: Wang et al. 2023 (ASPLOS), section 5; PyTorch's async TP
// (torch/distributed/_symmetric_memory) decomposes in the same way; Liu et al. 2023 (arXiv
// 2310.01889), section 3.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/device_streams.h"
#include "plan/layer_tasks.h"

namespace shardsim {

// A statement and its collectives, one right after the other in a pass.
struct TiledTasks {
  std::span<const Task* const> moves;
  const Task* work = nullptr;
  bool before = false;  // the moves come before the work
  int ranks = 1;        // devices that the moves are over

  std::size_t count() const { return moves.size() + 1; }
};

// The first of the tasks, where they can run in tiles of this form, however many: a product and one
// collective, attention and all the gathers before it or the one scatter after it.
std::optional<TiledTasks> tiled_tasks(std::span<const Task* const> tasks, StatementKind kind,
                                      TileForm form, const Cluster& cluster, const Mesh& mesh);

// The same where the policies of a run have them run in tiles.
std::optional<TiledTasks> tiled_tasks(std::span<const Task* const> tasks, const Overlap& overlap,
                                      const Cluster& cluster, const Mesh& mesh);

// How the tasks are cut.
struct Tiles {
  int count = 1;
  bool hops = false;  // round a ring, or pieces of the collective
  int ways = 1;       // of hops
  Seconds each;       // of computing; each is launched by itself

  // Of the collective, on the way that has most.
  int moves() const { return hops ? (count - 1 + ways - 1) / ways : count; }
};
Tiles tiles_of(const TiledTasks& tasks, const Overlap& overlap, Seconds launch);
// The collective that brings or takes one tile.
ShardedCollective tile_of(const ShardedCollective& whole, const Tiles& tiles);

class TiledProducts {
 public:
  TiledProducts(DeviceStreams& streams, const Cluster& cluster, const Mesh& mesh,
                const Overlap& overlap, Seconds launch);

  // The first of the tasks, where they are run in tiles here.
  std::optional<TiledTasks> first_of(std::span<const Task* const> tasks) const {
    return tiled_tasks(tasks, overlap_, cluster_, mesh_);
  }

  // All of them, after `at`, which moves to the end.
  void lower(Classes classes, const TiledTasks& tasks, const StepPlace& place, ClassOps& at);

 private:
  const ShardedCollective& tile(const ShardedCollective& whole, const Tiles& tiles);
  void two_stage(Classes classes, const TiledTasks& tasks, const Tiles& tiles,
                 const StepPlace& place, ClassOps& at);
  void ring(Classes classes, const TiledTasks& tasks, const Tiles& tiles, const StepPlace& place,
            ClassOps& at);

  DeviceStreams& streams_;
  const Cluster& cluster_;
  const Mesh& mesh_;
  const Overlap& overlap_;
  Seconds launch_;
  std::map<const ShardedCollective*, ShardedCollective> tiles_;
};

}  // namespace shardsim
