#include "plan/tiled_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardsim {
TiledProducts::TiledProducts(DeviceStreams& streams, const Cluster& cluster, const Mesh& mesh,
                             const Overlap& overlap, Seconds launch)
    : streams_(streams), cluster_(cluster), mesh_(mesh), overlap_(overlap), launch_(launch) {}

namespace {

// Hops go round one axis: a ring of cables, or any order on a switch.
bool is_ring(const ShardedCollective& move, TileForm form, const Cluster& cluster,
             const Mesh& mesh) {
  std::vector<int> axes;
  for (const std::string& name : move.axes) {
    const MeshAxis* axis = mesh.find(name);
    axes.insert(axes.end(), axis->axes.begin(), axis->axes.end());
  }
  const GroupNet net = group_net(cluster, axes);
  if (net.axes.size() != 1) return false;
  const Wiring wiring = net.axes.front().wiring;
  if (wiring == Wiring::line || wiring == Wiring::pair) return false;
  return wiring != Wiring::ring_oneway || form != TileForm::ring_two_way;
}

bool move_suits(const Task& move, bool before, TileForm form, const Cluster& cluster,
                const Mesh& mesh) {
  if (move.role != TaskRole::work || move.algorithm == nullptr) return false;
  const Collective kind = move.collective->kind;
  if (before && kind != Collective::all_gather) return false;
  if (form == TileForm::two_stage)
    return before || kind == Collective::reduce_scatter || kind == Collective::all_reduce;
  if (!before && kind != Collective::reduce_scatter) return false;
  return is_ring(*move.collective, form, cluster, mesh);
}

}  // namespace

std::optional<TiledTasks> tiled_tasks(std::span<const Task* const> tasks, StatementKind kind,
                                      TileForm form, const Cluster& cluster, const Mesh& mesh) {
  std::size_t moves = 0;  // before the work
  while (moves < tasks.size() && tasks[moves]->collective != nullptr) ++moves;
  const bool before = moves > 0;
  if (!before) moves = 1;
  if (tasks.size() < moves + 1) return {};
  TiledTasks found{tasks.subspan(before ? 0 : 1, moves), tasks[before ? moves : 0], before, 1};
  if (found.work->step->kind != kind || found.work->seconds == Seconds{}) return {};
  if (before && kind == StatementKind::einsum && moves > 1) return {};
  const std::vector<std::string>* axes = nullptr;
  for (const Task* move : found.moves) {
    if (move->collective == nullptr || move->step != found.work->step) return {};
    if (axes != nullptr && *axes != move->collective->axes) return {};
    if (!move_suits(*move, before, form, cluster, mesh)) return {};
    axes = &move->collective->axes;
  }
  found.ranks = mesh.size_of(*axes);
  return found;
}

std::optional<TiledTasks> tiled_tasks(std::span<const Task* const> tasks, const Overlap& overlap,
                                      const Cluster& cluster, const Mesh& mesh) {
  if (overlap.tiles > 0) {
    auto found = tiled_tasks(tasks, StatementKind::einsum, overlap.form, cluster, mesh);
    const bool any = overlap.form == TileForm::two_stage;
    if (found && (any || found->ranks == overlap.tiles)) return found;
  }
  if (!overlap.ring_attention) return {};
  return tiled_tasks(tasks, StatementKind::attention, TileForm::ring, cluster, mesh);
}

Tiles tiles_of(const TiledTasks& tasks, const Overlap& overlap, Seconds launch) {
  const bool attention = tasks.work->step->kind == StatementKind::attention;
  const TileForm form = attention ? TileForm::ring : overlap.form;
  Tiles tiles;
  tiles.hops = form != TileForm::two_stage;
  tiles.count = tiles.hops ? tasks.ranks : overlap.tiles;
  tiles.ways = form == TileForm::ring_two_way ? 2 : 1;
  tiles.each = (tasks.work->seconds - launch) / static_cast<double>(tiles.count) + launch;
  return tiles;
}

ShardedCollective tile_of(const ShardedCollective& whole, const Tiles& tiles) {
  ShardedCollective made = whole;
  made.reason = fmt::format("a {} of {} beside its product; {}", tiles.hops ? "hop" : "tile",
                            whole.tensor, whole.reason);
  if (tiles.hops) {
    made.kind = Collective::collective_permute;
    made.before = made.after = {};
  } else {
    made.bytes = whole.bytes / static_cast<double>(tiles.count);
  }
  return made;
}

const ShardedCollective& TiledProducts::tile(const ShardedCollective& whole, const Tiles& tiles) {
  const auto at = tiles_.find(&whole);
  if (at != tiles_.end()) return at->second;
  return tiles_.emplace(&whole, tile_of(whole, tiles)).first->second;
}

void TiledProducts::lower(Classes classes, const TiledTasks& tasks, const StepPlace& place,
                          ClassOps& at) {
  const Tiles tiles = tiles_of(tasks, overlap_, launch_);
  if (tiles.hops) return ring(classes, tasks, tiles, place, at);
  two_stage(classes, tasks, tiles, place, at);
}

void TiledProducts::two_stage(Classes classes, const TiledTasks& tasks, const Tiles& tiles,
                              const StepPlace& place, ClassOps& at) {
  const Task& move = *tasks.moves.front();
  const Task& work = *tasks.work;
  const ShardedCollective& part = tile(*move.collective, tiles);
  const std::uint32_t product = streams_.origin(work.step->text, "compute", place);
  ClassOps arriving = at;
  ClassOps done = at;
  for (int i = 0; i < tiles.count; ++i) {
    if (tasks.before) {
      streams_.communicate(classes, {&part, move.algorithm}, place, arriving);
      done = arriving;
      streams_.compute(classes, tiles.each, product, done);
    } else {
      ClassOps made = at;
      streams_.compute(classes, tiles.each, product, made);
      streams_.communicate(classes, {&part, move.algorithm}, place, made);
      done = made;
    }
  }
  at = done;
}

void TiledProducts::ring(Classes classes, const TiledTasks& tasks, const Tiles& tiles,
                         const StepPlace& place, ClassOps& at) {
  const int n = tiles.count;
  const int ways = tiles.ways;
  const Task& work = *tasks.work;
  const AlgorithmRow* shift = find_algorithm("shift");
  const std::uint32_t product = streams_.origin(work.step->text, "compute", place);
  std::vector<ClassOps> moving(static_cast<std::size_t>(ways), at);
  const auto hop_on = [&](int way) {
    for (const Task* move : tasks.moves) {
      const ShardedCollective& hop = tile(*move->collective, tiles);
      const DeviceStreams::Move next{&hop, shift, way == 0 ? 1 : n - 1};
      streams_.communicate(classes, next, place, moving[static_cast<std::size_t>(way)],
                           way == 0 ? "" : " back");
    }
  };
  if (tasks.before) {
    // Hops do not wait for products; every tile waits for the hops that bring it.
    ClassOps done = at;
    streams_.compute(classes, tiles.each, product, done);
    for (int tile = 1; tile < n; ++tile) {
      const int way = (tile - 1) % ways;
      hop_on(way);
      done = moving[static_cast<std::size_t>(way)];
      streams_.compute(classes, tiles.each, product, done);
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
    streams_.compute(classes, tiles.each, product, made);
    streams_.join(classes, added, moving[way], made);
    hop_on(static_cast<int>(way));
  }
  ClassOps own = at;
  streams_.compute(classes, tiles.each, product, own);
  for (const ClassOps& last : moving) streams_.join(classes, added, own, last);
  at = own;
}

}  // namespace shardsim
