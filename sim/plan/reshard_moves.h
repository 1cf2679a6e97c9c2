// The primitives of resharding: what one step can make of a layout.
//
//   slice           an axis that the array does not use cuts a dim, minor-most        free
//   permute         blocks change places; every dim keeps its number of blocks
//   all-to-all      the minor-most axes of one dim become minor-most of another, in order
//   reduce-scatter  axes of {U} cut a dim, minor-most
//   all-gather      a dim loses its minor-most axes
//   all-reduce      axes leave {U}
//
// A layout is packed into one number, a byte for each mesh axis: its place (0 nowhere, 1 {U},
// 2 + d dim d) and how many axes of that dim are more major. Mesh axes beyond the eighth and dims
// beyond the fourteenth do not fit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "ir/notation.h"

namespace shardsim {

using PackedLayout = std::uint64_t;

// nullopt: the layout uses axes or dims that do not fit.
std::optional<PackedLayout> pack(const Mesh& mesh, const Sharding& sharding);
// Names of dims, and the order of {U}, as in `like`.
Sharding unpack(const Mesh& mesh, PackedLayout packed, const Sharding& like);

// A few axes in order, indices into Mesh::axes; no memory of its own, searches make many.
struct AxisList {
  std::array<std::uint8_t, 8> at = {};
  std::uint8_t count = 0;

  void push_back(int axis) { at[count++] = static_cast<std::uint8_t>(axis); }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  bool operator==(const AxisList&) const = default;
  const std::uint8_t* begin() const { return at.data(); }
  const std::uint8_t* end() const { return at.data() + count; }
  bool has(int axis) const;
  AxisList last(std::size_t n) const;  // the n minor-most
};

// The axes of every dim, major first, those of {U}, and those of neither.
struct PlacedAxes {
  std::array<AxisList, 14> dims;
  std::size_t dim_count = 0;
  AxisList unreduced, unused;
};
PlacedAxes placed(PackedLayout packed, std::size_t dims, std::size_t axes);

struct ReshardStep {
  PackedLayout after = 0;
  int row = 0;      // of the table, below
  AxisList axes;    // moved, in order; empty for a permutation
  int dim = -1;     // that loses (or, reduce-scatter and slice, gets) them
  int to_dim = -1;  // all-to-all
};

// Steps, each with the layout it starts from.
using ReshardPath = std::vector<std::pair<PackedLayout, ReshardStep>>;

struct ReshardScope {
  const Mesh& mesh;
  std::size_t dims = 0;
  PackedLayout target = 0;
  std::uint64_t usable = 0;  // bit a: mesh axis a may move
  bool straight = false;     // an axis may only cut a dim where the target has it
  bool several = true;       // several axes in one all-to-all, all-gather or reduction
  bool towards = false;  // a permutation must bring some dim nearer to the target, and none away
  std::uint64_t dims_used = ~std::uint64_t{0};  // bit d: dim d may be cut by axes it lacks
};

struct ReshardPrimitive {
  std::string_view name;
  std::optional<Collective> kind;  // nullopt: free
  void (*steps)(const ReshardScope&, PackedLayout, const PlacedAxes&, std::vector<ReshardStep>&);
};
std::span<const ReshardPrimitive> reshard_primitives();  // ties go to the first

}  // namespace shardsim
