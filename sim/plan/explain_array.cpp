// The forms of explain that need no statement: an array, and a reshard.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "plan/explain.h"
#include "plan/explain_parts.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

constexpr int kMostRows = 4096;  // of devices that are listed

int coordinate(const DeviceBlock& row, const Mesh& mesh, const std::string& axis) {
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    if (mesh.axes[i].name == axis) return row.at[i];
  }
  return 0;
}

// The coordinates of a device on the mesh: row-major has the first axis major (a JAX mesh).
std::vector<int> coordinates(const Mesh& mesh, int device, bool innermost_first) {
  std::vector<int> at(mesh.axes.size(), 0);
  int rest = device;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::size_t i = innermost_first ? k : at.size() - 1 - k;
    at[i] = rest % mesh.axes[i].size;
    rest /= mesh.axes[i].size;
  }
  return at;
}

DeviceBlock block_of(const ExplainedArray& array, const Mesh& mesh, int device) {
  DeviceBlock row;
  row.device = device;
  row.at = coordinates(mesh, device, array.order == "innermost-first");
  for (const DimCut& cut : array.dims) {
    int index = 0;
    std::vector<int> sizes, at;
    for (const std::string& axis : cut.axes) {
      sizes.push_back(mesh.find(axis)->size);
      at.push_back(coordinate(row, mesh, axis));
      index = index * sizes.back() + at.back();
    }
    row.block.push_back(index);
    row.part.push_back(part_of(cut.size, sizes, at));
    row.id = row.id * cut.shards + index;
  }
  return row;
}

Layer sizes_only(const ExplainSetting& setting) {
  Layer layer;
  layer.dims = setting.dims;
  return layer;
}

ExplainedArray array_facts(const ArrayExpr& expr, const ExplainSetting& setting) {
  const Layer layer = sizes_only(setting);
  const Mesh& mesh = setting.mesh;
  ExplainedArray array;
  array.text = expr.name + to_text(expr.sharding);
  array.dtype = setting.dtype;
  array.layout = expr.sharding;
  array.order = setting.order;
  array.mesh_axes = mesh.names();
  array.devices = mesh.size_of(array.mesh_axes);
  Sharding plain = expr.sharding;
  for (DimLayout& dim : plain.dims) dim.axes.clear();
  for (const DimLayout& dim : expr.sharding.dims) {
    const int size = layer.dim_size(dim.dim);
    const int shards = mesh.size_of(dim.axes);
    const LocalDim local = local_dim(size, shards);
    array.dims.push_back({dim.dim, dim.axes, size, shards, local.size, local.padding});
    array.blocks *= shards;
  }
  for (const MeshAxis& axis : mesh.axes) {
    const auto& partial = expr.sharding.unreduced;
    if (expr.sharding.dim_of_axis(axis.name) != nullptr) continue;
    if (std::find(partial.begin(), partial.end(), axis.name) != partial.end()) continue;
    array.copies *= axis.size;
    if (axis.size > 1) array.copy_axes.push_back(axis.name);
  }
  const double element = dtype_bytes(setting.dtype);
  array.whole = local_bytes(layer, mesh, plain, element);
  array.per_device = local_bytes(layer, mesh, expr.sharding, element);
  array.over_mesh = array.per_device * array.devices;
  for (int d = 0; d < std::min(array.devices, kMostRows); ++d) {
    array.rows.push_back(block_of(array, mesh, d));
  }
  return array;
}

// A reshard under way.
struct Mover {
  const Pricing& on;
  double element_bytes = 2;
  std::vector<Move> moves;

  void add(const Sharding& before, const Sharding& after,
           std::optional<PricedCollective> collective) {
    moves.push_back({before, after, shape_of(on.layer, on.mesh, before),
                     shape_of(on.layer, on.mesh, after),
                     local_bytes(on.layer, on.mesh, before, element_bytes),
                     local_bytes(on.layer, on.mesh, after, element_bytes), std::move(collective)});
  }
};

// Collectives, and between them the cuts that cost nothing.
std::vector<Move> moves_of(const Pricing& on, const ArrayInfo& array, const Sharding& from,
                           const Sharding& to, std::span<const ShardedCollective> steps) {
  Mover mover{on, array.element_bytes, {}};
  Sharding now = from;
  for (const ShardedCollective& c : steps) {
    if (now != c.before) mover.add(now, c.before, std::nullopt);
    mover.add(c.before, c.after, price(on, c));
    now = c.after;
  }
  if (now != to) mover.add(now, to, std::nullopt);
  return std::move(mover.moves);
}

std::string route_text(std::span<const Move> moves, bool priced) {
  std::vector<std::string> parts;
  Seconds sum;
  bool known = priced;
  for (const Move& move : moves) {
    if (!move.collective) continue;
    const PricedCollective& c = *move.collective;
    parts.push_back(fmt::format("{} over {}, V = {}", to_text(c.what.kind),
                                fmt::join(c.what.axes, ", "), to_text(c.what.bytes)));
    known = known && c.price.has_value();
    if (c.price) sum += *c.price;
  }
  const std::string cost = known ? fmt::format(": {}", to_text(sum)) : "";
  return fmt::format("{}{}", fmt::join(parts, ", then "), cost);
}

// The plan among those that move one mesh axis at a time, and what one would do without a plan:
// make the array whole everywhere and cut it.
void add_alternatives(const Pricing& on, PriceBook& prices, const ArrayInfo& array,
                      const Sharding& from, const Sharding& to, Explanation& result) {
  Sharding plain = from;
  for (DimLayout& dim : plain.dims) dim.axes.clear();
  std::erase_if(plain.unreduced, [&](const std::string& axis) {
    return std::find(to.unreduced.begin(), to.unreduced.end(), axis) == to.unreduced.end();
  });
  const std::string planned = route_text(result.moves, on.priced);
  const auto offer = [&](const char* label, const Sharding& end, ReshardFreedom freedom) {
    const ReshardPlan plan = reshard(on.layer, prices, array, from, end, freedom);
    const std::string text = route_text(moves_of(on, array, from, end, plan.steps), on.priced);
    if (!planned.empty() && text != planned) result.alternatives.push_back(label + text);
  };
  offer("one mesh axis at a time: ", to, ReshardFreedom::single_axes);
  offer("make it whole everywhere, then cut: ", plain, ReshardFreedom::straight);
}

}  // namespace

Explanation explain_array(const ArrayExpr& array, const ExplainSetting& setting) {
  Explanation result;
  result.form = "array";
  result.title = array.name + to_text(array.sharding);
  describe_setting(setting, result);
  result.array = array_facts(array, setting);
  return result;
}

Explanation explain_reshard(const ArrayExpr& from, const ArrayExpr& to,
                            const ExplainSetting& setting, std::vector<Problem>& problems) {
  Explanation result;
  result.form = "reshard";
  result.title =
      fmt::format("{}{} -> {}{}", from.name, to_text(from.sharding), to.name, to_text(to.sharding));
  const std::size_t before = problems.size();
  if (from.name != to.name) {
    problems.push_back(
        {to.pos, fmt::format("expected {}, the array on the left, found {}", from.name, to.name),
         ""});
  }
  const auto names = [](const Sharding& sharding) {
    std::vector<std::string> dims;
    for (const DimLayout& dim : sharding.dims) dims.push_back(dim.dim);
    return dims;
  };
  if (names(from.sharding) != names(to.sharding)) {
    problems.push_back(
        {to.pos,
         fmt::format("expected the dims [{}] in this order, found [{}]",
                     fmt::join(names(from.sharding), ", "), fmt::join(names(to.sharding), ", ")),
         "a reshard changes subscripts only"});
  }
  for (const std::string& axis : to.sharding.unreduced) {
    const auto& has = from.sharding.unreduced;
    if (std::find(has.begin(), has.end(), axis) != has.end()) continue;
    problems.push_back({to.pos,
                        fmt::format("expected partial sums over {} on the left, too, found none: "
                                    "no collective makes them",
                                    axis),
                        ""});
  }
  if (problems.size() != before) return result;
  describe_setting(setting, result);
  const Layer layer = sizes_only(setting);
  const Pricing on{layer, setting.mesh, setting.cluster, setting.priced};
  const ArrayInfo array{from.name, dtype_bytes(setting.dtype)};
  PriceBook prices = price_book(setting);
  const ReshardPlan plan = reshard(layer, prices, array, from.sharding, to.sharding);
  result.moves = moves_of(on, array, from.sharding, to.sharding, plan.steps);
  result.notes.insert(result.notes.end(), plan.warnings.begin(), plan.warnings.end());
  std::vector<std::string> padding;
  note_padding(on, from.sharding, padding);
  for (const ShardedCollective& step : plan.steps) note_padding(on, step.after, padding);
  for (const std::string& line : padding) result.notes.push_back("bytes count padding: " + line);
  add_alternatives(on, prices, array, from.sharding, to.sharding, result);
  return result;
}

}  // namespace shardsim
