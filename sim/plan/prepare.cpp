#include "plan/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/must.h"
#include "plan/check_dims.h"
#include "plan/cluster_despite.h"
#include "plan/end_layers.h"
#include "plan/layer_planner.h"
#include "plan/layer_tasks.h"
#include "plan/lower_collective.h"
#include "plan/make_layer.h"
#include "plan/memory_limit.h"
#include "plan/overlap_needs.h"
#include "plan/placement.h"
#include "plan/reshard.h"
#include "plan/stated_layouts.h"
#include "plan/sub_axes.h"

namespace shardsim {

LinkFigures link_figures(const RunSpec& spec, std::vector<Problem>& problems) {
  LinkFigures link;
  link.ici = spec.chip_spec.ici;
  const bool levels = !spec.topology.levels.empty();
  const LevelSpec& topology = levels ? spec.topology.levels.front() : spec.topology;
  if (topology.bandwidth.given) {
    link.bandwidth = topology.bandwidth.value;
  } else if (spec.chip_spec.link_bandwidth.given) {
    link.bandwidth = spec.chip_spec.link_bandwidth.value;
  } else if (spec.topology.links.empty()) {  // links of a graph may each say their own
    problems.push_back(
        {topology.pos,
         fmt::format("expected a link bandwidth, found none: chip {} states no figure",
                     spec.chip_spec.name),
         levels ? fmt::format("add bandwidth: 100 GB/s to level {}", topology.name)
                : "add link: {bandwidth: 100 GB/s} to the topology"});
  }
  for (const ChipVariant& variant : spec.chip_spec.variants) {
    if (spec.variant.given && variant.name == spec.variant.value) link.efficiency = variant.link;
  }
  if (topology.efficiency.given) link.efficiency = topology.efficiency.value;
  if (topology.latency.given) link.latency = topology.latency.value;
  return link;
}

namespace {

// Sets batch and layer, where the layer is without problems; those of the batch are appended.
bool take_layer(const RunSpec& spec, PlanMemo& memo, Prepared& run,
                std::vector<Problem>& problems) {
  if (spec.model_spec.inlined) return false;
  std::vector<Problem> of_batch;
  run.batch = split_batch(spec.batch, spec.sharding, run.mesh, of_batch, axes_of_dim({}, "B"));
  std::optional<Layer> layer = layer_of(spec.model_spec, spec.batch, run.batch.sequences, memo);
  if (!layer) return false;
  run.layer = std::move(*layer);
  problems.insert(problems.end(), of_batch.begin(), of_batch.end());
  return true;
}

// Sets batch and, if it can be read, layer; returns the layouts that stand in its statements.
std::vector<ArrayExpr> read_layer(const RunSpec& spec, PlanMemo& memo, Prepared& run,
                                  std::vector<Problem>& problems) {
  if (take_layer(spec, memo, run, problems)) return {};
  const std::size_t before = problems.size();
  const ModelSpec& model = spec.model_spec;
  const std::vector<Statement> statements =
      parse_model(model, spec.batch, run.mesh.names(), problems);
  std::vector<ArrayExpr> stated;
  if (model.inlined) {
    stated = stated_layouts(statements, spec.tensors, !spec.sharding.empty(), run.mesh, problems);
  }
  const bool readable = problems.size() == before;
  run.batch = split_batch(spec.batch, spec.sharding, run.mesh, problems, axes_of_dim(stated, "B"));
  std::vector<NamedDim> dims = model_dims(model, spec.batch, run.batch.sequences, problems);
  if (!readable) return stated;
  const std::size_t then = problems.size();
  run.layer = layer_from(statements, std::move(dims), problems);
  if (problems.size() != then) run.layer = {};
  return stated;
}

// Model files may state sizes that only other models of theirs need, as that of the vocabulary.
void check_sizes_used(const ModelSpec& model, const Layer& layer, std::vector<Problem>& problems) {
  if (!model.inlined) return;
  std::vector<std::string> used;
  for (const LayerTensor& tensor : layer.tensors) {
    used.insert(used.end(), tensor.dims.begin(), tensor.dims.end());
  }
  require_used(model.dims, used, problems);
}

bool is_read(const Layer& layer, int tensor) {
  return std::any_of(layer.statements.begin(), layer.statements.end(), [&](const auto& st) {
    return std::find(st.in.begin(), st.in.end(), tensor) != st.in.end();
  });
}

// What one layer makes is what the next one reads: an output has the dims of an input, and is held
// in the same layout, since nothing is moved between layers.
void check_layers_fit(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems) {
  if (run.layers == 1) return;
  const Layer& layer = run.layer;
  std::string outputs, inputs, near;
  for (const LayerStatement& st : layer.statements) {
    if (is_read(layer, st.out)) continue;
    const auto out = static_cast<std::size_t>(st.out);
    const std::string made = layer.tensors[out].name + to_text(run.sharded.held[out]);
    outputs += (outputs.empty() ? "" : ", ") + made;
    for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
      if (layer.tensors[in].role != TensorRole::input) continue;
      if (layer.tensors[in].dims != layer.tensors[out].dims) continue;
      if (run.sharded.held[in] == run.sharded.held[out]) return;
      near = fmt::format("write {}{} to have it moved", layer.tensors[out].name,
                         to_text(run.sharded.held[in]));
    }
  }
  for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
    if (layer.tensors[in].role != TensorRole::input) continue;
    inputs += (inputs.empty() ? "" : ", ") + layer.tensors[in].name + to_text(run.sharded.held[in]);
  }
  problems.push_back(
      {spec.layers.given ? spec.layers.pos : spec.model_spec.pos,
       fmt::format(
           "expected {} layers that read what the one before them makes, found a layer that "
           "makes {} and reads {}",
           run.layers, outputs, inputs.empty() ? "no input" : inputs),
       near.empty() ? "write layers: 1, or give an output the dims of an input" : near});
}

bool has_dim(const ModelSpec& model, std::string_view name) {
  return std::any_of(model.dims.begin(), model.dims.end(),
                     [&](const AxisSpec& dim) { return dim.name == name; });
}

// Whether embedding and head are run. Appends a problem where they are asked for and cannot be.
bool runs_ends(const RunSpec& spec, std::vector<Problem>& problems) {
  const bool can = !spec.model_spec.inlined && has_dim(spec.model_spec, "V");
  if (!spec.ends.given) return can && !spec.layers.given;
  if (spec.ends.value && !can) {
    problems.push_back({spec.ends.pos,
                        spec.model_spec.inlined
                            ? "ends: expected a model, found statements in layer"
                            : fmt::format("ends: model {} states no size of V, the vocabulary",
                                          spec.model_spec.name),
                        ""});
  }
  return spec.ends.value && can;
}

// A preset that cuts arrays over the axis of the pipeline; false: there is one.
bool check_axis_free(const RunSpec& spec, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  if (!spec.schedule.given) return true;
  for (const PresetSpec& preset : spec.sharding) {
    for (const Chosen<std::string>& axis : preset.axes) {
      if (axis.value != spec.schedule.axis.value) continue;
      problems.push_back(
          {axis.pos,
           fmt::format("mesh axis {} is used by {} and by schedule", axis.value, preset.preset),
           "give each its own mesh axis"});
    }
  }
  return problems.size() == before;
}

// Every pass of a micro-batch through a stage is an operation at the least, and a schedule of them
// is made before operations can be counted.
constexpr double kMostPasses = 6e6;

bool too_many_passes(const RunSpec& spec, const MeshAxis& axis, int microbatches,
                     std::vector<Problem>& problems) {
  const double stages = static_cast<double>(axis.size) * std::max(1, spec.schedule.chunks.value);
  const double passes = 2.0 * microbatches * stages;
  if (passes <= kMostPasses) return false;
  problems.push_back(
      {spec.batch.global.pos,
       fmt::format(
           "expected at most {:.0f} passes of micro-batches through stages, found {:.0f}: {} "
           "micro-batches on {} stage{}, forward and backward",
           kMostPasses, passes, microbatches, stages, stages == 1 ? "" : "s"),
       "a smaller batch.global, or a larger batch.micro"});
  return true;
}

void plan_stages(const RunSpec& spec, const MeshAxis& axis, Prepared& run,
                 std::vector<Problem>& problems) {
  if (too_many_passes(spec, axis, run.batch.microbatches, problems)) return;
  const LayerTimes times = layer_times(tasks_of(run, run.rates), run.cluster, run.mesh);
  StepAsk ask;
  ask.layers = run.layers;
  ask.ends = !run.ends.empty();
  ask.microbatches = run.batch.microbatches;
  ask.layer_costs.forward = times.forward;
  ask.layer_costs.backward_input = times.backward_input;
  ask.layer_costs.backward_weight = times.backward_weight;
  ask.layer_costs.backward = times.backward_input + times.backward_weight;
  ask.layer_costs.overlapped = ask.layer_costs.forward + ask.layer_costs.backward;
  run.step = plan_step(spec.schedule, ask, axis, problems);
  run.boundary = make_boundary(run, run.mesh, run.precision, spec.schedule, problems);
}

}  // namespace

void cluster_problems(const RunSpec& spec, std::vector<Problem>& problems) {
  Cluster cluster = make_cluster_despite(spec.topology, problems);
  const WantedAlgorithms wanted(spec, problems);
  if (!cluster.axes.empty() && !spec.mesh.axes.empty()) place_mesh(spec.mesh, cluster, problems);
}

Prepared prepare(const RunSpec& spec) {
  PlanMemo memo;
  return prepare(spec, memo);
}

Prepared prepare(const RunSpec& spec, PlanMemo& memo) {
  std::vector<Problem> problems;
  Prepared run;
  run.link = link_figures(spec, problems);
  run.cluster = make_cluster(spec.topology, run.link, problems);
  run.rates = chip_rates(spec.chip_spec, spec.variant, spec.precision.activations, problems);
  run.precision = element_bytes(spec.precision);
  run.layers = spec.layers.given ? spec.layers.value : spec.model_spec.layers;
  if (spec.layers.given && spec.layers.value > spec.model_spec.layers) {
    problems.push_back(
        {spec.layers.pos,
         fmt::format("expected at most the {} layers of {}, found {}", spec.model_spec.layers,
                     spec.model_spec.name, spec.layers.value),
         ""});
  }
  const bool ends = runs_ends(spec, problems);
  run.optimizer = make_optimizer(spec.optimizer, ends, run.precision.optimizer, problems);
  const WantedAlgorithms wanted(spec, problems);
  if (!run.cluster.axes.empty()) run.mesh = place_mesh(spec.mesh, run.cluster, problems);
  if (run.mesh.axes.empty()) throw ConfigError(std::move(problems));
  const bool axis_free = check_axis_free(spec, problems);
  run.overlap = make_overlap(spec, run.mesh, problems);
  check_stages(spec.schedule, run.layers, ends, run.mesh, problems);

  const std::vector<ArrayExpr> stated = read_layer(spec, memo, run, problems);
  if (run.layer.statements.empty()) throw ConfigError(std::move(problems));

  take_apart(spec.sharding, run.layer, run.mesh, run.cluster);
  run.whole_mesh = run.mesh;
  const MeshAxis pipeline = take_pipeline_axis(spec.schedule, run.mesh, problems);
  if (!axis_free) throw ConfigError(std::move(problems));  // layouts would speak of it again
  run.recompute = find_recompute(spec.recompute.given ? spec.recompute.value : "none");
  must(run.recompute != nullptr, "the reader knows the rows of the table of recomputation");
  run.attention = find_attention(spec.attention.given ? spec.attention.value : "flash");
  must(run.attention != nullptr, "the reader knows the rows of the table of attention");
  run.dropout = spec.dropout.value;
  run.layouts = make_layouts(spec.sharding, ends ? tensors_of_ends(spec, false) : spec.tensors,
                             run.layer, run.mesh, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  apply_stated(stated, run.layer, run.mesh, run.layouts, problems);
  LayerPlanner planner(spec, wanted, memo, run, problems);
  planner.forward();
  require_stated_sums(run.layer, run.layouts, run.sharded, problems);
  check_layers_fit(spec, run, problems);
  check_sizes_used(spec.model_spec, run.layer, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  planner.backward();
  bool first = true;
  if (ends) {
    for (const EndRow& row : end_rows()) planner.end(row, first);
  }
  planner.say_unsuited();
  if (!problems.empty()) throw ConfigError(std::move(problems));
  plan_stages(spec, pipeline, run, problems);
  for (const ShardedCollective& gather : run.boundary.gather)
    run.boundary.choices.push_back(planner.pick(gather, problems));
  if (problems.empty()) check_overlap_needs(spec, run, problems);
  if (problems.empty()) check_memory_limit(spec, run, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return run;
}

}  // namespace shardsim
