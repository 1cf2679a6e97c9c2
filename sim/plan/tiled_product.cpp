#include "plan/tiled_product.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardsim {
namespace {

// The product as tiles: each is launched by itself.
Seconds tile_time(Seconds whole, Seconds launch, int tiles) {
  return (whole - launch) / static_cast<double>(tiles) + launch;
}

}  // namespace

TiledProducts::TiledProducts(DeviceStreams& streams, const Cluster& cluster, const Mesh& mesh,
                             const Overlap& overlap, Seconds launch)
    : streams_(streams), cluster_(cluster), mesh_(mesh), overlap_(overlap), launch_(launch) {}

bool tiles_suit(const Task& first, const Task& second, TileForm form, const Cluster& cluster,
                const Mesh& mesh) {
  if (first.step != second.step) return false;
  const bool before = first.collective != nullptr;
  const Task& move = before ? first : second;
  const Task& work = before ? second : first;
  if (move.collective == nullptr || work.collective != nullptr) return false;
  if (move.role != TaskRole::work || move.algorithm == nullptr) return false;
  if (work.step->kind != StatementKind::einsum || work.seconds == Seconds{}) return false;
  const Collective kind = move.collective->kind;
  if (before && kind != Collective::all_gather) return false;
  if (form == TileForm::two_stage) {
    return before || kind == Collective::reduce_scatter || kind == Collective::all_reduce;
  }
  if (!before && kind != Collective::reduce_scatter) return false;
  std::vector<int> axes;
  for (const std::string& name : move.collective->axes) {
    const MeshAxis* axis = mesh.find(name);
    axes.insert(axes.end(), axis->axes.begin(), axis->axes.end());
  }
  // Hops go round one axis: a ring of cables, or any order on a switch.
  const GroupNet net = group_net(cluster, axes);
  if (net.axes.size() != 1) return false;
  const Wiring wiring = net.axes.front().wiring;
  if (wiring == Wiring::line || wiring == Wiring::pair) return false;
  return wiring != Wiring::ring_oneway || form != TileForm::ring_two_way;
}

int tile_ranks(const Task& first, const Task& second, const Mesh& mesh) {
  return mesh.size_of((first.collective != nullptr ? first : second).collective->axes);
}

bool TiledProducts::suits(const Task& first, const Task& second) const {
  if (overlap_.tiles == 0) return false;
  if (!tiles_suit(first, second, overlap_.form, cluster_, mesh_)) return false;
  return overlap_.form == TileForm::two_stage || tile_ranks(first, second, mesh_) == overlap_.tiles;
}

const ShardedCollective& TiledProducts::tile(const ShardedCollective& c, bool hop, int tiles) {
  const auto [at, fresh] = tiles_.try_emplace(&c, c);
  if (fresh) {
    ShardedCollective& made = at->second;
    made.reason =
        fmt::format("a {} of {} beside its product; {}", hop ? "hop" : "tile", c.tensor, c.reason);
    if (hop) {
      made.kind = Collective::collective_permute;
      made.before = made.after = {};
    } else {
      made.bytes = c.bytes / static_cast<double>(tiles);
    }
  }
  return at->second;
}

void TiledProducts::lower(Classes classes, const Task& first, const Task& second,
                          const StepPlace& place, ClassOps& at) {
  const bool before = first.collective != nullptr;
  const Task& move = before ? first : second;
  const Task& work = before ? second : first;
  if (overlap_.form == TileForm::two_stage) {
    two_stage(classes, move, work, before, place, at);
  } else {
    ring(classes, move, work, before, place, at);
  }
}

void TiledProducts::two_stage(Classes classes, const Task& move, const Task& work, bool before,
                              const StepPlace& place, ClassOps& at) {
  const int n = overlap_.tiles;
  const ShardedCollective& part = tile(*move.collective, false, n);
  const Seconds each = tile_time(work.seconds, launch_, n);
  const std::uint32_t product = streams_.origin(work.step->text, "compute", place);
  ClassOps arriving = at;
  ClassOps done = at;
  for (int i = 0; i < n; ++i) {
    if (before) {
      streams_.communicate(classes, {&part, move.algorithm}, place, arriving);
      done = arriving;
      streams_.compute(classes, each, product, done);
    } else {
      ClassOps made = at;
      streams_.compute(classes, each, product, made);
      streams_.communicate(classes, {&part, move.algorithm}, place, made);
      done = made;
    }
  }
  at = done;
}

void TiledProducts::ring(Classes classes, const Task& move, const Task& work, bool before,
                         const StepPlace& place, ClassOps& at) {
  const int n = overlap_.tiles;
  const ShardedCollective& hop = tile(*move.collective, true, n);
  const AlgorithmRow* shift = find_algorithm("shift");
  const Seconds each = tile_time(work.seconds, launch_, n);
  const std::uint32_t product = streams_.origin(work.step->text, "compute", place);
  const int ways = overlap_.form == TileForm::ring_two_way ? 2 : 1;
  std::vector<ClassOps> moving(static_cast<std::size_t>(ways), at);
  const auto hop_on = [&](int way) {
    const DeviceStreams::Move next{&hop, shift, way == 0 ? 1 : n - 1};
    streams_.communicate(classes, next, place, moving[static_cast<std::size_t>(way)],
                         way == 0 ? "" : " back");
  };
  if (before) {
    // Hops do not wait for products; every tile waits for the hop that brings it.
    ClassOps done = at;
    streams_.compute(classes, each, product, done);
    for (int tile = 1; tile < n; ++tile) {
      const int way = (tile - 1) % ways;
      hop_on(way);
      done = moving[static_cast<std::size_t>(way)];
      streams_.compute(classes, each, product, done);
    }
    at = done;
    return;
  }
  // A hop takes the sum so far, which waits for the tile that is added to it.
  const std::uint32_t added = streams_.origin(
      fmt::format("{} is added to what has come", work.step->out_name), "compute", place);
  for (int tile = 1; tile < n; ++tile) {
    const auto way = static_cast<std::size_t>((tile - 1) % ways);
    ClassOps made = at;
    streams_.compute(classes, each, product, made);
    streams_.join(classes, added, moving[way], made);
    hop_on(static_cast<int>(way));
  }
  ClassOps own = at;
  streams_.compute(classes, each, product, own);
  for (const ClassOps& last : moving) streams_.join(classes, added, own, last);
  at = own;
}

}  // namespace shardsim
