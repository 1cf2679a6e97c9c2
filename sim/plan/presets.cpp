#include "plan/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "plan/reshard.h"

namespace shardsim {
namespace {

using enum LayoutRole;

constexpr std::array kBatch = {WhereRule{activation, "B", "", true}};

constexpr std::array kBatchAndWeights = {
    WhereRule{activation, "B", "", true}, WhereRule{parameter, "D", "", false},
    WhereRule{gradient, "D", "", false}, WhereRule{optimizer, "D", "", false}};

constexpr std::array kHeadsAndHidden = {
    WhereRule{activation, "N", "", true},  WhereRule{activation, "K", "", true},
    WhereRule{activation, "F", "", false}, WhereRule{activation, "V", "", false},
    WhereRule{parameter, "N", "", true},   WhereRule{parameter, "K", "", true},
    WhereRule{parameter, "F", "", false},  WhereRule{parameter, "V", "", false},
    WhereRule{gradient, "N", "", true},    WhereRule{gradient, "K", "", true},
    WhereRule{gradient, "F", "", false},   WhereRule{gradient, "V", "", false},
    WhereRule{optimizer, "N", "", true},   WhereRule{optimizer, "K", "", true},
    WhereRule{optimizer, "F", "", false},  WhereRule{optimizer, "V", "", false}};

constexpr std::array kSequence = {WhereRule{activation, "T", "D", false}};

constexpr std::array kPresets = {
    PresetRow{"dp", "data parallel: the batch is cut, every device holds all weights",
              PresetArgument::axes, "", kBatch, false, false,
              "gradients are reduced once per step"},
    PresetRow{"fsdp",
              "fully sharded data parallel (ZeRO-3): dp, and weights, gradients and "
              "optimizer state cut on D",
              PresetArgument::axes, "", kBatchAndWeights, true, false,
              "weights are gathered before use and freed after, in both passes; gradients are "
              "reduced once per step"},
    PresetRow{"tp", "tensor parallel: query heads N, key/value heads K, F and V are cut",
              PresetArgument::axes, "", kHeadsAndHidden, false, false, "always"},
    PresetRow{"sp",
              "sequence parallel, with tp: activations that have D are cut on T between the "
              "tensor-parallel regions",
              PresetArgument::flag, "tp", kSequence, false, true,
              "activations are gathered before the matmuls and kept for the backward pass"},
};

// A chosen preset with its row and the axes it cuts over.
struct Active {
  const PresetRow* row = nullptr;
  const PresetSpec* spec = nullptr;
  std::vector<std::string> axes;
};

void report(std::vector<Problem>& problems, const SourcePos& pos, std::string message,
            std::string hint = "") {
  problems.push_back({pos, std::move(message), std::move(hint)});
}

const PresetRow* find_row(std::string_view name) {
  const auto it = std::find_if(kPresets.begin(), kPresets.end(),
                               [&](const PresetRow& row) { return row.name == name; });
  return it == kPresets.end() ? nullptr : &*it;
}

const PresetSpec* find_spec(std::span<const PresetSpec> chosen, std::string_view name) {
  const auto it = std::find_if(chosen.begin(), chosen.end(),
                               [&](const PresetSpec& spec) { return spec.preset == name; });
  return it == chosen.end() ? nullptr : &*it;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PresetRow& row : kPresets) names.emplace_back(row.name);
  return names;
}

// What is wrong with one axis of a preset, or nothing. `taken` are the axes used so far.
void take_axis(const Chosen<std::string>& axis, Active& active,
               std::vector<std::pair<std::string, std::string>>& taken, const Mesh& mesh,
               std::vector<Problem>& problems) {
  const SourcePos& pos = axis.pos.source ? axis.pos : active.spec->pos;
  if (mesh.find(axis.value) == nullptr) {
    report(problems, pos,
           fmt::format("mesh axis \"{}\" of {} is not in the mesh", axis.value, active.row->name),
           suggestion(axis.value, mesh.names()));
    return;
  }
  const auto used = std::find_if(taken.begin(), taken.end(),
                                 [&](const auto& entry) { return entry.first == axis.value; });
  if (used != taken.end()) {
    report(problems, pos,
           fmt::format("mesh axis {} is used by {} and by {}", axis.value, used->second,
                       active.row->name),
           "give each its own mesh axis");
    return;
  }
  taken.push_back({axis.value, std::string(active.row->name)});
  active.axes.push_back(axis.value);
}

// A flag takes the axes of the preset it belongs to.
std::optional<Active> activate_flag(const PresetRow& row, const PresetSpec& spec,
                                    std::span<const PresetSpec> chosen, const Mesh& mesh,
                                    std::vector<Problem>& problems) {
  if (!spec.axes.empty()) {
    report(problems, spec.pos,
           fmt::format("{} is true or false and uses the axes of {}", row.name, row.needs));
    return std::nullopt;
  }
  if (!spec.flag.value) return std::nullopt;
  const PresetSpec* owner = find_spec(chosen, row.needs);
  if (owner == nullptr || owner->axes.empty()) {
    report(problems, spec.pos,
           fmt::format("{} needs {}: it cuts over the same mesh axes", row.name, row.needs),
           fmt::format("add {}: AXIS, or drop {}", row.needs, row.name));
    return std::nullopt;
  }
  Active active{&row, &spec, {}};
  for (const Chosen<std::string>& axis : owner->axes) {
    if (mesh.find(axis.value) != nullptr) active.axes.push_back(axis.value);
  }
  return active;
}

std::vector<Active> activate(std::span<const PresetSpec> chosen, const Mesh& mesh,
                             std::vector<Problem>& problems) {
  std::vector<Active> result;
  std::vector<std::pair<std::string, std::string>> taken;
  for (const PresetSpec& spec : chosen) {
    const PresetRow* row = find_row(spec.preset);
    if (row == nullptr) {
      report(problems, spec.pos, fmt::format("unknown sharding preset \"{}\"", spec.preset),
             suggestion(spec.preset, preset_names()));
    } else if (row->argument == PresetArgument::flag) {
      std::optional<Active> active = activate_flag(*row, spec, chosen, mesh, problems);
      if (active) result.push_back(std::move(*active));
    } else if (spec.axes.empty()) {
      report(problems, spec.pos, fmt::format("{} needs the mesh axes it cuts over", row->name),
             fmt::format("write {}: X or {}: [X, Y]", row->name, row->name));
    } else {
      Active active{row, &spec, {}};
      for (const auto& axis : spec.axes) take_axis(axis, active, taken, mesh, problems);
      result.push_back(std::move(active));
    }
  }
  return result;
}

DimLayout* find_dim(Sharding& sharding, std::string_view dim) {
  const auto it = std::find_if(sharding.dims.begin(), sharding.dims.end(),
                               [&](const DimLayout& layout) { return layout.dim == dim; });
  return it == sharding.dims.end() ? nullptr : &*it;
}

// The first of the rules of this role whose dim the array has takes the axes.
void apply(const Active& active, LayoutRole role, Sharding& sharding) {
  for (const WhereRule& rule : active.row->where) {
    if (rule.role != role) continue;
    if (!rule.only_with.empty() && sharding.find(rule.only_with) == nullptr) continue;
    DimLayout* layout = find_dim(sharding, rule.dim);
    if (layout == nullptr) continue;
    layout->axes.insert(layout->axes.end(), active.axes.begin(), active.axes.end());
    return;
  }
}

std::string dim_meaning(std::string_view dim) {
  if (dim == "N") return "query heads";
  if (dim == "K") return "key/value heads";
  if (dim == "B") return "sequences";
  return fmt::format("rows of {}", dim);
}

// Heads stay whole: a head cut in two would need a reduction inside attention.
void check_divides(const Active& active, const Layer& layer, const Mesh& mesh,
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
    const int shards = mesh.size_of(active.axes);
    if (dim->size % shards == 0) continue;
    report(problems, active.spec->pos,
           fmt::format("{} = {} {} cannot be cut over {} = {} devices: {} does not divide {}",
                       rule.dim, dim->size, dim_meaning(rule.dim), active.row->name, shards, shards,
                       dim->size));
  }
}

void override_layout(const Chosen<std::string>& entry, const Layer& layer, const Mesh& mesh,
                     Layouts& layouts, std::vector<Problem>& problems) {
  NotationContext context{mesh.names(), {}};
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
  layouts.tensors[static_cast<std::size_t>(index)] = {expr->sharding, true, expr->sharding,
                                                      expr->sharding};
}

void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const PresetRow> presets() {
  return kPresets;
}

bool Layouts::pins(TensorRole role, std::string_view axis) const {
  return has(role == TensorRole::parameter ? gather_parameters : gather_activations, axis);
}

bool Layouts::regathers(const Layer& layer, int tensor) const {
  const auto index = static_cast<std::size_t>(tensor);
  if (layer.tensors[index].role != TensorRole::parameter) return false;
  return std::any_of(gather_parameters.begin(), gather_parameters.end(), [&](const auto& axis) {
    return tensors[index].held.dim_of_axis(axis) != nullptr;
  });
}

Layouts make_layouts(std::span<const PresetSpec> chosen,
                     std::span<const Chosen<std::string>> tensors, const Layer& layer,
                     const Mesh& mesh, std::vector<Problem>& problems) {
  const std::vector<Active> active = activate(chosen, mesh, problems);
  Layouts layouts;
  for (const Active& preset : active) {
    check_divides(preset, layer, mesh, problems);
    if (preset.row->gathers_parameters) append(layouts.gather_parameters, preset.axes);
    if (preset.row->gathers_activations) append(layouts.gather_activations, preset.axes);
  }
  for (const LayerTensor& tensor : layer.tensors) {
    const Sharding plain = whole(tensor.dims);
    const bool stored = tensor.role == TensorRole::parameter;
    TensorLayout layout{plain, stored || !active.empty(), plain, plain};
    for (const Active& preset : active) {
      apply(preset, stored ? parameter : activation, layout.held);
      if (!stored) continue;
      apply(preset, gradient, layout.gradient);
      apply(preset, optimizer, layout.optimizer);
    }
    layouts.tensors.push_back(std::move(layout));
  }
  for (const auto& entry : tensors) override_layout(entry, layer, mesh, layouts, problems);
  return layouts;
}

BatchSplit split_batch(const BatchSpec& batch, std::span<const PresetSpec> chosen, const Mesh& mesh,
                       std::vector<Problem>& problems, std::vector<std::string> stated) {
  BatchSplit split;
  std::vector<Problem> ignored;  // make_layouts reports these
  std::vector<std::string> axes;
  for (const Active& active : activate(chosen, mesh, ignored)) {
    for (const WhereRule& rule : active.row->where) {
      if (rule.role == activation && rule.dim == "B") append(axes, active.axes);
    }
  }
  std::erase_if(stated, [&](const std::string& axis) { return has(axes, axis); });
  append(axes, stated);
  split.data_parallel = mesh.size_of(axes);
  const int global = batch.global.value;
  split.sequences = global;
  if (global % split.data_parallel != 0) {
    report(problems, batch.global.pos.source ? batch.global.pos : batch.pos,
           fmt::format(
               "batch.global = {} sequences cannot be cut over {} devices ({}): {} does not "
               "divide {}",
               global, split.data_parallel, fmt::join(axes, ", "), split.data_parallel, global));
    return split;
  }
  if (!batch.micro.given) return split;
  const std::int64_t together = static_cast<std::int64_t>(batch.micro.value) * split.data_parallel;
  if (together <= 0 || global % together != 0) {
    report(problems, batch.micro.pos,
           fmt::format("batch.micro = {} on {} devices is {} sequences at a time, which does not "
                       "divide batch.global = {}",
                       batch.micro.value, split.data_parallel, together, global));
    return split;
  }
  split.sequences = static_cast<int>(together);
  split.microbatches = static_cast<int>(global / together);
  return split;
}

}  // namespace shardsim
