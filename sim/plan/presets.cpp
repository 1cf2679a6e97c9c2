#include "plan/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/place.h"
#include "plan/preset_choice.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

using enum LayoutRole;

void report(std::vector<Problem>& problems, const SourcePos& pos, std::string message,
            std::string hint = "") {
  problems.push_back({pos, std::move(message), std::move(hint)});
}

void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
}

DimLayout* find_dim(Sharding& sharding, std::string_view dim) {
  const auto it = std::find_if(sharding.dims.begin(), sharding.dims.end(),
                               [&](const DimLayout& layout) { return layout.dim == dim; });
  return it == sharding.dims.end() ? nullptr : &*it;
}

// The axes that cut a dim: all, or of a dim with fewer rows than devices the first ones, one row
// each. What is left over holds copies.
std::vector<std::string> fitting(const WhereRule& rule, const std::vector<std::string>& axes,
                                 int size, const Mesh& mesh) {
  if (!rule.replicates || size % mesh.size_of(axes) == 0) return axes;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    const std::vector<std::string> first(axes.begin(),
                                         axes.begin() + static_cast<std::ptrdiff_t>(n));
    if (mesh.size_of(first) == size) return first;
  }
  return axes;
}

// The rule of this role that speaks about an array: the first whose dim the array has.
const WhereRule* rule_for(const PresetRow& row, LayoutRole role, const Sharding& sharding) {
  for (const WhereRule& rule : row.where) {
    if (rule.role != role || sharding.find(rule.dim) == nullptr) continue;
    if (rule.only_with.empty() || sharding.find(rule.only_with) != nullptr) return &rule;
  }
  return nullptr;
}

// Cuts the array as the preset says; returns the axes left over.
std::vector<std::string> apply(const ActivePreset& active, LayoutRole role, const Layer& layer,
                               const Mesh& mesh, Sharding& sharding) {
  const WhereRule* rule = rule_for(*active.row, role, sharding);
  if (rule == nullptr) return {};
  const auto cut = fitting(*rule, active.axes, layer.dim_size(rule->dim), mesh);
  append(find_dim(sharding, rule->dim)->axes, cut);
  return {active.axes.begin() + static_cast<std::ptrdiff_t>(cut.size()), active.axes.end()};
}

std::string dim_meaning(std::string_view dim) {
  if (dim == "N") return "query heads";
  if (dim == "K") return "key/value heads";
  if (dim == "B") return "sequences";
  return fmt::format("rows of {}", dim);
}

std::string indivisible(const WhereRule& rule, const ActivePreset& active, int size, int shards) {
  const std::string what = fmt::format("{} = {} {} cannot be cut over {} = {} devices", rule.dim,
                                       size, dim_meaning(rule.dim), active.spec->preset, shards);
  if (!rule.replicates) return fmt::format("{}: {} does not divide {}", what, shards, size);
  if (shards % size != 0) return fmt::format("{}: neither divides the other", what);
  return fmt::format(
      "{}: one on each of {} groups needs mesh axes that come apart there, and part of a one-way "
      "ring is no ring",
      what, size);
}

// Heads stay whole: a head cut in two would need a reduction inside attention.
void check_divides(const ActivePreset& active, const Layer& layer, const Mesh& mesh,
                   std::vector<Problem>& problems) {
  std::vector<std::string_view> checked = {"B"};  // split_batch speaks about sequences
  for (const WhereRule& rule : active.row->where) {
    if (!rule.divides || std::find(checked.begin(), checked.end(), rule.dim) != checked.end()) {
      continue;
    }
    checked.push_back(rule.dim);
    const auto dim = std::find_if(layer.dims.begin(), layer.dims.end(),
                                  [&](const NamedDim& d) { return d.name == rule.dim; });
    if (dim == layer.dims.end()) continue;
    const int shards = mesh.size_of(fitting(rule, active.axes, dim->size, mesh));
    if (dim->size % shards == 0) continue;
    report(problems, active.spec->pos, indivisible(rule, active, dim->size, shards));
  }
}

// `first`: where each tensor was named, by the entries so far.
void override_layout(const Chosen<std::string>& entry, const Layer& layer, const Mesh& mesh,
                     std::map<std::string, SourcePos>& first, Layouts& layouts,
                     std::vector<Problem>& problems) {
  NotationContext context{mesh.names(), {}};
  for (const AxisParts& axis : mesh.apart) context.axes.push_back(axis.axis);
  for (const NamedDim& dim : layer.dims) context.dims.push_back(dim.name);
  const std::optional<ArrayExpr> expr = parse_array(entry.value, entry.pos, context, problems);
  if (!expr) return;
  const int index = layer.tensor(expr->name);
  if (index < 0) {
    std::vector<std::string> names;
    for (const LayerTensor& t : layer.tensors) names.push_back(t.name);
    report(problems, expr->pos, fmt::format("the layer has no tensor \"{}\"", expr->name),
           suggestion(expr->name, names));
    return;
  }
  const auto [named, fresh] = first.try_emplace(expr->name, expr->pos);
  if (!fresh) {
    report(problems, expr->pos,
           fmt::format("expected one layout of {}, found a second one; the first is at {}",
                       expr->name, place(named->second)),
           "drop one of the two");
    return;
  }
  const LayerTensor& tensor = layer.tensors[static_cast<std::size_t>(index)];
  std::vector<std::string> dims;
  for (const DimLayout& layout : expr->sharding.dims) dims.push_back(layout.dim);
  if (dims != tensor.dims) {
    report(problems, expr->pos,
           fmt::format("{} has the dims [{}], found [{}]", tensor.name,
                       fmt::join(tensor.dims, ", "), fmt::join(dims, ", ")));
    return;
  }
  if (!expr->sharding.unreduced.empty() && tensor.role != TensorRole::activation) {
    report(problems, expr->pos,
           fmt::format("{} cannot be unreduced: nothing here makes it as a "
                       "partial sum",
                       tensor.name));
    return;
  }
  layouts.tensors[static_cast<std::size_t>(index)] = layout_by_hand(mesh, expr->sharding);
}

// The later preset has the last word.
void set_timing(const ActivePreset& active, std::vector<AxisTiming>& timings) {
  for (const std::string& axis : active.axes) {
    auto at = std::find_if(timings.begin(), timings.end(),
                           [&](const AxisTiming& timing) { return timing.axis == axis; });
    if (at == timings.end()) at = timings.insert(at, {axis, {}});
    const WhenRule& when = active.row->when;
    if (when.parameters != Gather::unstated) at->when.parameters = when.parameters;
    if (when.activations != Gather::unstated) at->when.activations = when.activations;
    if (when.gradients != Reduce::unstated) at->when.gradients = when.gradients;
  }
}

// Zigzag pieces are equal.
void set_order(const ActivePreset& active, const Layer& layer, const Mesh& mesh, Layouts& layouts,
               std::vector<Problem>& problems) {
  const int pieces = 2 * mesh.size_of(active.axes);
  const auto rows = std::find_if(layer.dims.begin(), layer.dims.end(),
                                 [](const NamedDim& dim) { return dim.name == "T"; });
  if (rows != layer.dims.end() && rows->size % pieces != 0) {
    report(
        problems, active.spec->pos,
        fmt::format("T = {} rows of a sequence cannot be cut into {} zigzag pieces, two for each "
                    "device of cp: {} does not divide {}",
                    rows->size, pieces, pieces, rows->size));
  }
  layouts.zigzag = active.axes;
}

Gather gather_of(const AxisTiming& timing, TensorRole role) {
  return role == TensorRole::parameter ? timing.when.parameters : timing.when.activations;
}

// Puts the axes that cut `base` first in each dim, so that blocks of the layout are parts of its
// blocks whatever the order of the presets.
void refine(const Sharding& base, Sharding& layout) {
  for (DimLayout& dim : layout.dims) {
    if (dim.axes.size() < 2) continue;
    const std::vector<std::string>& first = base.find(dim.dim)->axes;
    std::stable_partition(dim.axes.begin(), dim.axes.end(), [&](const std::string& axis) {
      return std::find(first.begin(), first.end(), axis) != first.end();
    });
  }
}

TensorLayout layout_of(const LayerTensor& tensor, std::span<const ActivePreset> active,
                       const Layer& layer, const Mesh& mesh) {
  const bool stored = tensor.role == TensorRole::parameter;
  TensorLayout layout{whole(tensor.dims), stored || !active.empty(), false, whole(tensor.dims),
                      whole(tensor.dims)};
  for (const ActivePreset& preset : active) {
    if (!stored) {
      append(layout.gradient.unreduced, apply(preset, activation, layer, mesh, layout.held));
      continue;
    }
    apply(preset, parameter, layer, mesh, layout.held);
    apply(preset, gradient, layer, mesh, layout.gradient);
    apply(preset, optimizer, layer, mesh, layout.optimizer);
  }
  refine(layout.held, layout.gradient);
  refine(layout.gradient, layout.optimizer);
  return layout;
}

}  // namespace

std::vector<std::string> Layouts::gather_axes(TensorRole role) const {
  std::vector<std::string> axes;
  for (const AxisTiming& timing : timings) {
    if (gather_of(timing, role) != Gather::unstated) axes.push_back(timing.axis);
  }
  return axes;
}

bool Layouts::regathers(const Layer& layer, int tensor) const {
  const auto index = static_cast<std::size_t>(tensor);
  return std::any_of(timings.begin(), timings.end(), [&](const AxisTiming& timing) {
    return gather_of(timing, layer.tensors[index].role) == Gather::each_pass &&
           tensors[index].held.dim_of_axis(timing.axis) != nullptr;
  });
}

Sharding Layouts::kept_after_forward(const Layer& layer, int tensor) const {
  const auto index = static_cast<std::size_t>(tensor);
  Sharding left = tensors[index].held;
  for (const AxisTiming& timing : timings) {
    if (gather_of(timing, layer.tensors[index].role) != Gather::kept) continue;
    for (DimLayout& dim : left.dims) std::erase(dim.axes, timing.axis);
  }
  return left;
}

void Layouts::keep_gathered_weights() {
  for (AxisTiming& timing : timings) {
    if (timing.when.parameters == Gather::each_pass) timing.when.parameters = Gather::kept;
  }
}

BlockOrder Layouts::order_over(const std::vector<std::string>& axes) const {
  return axes == zigzag && !axes.empty() ? BlockOrder::zigzag : BlockOrder::in_order;
}

bool Layouts::reduces_each_microbatch(std::string_view axis) const {
  return std::any_of(timings.begin(), timings.end(), [&](const AxisTiming& timing) {
    return timing.axis == axis && timing.when.gradients == Reduce::each_microbatch;
  });
}

TensorLayout layout_by_hand(const Mesh& mesh, Sharding sharding) {
  const auto resolve = [&](std::vector<std::string>& axes) {
    std::vector<std::string> result;
    for (const std::string& axis : axes) append(result, mesh.resolve(axis));
    axes = std::move(result);
  };
  for (DimLayout& dim : sharding.dims) resolve(dim.axes);
  resolve(sharding.unreduced);
  Sharding reduced = sharding;
  reduced.unreduced.clear();
  return {std::move(sharding), true, true, reduced, reduced};
}

Layouts make_layouts(std::span<const PresetSpec> chosen,
                     std::span<const Chosen<std::string>> tensors, const Layer& layer,
                     const Mesh& mesh, std::vector<Problem>& problems) {
  const std::vector<ActivePreset> active = activate(chosen, mesh, problems);
  Layouts layouts;
  for (const ActivePreset& preset : active) check_divides(preset, layer, mesh, problems);
  for (const PresetRow& row : presets()) {  // flags have the last word, wherever they are written
    for (const ActivePreset& preset : active) {
      if (preset.row != &row) continue;
      set_timing(preset, layouts.timings);
      if (row.order == BlockOrder::zigzag) set_order(preset, layer, mesh, layouts, problems);
    }
  }
  for (const LayerTensor& tensor : layer.tensors) {
    layouts.tensors.push_back(layout_of(tensor, active, layer, mesh));
  }
  std::map<std::string, SourcePos> first;
  for (const auto& entry : tensors) override_layout(entry, layer, mesh, first, layouts, problems);
  return layouts;
}

BatchSplit split_batch(const BatchSpec& batch, std::span<const PresetSpec> chosen, const Mesh& mesh,
                       std::vector<Problem>& problems, std::vector<std::string> stated) {
  BatchSplit split;
  std::vector<Problem> ignored;  // make_layouts reports these
  std::vector<std::string> axes;
  for (const ActivePreset& active : activate(chosen, mesh, ignored)) {
    for (const WhereRule& rule : active.row->where) {
      if (rule.role == activation && rule.dim == "B") append(axes, active.axes);
    }
  }
  std::erase_if(stated, [&](const std::string& axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
  append(axes, stated);
  split.data_parallel = mesh.size_of(axes);
  const int global = batch.global.value;
  split.sequences = global;
  if (global % split.data_parallel != 0) {
    report(problems, batch.global.pos.source ? batch.global.pos : batch.pos,
           fmt::format("{} = {} sequences cannot be cut over {} devices ({}): {} does not "
                       "divide {}",
                       batch.global_key, global, split.data_parallel, fmt::join(axes, ", "),
                       split.data_parallel, global));
    return split;
  }
  if (!batch.micro.given) return split;
  const std::int64_t together = static_cast<std::int64_t>(batch.micro.value) * split.data_parallel;
  if (together <= 0 || global % together != 0) {
    report(problems, batch.micro.pos,
           fmt::format("batch.micro = {} on {} devices is {} sequences at a time, which does not "
                       "divide {} = {}",
                       batch.micro.value, split.data_parallel, together, batch.global_key, global));
    return split;
  }
  split.sequences = static_cast<int>(together);
  split.microbatches = static_cast<int>(global / together);
  return split;
}

}  // namespace shardsim
