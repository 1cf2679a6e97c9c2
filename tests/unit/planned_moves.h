// Collectives on device arrays, moved by collective plans: every group of the cluster packs its
// blocks into the V elements that its ranks see, the plan's sends move them, and they are unpacked.
//
//   all-gather of W over X on D     shard r of V is the block of rank r; it becomes part r of the
//                                   receiver's block, in the order of the axes in the layout
//   permute                         shard r of V is the block of rank r; the receiver's is that of
//                                   the rank whose target it is
//
// So a plan that ranks the devices in another order than the layout puts blocks in wrong places.
// Padding travels as NaN: it costs bytes, and no element may come to depend on it.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/networks.h"
#include "../support/play_arrays.h"
#include "execution.h"
#include "plan/algorithms.h"
#include "plan/placement.h"
#include "plan/prepare.h"

namespace shardsim::testing {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Of an array or its gradient: what the layer says of it, or Precision's default for every role.
inline double element_bytes_of(const Layer& layer, const std::string& name) {
  const int known = layer.tensor(name);
  const int t = known >= 0 ? known : layer.tensor(name.substr(1));
  return element_bytes(layer.tensors[static_cast<std::size_t>(t)], {});
}

// The elements of `region` within `block`, with its padding.
inline std::vector<double> pack(const Block& block, const Block& region) {
  std::vector<double> wire(product(region.padded), kMissing);
  Block room = region;
  room.size = region.padded;
  for_each(region, [&](const auto& i) { wire[room.offset(i)] = block.data[block.offset(i)]; });
  return wire;
}
inline void unpack(const double* wire, const Block& region, Block& block) {
  Block room = region;
  room.size = region.padded;
  for_each(region, [&](const auto& i) { block.data[block.offset(i)] = wire[room.offset(i)]; });
}

// A cluster and a mesh on it.
struct Network {
  std::string text;
  Cluster cluster;
  Mesh mesh;
};

// axes: hardware axes of every mesh axis, or on a switch its size as text.
inline Network network(const std::string& topology,
                       const std::vector<std::pair<std::string, std::vector<std::string>>>& axes) {
  Network result{topology, cluster(topology), {}};
  MeshSpec spec;
  for (const auto& [name, spans] : axes) {
    MeshAxisSpec axis{name, {}, 0, {}};
    result.text += ", " + name + " = ";
    for (const std::string& span : spans) {
      result.text += span + " ";
      if (span[0] >= '0' && span[0] <= '9') {
        axis.size = std::stoi(span);
      } else {
        axis.axes.push_back({span, {}, true});
      }
    }
    spec.axes.push_back(std::move(axis));
  }
  if (spec.axes.front().size > 0) spec.order = {"row-major", {}, true};
  std::vector<Problem> problems;
  result.mesh = place_mesh(spec, result.cluster, problems);
  if (!problems.empty()) throw ConfigError(problems);
  return result;
}

// The index, in Devices, of a device of the cluster.
inline std::size_t mesh_device(const Network& n, DeviceId device) {
  const std::vector<int> at = n.cluster.coordinates(device);
  int index = 0;
  for (const MeshAxis& axis : n.mesh.axes) {
    for (const int a : axis.axes) {
      const auto hardware = static_cast<std::size_t>(a);
      index = index * n.cluster.axes[hardware].size + at[hardware];
    }
  }
  return static_cast<std::size_t>(index);
}

// The groups of a collective over these hardware axes: devices by rank.
inline std::vector<std::vector<DeviceId>> groups(const Cluster& cluster,
                                                 const std::vector<int>& axes) {
  std::vector<int> sizes;
  for (const int a : axes) sizes.push_back(cluster.axes[static_cast<std::size_t>(a)].size);
  std::vector<std::vector<DeviceId>> result;
  for (int d = 0; d < cluster.devices(); ++d) {
    std::vector<int> at = cluster.coordinates(DeviceId{static_cast<std::uint32_t>(d)});
    bool first = true;
    for (const int a : axes) first = first && at[static_cast<std::size_t>(a)] == 0;
    if (!first) continue;
    std::vector<DeviceId> members;
    for (int rank = 0; rank < static_cast<int>(product(sizes)); ++rank) {
      const std::vector<int> of_rank = rank_coordinates(sizes, rank);
      for (std::size_t i = 0; i < axes.size(); ++i) {
        at[static_cast<std::size_t>(axes[i])] = of_rank[i];
      }
      members.push_back(cluster.device(at));
    }
    result.push_back(std::move(members));
  }
  return result;
}

// How one group packs and unpacks: what of a device's block is which part of V.
struct Packing {
  std::size_t slots = 1;              // equal parts of V
  std::vector<int> gathered, spread;  // sizes of the axes that leave a dim, that join one
  std::size_t from = 0, to = 0;       // those dims
};

class PlannedMoves {
 public:
  // Which of the suitable rows a collective takes, and what happens to its plan before it is used.
  using Pick = std::function<const AlgorithmRow*(const std::vector<const AlgorithmRow*>&,
                                                 const ShardedCollective&)>;
  using Spoil =
      std::function<void(CollectivePlan&, const ShardedCollective&, std::size_t elements)>;

  PlannedMoves(const Network& network, Pick pick, std::mt19937* random = nullptr,
               Spoil spoil = nullptr)
      : network_(network), pick_(std::move(pick)), random_(random), spoil_(std::move(spoil)) {}

  std::vector<Block> operator()(const Devices& devices, const ShardedCollective& c,
                                const std::vector<Block>& before) {
    const CollectiveCall call = call_of(c, network_.mesh);
    const double element_bytes = element_bytes_of(devices.layer(), c.tensor);
    const ArrayPlay& play = plan_for(c, call, element_bytes);
    const Packing packing = packing_of(devices.mesh(), c);
    std::vector<Block> after;
    for (int d = 0; d < devices.count(); ++d) after.push_back(devices.empty(d, c.after));
    for (const auto& group : groups(network_.cluster, call.axes)) {
      std::vector<std::size_t> members;
      for (const DeviceId device : group) members.push_back(mesh_device(network_, device));
      Memories memories;
      for (std::size_t rank = 0; rank < members.size(); ++rank) {
        memories.push_back(packed(c, packing, before[members[rank]], rank));
      }
      const auto elements = static_cast<double>(memories.front().size());
      if (std::abs(elements * element_bytes - c.bytes.v) > 1e-9 * c.bytes.v) {
        throw Unexecutable(std::string(to_text(c.kind)) + " " + c.tensor + " moves " +
                           std::to_string(elements) + " elements and is charged for " +
                           std::to_string(c.bytes.v / element_bytes));
      }
      const std::string wrong =
          random_ == nullptr ? play.in_order(memories) : play.shuffled(memories, *random_);
      if (!wrong.empty()) throw Unexecutable(wrong);
      for (std::size_t rank = 0; rank < members.size(); ++rank) {
        unpacked(c, packing, memories[rank], source_of(call.ask, rank), after[members[rank]]);
      }
    }
    return after;
  }

 private:
  struct Entry {
    CollectivePlan plan;
    std::unique_ptr<ArrayPlay> play;
  };

  const ArrayPlay& plan_for(const ShardedCollective& c, const CollectiveCall& call,
                            double element_bytes) {
    const GroupNet net = group_net(network_.cluster, call.axes);
    CollectiveAsk ask = call.ask;
    std::vector<const AlgorithmRow*> rows;
    for (const AlgorithmRow& row : algorithms()) {
      if (row.why_not(call.ask, net).empty()) rows.push_back(&row);
    }
    const AlgorithmRow* row = pick_(rows, c);
    if (row->pieces != nullptr) ask.pieces = 2;
    const auto key = std::make_tuple(row, c.kind, call.axes, call.ask.targets, c.before.reduction);
    Entry& entry = plans_[key];
    if (entry.play != nullptr && !spoil_) return *entry.play;
    entry.plan = row->plan(ask, net, net.sizes());
    if (spoil_) spoil_(entry.plan, c, static_cast<std::size_t>(c.bytes.v / element_bytes + 0.5));
    entry.play = std::make_unique<ArrayPlay>(entry.plan, c.before.reduction);
    return *entry.play;
  }

  static std::vector<int> sizes_beyond(const Mesh& mesh, const Sharding& less, const Sharding& more,
                                       std::size_t d) {
    const auto& few = less.dims[d].axes;
    const auto& many = more.dims[d].axes;
    std::vector<int> sizes;
    for (std::size_t i = few.size(); i < many.size(); ++i) {
      sizes.push_back(mesh.find(many[i])->size);
    }
    return sizes;
  }

  // The rank whose block a rank gets in a permutation; otherwise the rank itself.
  static std::size_t source_of(const CollectiveAsk& ask, std::size_t rank) {
    for (std::size_t from = 0; from < ask.targets.size(); ++from) {
      if (ask.targets[from] == static_cast<int>(rank)) return from;
    }
    return rank;
  }

  static Packing packing_of(const Mesh& mesh, const ShardedCollective& c) {
    Packing p;
    if (c.kind == Collective::collective_permute) {
      p.gathered = {mesh.size_of(c.axes)};
      p.slots = product(p.gathered);
      return p;
    }
    for (std::size_t d = 0; d < c.before.dims.size(); ++d) {
      const std::vector<int> gathered = sizes_beyond(mesh, c.after, c.before, d);
      const std::vector<int> spread = sizes_beyond(mesh, c.before, c.after, d);
      if (!gathered.empty()) {
        p.gathered = gathered;
        p.from = d;
      }
      if (!spread.empty()) {
        p.spread = spread;
        p.to = d;
      }
    }
    p.slots = product(p.gathered) * product(p.spread);
    return p;
  }

  // V as the rank sees it before: its own parts, NaN elsewhere.
  static std::vector<double> packed(const ShardedCollective& c, const Packing& p,
                                    const Block& block, std::size_t rank) {
    std::vector<double> wire;
    const std::size_t parts = product(p.spread);
    for (std::size_t r = 0; r < parts; ++r) {
      const std::vector<double> slot =
          pack(block, part(block, p.to, p.spread, static_cast<int>(r)));
      wire.insert(wire.end(), slot.begin(), slot.end());
    }
    if (p.gathered.empty()) return wire;  // reductions: all of V, as partial sums
    const std::size_t first = rank * wire.size();
    std::vector<double> all(product(p.gathered) * wire.size(), kMissing);
    std::copy(wire.begin(), wire.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
    must(c.kind != Collective::all_reduce && c.kind != Collective::reduce_scatter, "it gathers");
    return all;
  }

  static void unpacked(const ShardedCollective& c, const Packing& p,
                       const std::vector<double>& wire, std::size_t rank, Block& block) {
    const std::size_t slot = wire.size() / p.slots;
    if (c.kind == Collective::collective_permute) {
      return unpack(wire.data() + rank * slot, block, block);
    }
    const std::size_t mine = p.spread.empty() ? 0 : rank;
    const std::size_t row = product(p.spread);
    for (std::size_t r = 0; r < product(p.gathered); ++r) {
      const Block region = part(block, p.from, p.gathered, static_cast<int>(r));
      unpack(wire.data() + (r * row + mine) * slot, region, block);
    }
    must(c.after.dims.size() == block.size.size(), "blocks have the dims of their layout");
  }

  const Network& network_;
  Pick pick_;
  std::mt19937* random_;
  Spoil spoil_;
  std::map<
      std::tuple<const AlgorithmRow*, Collective, std::vector<int>, std::vector<int>, Reduction>,
      Entry>
      plans_;
};

}  // namespace shardsim::testing
