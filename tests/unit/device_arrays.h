// Arrays on the devices of a mesh, held as blocks of their layouts, and the collectives on them:
// the meaning of the notation, written as plainly as possible, for tests that execute sharded
// layers.
//
// A dim that does not divide is cut axis by axis: 10 over {X:2, Y:4} is 5 and 5, then 2, 2, 1, 0 of
// each. So a block over XY lies within the block over X, and its room is ceil(10 / 8) = 2 rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "../support/play_arrays.h"
#include "base/must.h"
#include "ir/layer.h"
#include "ir/sharded_layer.h"
#include "plan/reshard.h"

namespace shardsim::testing {

// A block: where it starts in the whole array, how large it is, and its elements, last dim fastest.
// `padded` is the room that it takes on the device and on the wire.
struct Block {
  std::vector<int> start, size, padded;
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

inline std::size_t product(const std::vector<int>& sizes) {
  std::size_t result = 1;
  for (const int size : sizes) result *= static_cast<std::size_t>(size);
  return result;
}

// Narrows dim d to part `index` of `parts`.
inline void narrow(Block& block, std::size_t d, int parts, int index) {
  const int end = block.start[d] + block.size[d];
  block.padded[d] = (block.padded[d] + parts - 1) / parts;
  block.start[d] = std::min(block.start[d] + index * block.padded[d], end);
  block.size[d] = std::min(block.padded[d], end - block.start[d]);
}

// Part `slot` of the block (without data) when dim d is cut over axes of these sizes, major first.
inline Block part(Block block, std::size_t d, const std::vector<int>& sizes, int slot) {
  block.data.clear();
  int below = static_cast<int>(product(sizes));
  for (const int size : sizes) {
    below /= size;
    narrow(block, d, size, slot / below % size);
  }
  return block;
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
  // The block that a device holds of a layout, without data.
  Block region(int device, const Sharding& sharding) const {
    Block block;
    for (const DimLayout& dim : sharding.dims) {
      const int global = layer_.dim_size(dim.dim);
      block.start.push_back(0);
      block.size.push_back(global);
      block.padded.push_back(global);
      for (const std::string& axis : dim.axes) {
        narrow(block, block.start.size() - 1, mesh_.find(axis)->size, coordinate(device, axis));
      }
    }
    return block;
  }
  Block empty(int device, const Sharding& sharding) const {  // of zeros
    Block block = region(device, sharding);
    block.data.resize(product(block.size));
    return block;
  }
  Block slice(int device, const Block& from, const Sharding& to) const {
    Block block = region(device, to);
    if (block.start == from.start && block.size == from.size) {
      block.data = from.data;
      return block;
    }
    block.data.resize(product(block.size));
    for_each(block, [&](const auto& i) {
      must(from.contains(i), "a cut lies within what it is cut from");
      block.data[block.offset(i)] = from.data[from.offset(i)];
    });
    return block;
  }
  const Mesh& mesh() const { return mesh_; }
  const Layer& layer() const { return layer_; }
  // One collective on the blocks of all devices, each in the layout c.before.
  std::vector<Block> move(const ShardedCollective& c, const std::vector<Block>& before) const {
    std::vector<Block> after;
    for (int device = 0; device < count(); ++device) {
      Block block = empty(device, c.after);
      const bool reduces = c.kind == Collective::all_reduce || c.kind == Collective::reduce_scatter;
      const Reduction reduction = c.before.reduction;
      if (reduces) std::fill(block.data.begin(), block.data.end(), neutral(reduction));
      for (int member = 0; member < count(); ++member) {
        if (!same_group(device, member, c.axes)) continue;
        const Block& theirs = before[static_cast<std::size_t>(member)];
        for_each(block, [&](const auto& i) {
          if (!theirs.contains(i)) return;
          double& mine = block.data[block.offset(i)];
          const double part = theirs.data[theirs.offset(i)];
          mine = reduces ? combine(reduction, mine, part) : part;
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
