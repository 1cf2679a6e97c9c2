// Arrays on the devices of a mesh, held as blocks of their layouts, and the collectives on them:
// the meaning of the notation, written as plainly as possible, for tests that execute sharded
// layers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/must.h"
#include "ir/layer.h"
#include "ir/sharded_layer.h"
#include "plan/reshard.h"

namespace shardsim::testing {

// A block: where it starts in the whole array, how large it is, and its elements, last dim fastest.
struct Block {
  std::vector<int> start, size;
  std::vector<double> data;

  std::size_t offset(const std::vector<int>& index) const {  // of whole-array coordinates
    std::size_t at = 0;
    for (std::size_t d = 0; d < size.size(); ++d) {
      at = at * static_cast<std::size_t>(size[d]) + static_cast<std::size_t>(index[d] - start[d]);
    }
    return at;
  }
  bool contains(const std::vector<int>& index) const {
    for (std::size_t d = 0; d < size.size(); ++d) {
      if (index[d] < start[d] || index[d] >= start[d] + size[d]) return false;
    }
    return true;
  }
};

// Calls visit(index) for every element of the block, in order.
template <class Visit>
void for_each(const Block& block, Visit visit) {
  for (const int size : block.size) {
    if (size == 0) return;
  }
  std::vector<int> index = block.start;
  for (;;) {
    visit(static_cast<const std::vector<int>&>(index));
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == block.start[d - 1] + block.size[d - 1]) {
      index[d - 1] = block.start[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

class Devices {
 public:
  Devices(const Mesh& mesh, const Layer& layer) : mesh_(mesh), layer_(layer) {}

  int count() const {
    int product = 1;
    for (const MeshAxis& axis : mesh_.axes) product *= axis.size;
    return product;
  }
  int coordinate(int device, const std::string& name) const {
    int rest = device;
    for (std::size_t a = mesh_.axes.size(); a-- > 0;) {
      if (mesh_.axes[a].name == name) return rest % mesh_.axes[a].size;
      rest /= mesh_.axes[a].size;
    }
    must(false, "the mesh has the axis");
    return 0;
  }
  // The zero block that a device holds of a layout. REQUIRES: no padding.
  Block empty(int device, const Sharding& sharding) const {
    Block block;
    std::size_t elements = 1;
    for (const DimLayout& dim : sharding.dims) {
      int index = 0;  // major axis first
      int shards = 1;
      for (const std::string& axis : dim.axes) {
        index = index * mesh_.find(axis)->size + coordinate(device, axis);
        shards *= mesh_.find(axis)->size;
      }
      const int global = layer_.dim_size(dim.dim);
      must(global % shards == 0, "tests choose sizes without padding");
      block.size.push_back(global / shards);
      block.start.push_back(index * (global / shards));
      elements *= static_cast<std::size_t>(global / shards);
    }
    block.data.resize(elements);
    return block;
  }
  Block slice(int device, const Block& from, const Sharding& to) const {
    Block block = empty(device, to);
    for_each(block,
             [&](const auto& i) { block.data[block.offset(i)] = from.data[from.offset(i)]; });
    return block;
  }
  // One collective on the blocks of all devices, each in the layout c.before.
  std::vector<Block> move(const ShardedCollective& c, const std::vector<Block>& before) const {
    std::vector<Block> after;
    for (int device = 0; device < count(); ++device) {
      Block block = empty(device, c.after);
      const bool sums = c.kind == Collective::all_reduce || c.kind == Collective::reduce_scatter;
      for (int member = 0; member < count(); ++member) {
        if (!same_group(device, member, c.axes)) continue;
        const Block& theirs = before[static_cast<std::size_t>(member)];
        for_each(block, [&](const auto& i) {
          if (!theirs.contains(i)) return;
          double& mine = block.data[block.offset(i)];
          mine = (sums ? mine : 0) + theirs.data[theirs.offset(i)];
        });
      }
      after.push_back(std::move(block));
    }
    return after;
  }

 private:
  bool same_group(int a, int b, const std::vector<std::string>& axes) const {
    for (const MeshAxis& axis : mesh_.axes) {
      const bool moves = std::find(axes.begin(), axes.end(), axis.name) != axes.end();
      if (!moves && coordinate(a, axis.name) != coordinate(b, axis.name)) return false;
    }
    return true;
  }

  const Mesh& mesh_;
  const Layer& layer_;
};

}  // namespace shardsim::testing
