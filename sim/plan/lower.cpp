#include "plan/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "plan/lower_collective.h"
#include "plan/network_text.h"
#include "plan/overlap_needs.h"
#include "plan/step_lowering.h"

namespace shardsim {

namespace {

// In the order of LayerPlan::choices.
template <class Visit>
void for_each_collective(const LayerPlan& plan, Visit visit) {
  for (const ShardedStatement& step : plan.sharded.steps) {
    for (const auto* list : {&step.before, &step.after}) {
      for (const ShardedCollective& c : *list) visit(c);
    }
  }
}

// The calls of one kind of layer.
void append_calls(const LayerPlan& plan, const Mesh& mesh, std::vector<CollectiveCall>& calls) {
  std::size_t choice = 0;
  for_each_collective(plan, [&](const ShardedCollective& c) {
    calls.push_back(call_of(c, mesh));
    calls.back().algorithm = plan.choices[choice++].row;
  });
}

}  // namespace

std::vector<CollectiveCall> calls_of(const Prepared& run) {
  std::vector<CollectiveCall> calls;
  append_calls(run, run.mesh, calls);
  for (const LayerPlan& end : run.ends) append_calls(end, run.mesh, calls);
  for (std::size_t i = 0; i < run.boundary.gather.size(); ++i) {
    calls.push_back(call_of(run.boundary.gather[i], run.mesh));
    calls.back().algorithm = run.boundary.choices[i].row;
  }
  return calls;
}

namespace {

// A stage has its share of the classes of devices, and works off its layers for every micro-batch;
// links are there once.
double ops_of(const Prepared& run, const Fold& fold, Grain grain) {
  double every = fold.classes() * static_cast<double>(run.sharded.steps.size());
  double once = 0;
  std::size_t choice = 0;
  for_each_collective(run, [&](const ShardedCollective& c) {
    CollectiveCall call = call_of(c, run.mesh);
    call.algorithm = run.choices[choice++].row;
    (c.once_per_step ? once : every) += estimated_ops(call, run.cluster, fold, grain, 0);
  });
  every *= std::max(1, run.overlap.tiles);  // at most: each a product and a collective of its own
  return (every * run.batch.microbatches + once) / run.step.ranks() * run.layers +
         link_ops(run.cluster, fold, grain);
}

std::string batch_text(const BatchSpec& batch, const BatchSplit& split) {
  if (!batch.global.given || !batch.length.given) return "none: dims give every size";
  return fmt::format("{} sequence{} of {} tokens in {} micro-batch{}, {}", batch.global.value,
                     batch.global.value == 1 ? "" : "s", batch.length.value, split.microbatches,
                     split.microbatches == 1 ? "" : "es",
                     split.data_parallel == 1
                         ? "not cut"
                         : fmt::format("cut over {} devices", split.data_parallel));
}

// "1f1b, 16 ranks of axis P with 1 stage each, async transfers; layers 7, 8, …, 7"
std::string schedule_text(const std::string& kind, const StepPlan& step) {
  std::vector<int> layers;
  for (const std::vector<StageUnit>& stage : step.stages) {
    layers.push_back(static_cast<int>(
        std::count_if(stage.begin(), stage.end(), [](const StageUnit& u) { return u.kind == 0; })));
  }
  const bool even = std::equal(layers.begin() + 1, layers.end(), layers.begin());
  return fmt::format("{}, {} on {} along {}, {} transfers; {} a stage", kind,
                     counted(layers.size(), "stage", "stages"),
                     counted(step.ranks(), "rank", "ranks"), step.axis, to_text(step.mode),
                     even ? counted(layers.front(), "layer", "layers")
                          : fmt::format("{} layers", fmt::join(layers, ", ")));
}

std::string model_text(const RunSpec& spec, const Prepared& run) {
  std::string text =
      fmt::format("{}, {} of {} layers, {:.4g} parameters a layer", spec.model_spec.name,
                  run.layers, spec.model_spec.layers, run.layer.parameters());
  for (const LayerPlan& end : run.ends) text += ", " + end.kind;
  return text;
}

// What of a step is not run.
std::string left_out(const Prepared& run) {
  if (run.ends.empty() && !run.optimizer.runs)
    return "embedding, head, loss and optimizer are left out";
  if (run.ends.empty()) return "embedding, head and loss are left out";
  return run.optimizer.runs ? "" : "the optimizer is left out";
}

}  // namespace

Facts facts_of(const RunSpec& spec, const Prepared& run) {
  Facts facts;
  facts.emplace_back("cluster", fmt::format("{} x {}, {}", run.cluster.devices(),
                                            spec.chip_spec.name, network_text(run.cluster)));
  std::vector<std::string> mesh;
  for (const MeshAxis& axis : run.whole_mesh.axes) {
    std::vector<std::string> spans;
    for (const int a : axis.axes)
      spans.push_back(run.cluster.axes[static_cast<std::size_t>(a)].name);
    mesh.push_back(fmt::format("{} = {}{}", axis.name, axis.size,
                               spans.empty() ? "" : fmt::format(" ({})", fmt::join(spans, ", "))));
  }
  facts.emplace_back("mesh", fmt::format("{}", fmt::join(mesh, "; ")));
  facts.emplace_back("model", model_text(spec, run));
  facts.emplace_back("batch", batch_text(spec.batch, run.batch));
  std::vector<std::string> presets;
  for (const PresetSpec& preset : spec.sharding) {
    std::vector<std::string> axes;
    for (const Chosen<std::string>& axis : preset.axes) axes.push_back(axis.value);
    if (preset.flag.given && !preset.flag.value) continue;
    presets.push_back(axes.empty()
                          ? preset.preset
                          : fmt::format("{} over {}", preset.preset, fmt::join(axes, ", ")));
  }
  if (spec.model_spec.inlined) presets.push_back("the layouts in its statements");
  if (!spec.tensors.empty()) presets.push_back("the layouts in tensors");
  facts.emplace_back(
      "sharding", presets.empty() ? "nothing is cut" : fmt::format("{}", fmt::join(presets, ", ")));
  if (spec.schedule.given)
    facts.emplace_back("schedule",
                       schedule_text(spec.schedule.kind.given ? spec.schedule.kind.value
                                                              : spec.schedule.file.value,
                                     run.step));
  if (run.optimizer.runs)
    facts.emplace_back(
        "optimizer", fmt::format("adam, {} bytes a parameter", run.optimizer.gradients ? 16 : 10));
  return facts;
}

Fold fold_of(const Prepared& run, const LowerOptions& options) {
  Fold fold = options.full ? Fold::full(run.cluster)
                           : common_fold(run.cluster, calls_of(run), options.grain);
  for (const int axis : run.step.axes) {  // ranks of a pipeline do not do alike
    const auto a = static_cast<std::size_t>(axis);
    fold.step[a] = run.cluster.axes[a].size;
  }
  return fold;
}

Lowered lower(const RunSpec& spec, const Prepared& run, const LowerOptions& options) {
  Lowered result;
  Plan& plan = result.plan;
  plan.cluster = run.cluster;
  plan.mesh = run.whole_mesh;
  plan.layer = run.sharded;
  plan.fold = fold_of(run, options);
  const char* const fewer = "devices, layers or micro-batches";
  const auto ops_if = [&](bool full, Grain grain) {
    return ops_of(run, fold_of(run, {grain, full}), grain);
  };
  const double ops = ops_of(run, plan.fold, options.grain);
  refuse_too_many_ops(ops, smaller_replays(options.full, options.grain, fewer, ops_if),
                      spec.topology.pos, fewer);
  result.graph = lower_step(run, plan, options.grain, ops);
  plan.facts = facts_of(spec, run);
  plan.assumptions = assumptions_of(spec, run, options);
  return result;
}

namespace {

// What the device's memory is counted to hold.
std::string memory_text(const Prepared& run) {
  const double weights = run.precision.weights, gradients = run.precision.gradients;
  return fmt::format(
      "memory: {} bytes a parameter ({} weights, {} gradients, {} optimizer state), whole weights "
      "while they are used, activations until their last reader ({}{}); kernels' workspaces and "
      "fragmentation are not counted",
      weights + gradients + run.optimizer.state, weights,
      run.optimizer.gradients ? fmt::format("{}", gradients)
                              : fmt::format("{} until the update", gradients),
      run.optimizer.state,
      run.attention->forward.products > 0 ? "scores of attention are kept"
                                          : "attention keeps no scores",
      run.dropout ? ", and masks of dropout" : "");
}

// Whether no matmul of the layer is cut over the axis.
bool idle(const ShardedLayer& layer, const std::string& axis) {
  return std::all_of(layer.steps.begin(), layer.steps.end(), [&](const ShardedStatement& step) {
    const std::vector<std::string>& axes = step.idle_axes;
    return !step.matmul || std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
}

// What a causal mask leaves the devices that cut a sequence; "" where they have as much.
std::string imbalance_text(const Prepared& run) {
  double most = 1;
  for (const ShardedStatement& step : run.sharded.steps) most = std::max(most, step.imbalance);
  if (most == 1) return "";
  return fmt::format(
      "sequences are cut in order: of causal attention the last device computes {:.4g} times the "
      "mean, and all wait for it (zigzag evens it out)",
      most);
}

}  // namespace

std::vector<std::string> assumptions_of(const RunSpec& spec, const Prepared& run,
                                        const LowerOptions& options) {
  std::vector<std::string> said;
  std::vector<int> all_axes;
  for (std::size_t i = 0; i < run.cluster.axes.size(); ++i) all_axes.push_back(static_cast<int>(i));
  const auto& levels = run.cluster.levels;
  const bool nominal = std::all_of(levels.begin(), levels.end(),
                                   [](const Level& level) { return level.efficiency == 1; });
  const GroupNet net = group_net(run.cluster, all_axes);
  said.push_back(bandwidth_convention(net) + (net.axes.empty() ? ""
                                              : nominal        ? ", nominal"
                                                               : ", efficiency included"));
  const bool none = std::all_of(levels.begin(), levels.end(),
                                [](const Level& level) { return level.latency == Seconds{}; });
  said.push_back(none ? "latency 0: none was given"
                      : "the latency of a level is waited before each message");
  const std::string dtype =
      spec.precision.activations.given ? spec.precision.activations.value : "bf16";
  said.push_back(fmt::format("compute is a roofline: {}, chip figures {}",
                             rates_text(run.rates, dtype),
                             spec.variant.given ? "of variant " + spec.variant.value : "nominal"));
  for (const std::string& text : overlap_texts(run.overlap)) said.push_back(text);
  for (const std::string& name : shares_without_effect(run)) {
    said.push_back(fmt::format(
        "overlap.sm_share of {} changes nothing: no device computes while they run", name));
  }
  for (const MeshAxis& axis : run.mesh.axes) {
    if (axis.size > 1 && idle(run.sharded, axis.name)) {
      said.push_back(fmt::format("mesh axis {} cuts no matmul: its {} devices repeat the same work",
                                 axis.name, axis.size));
    }
  }
  said.push_back(fmt::format("attention {}: {}; the backward pass is twice the forward",
                             run.attention->name, run.attention->help));
  const std::string unlike = imbalance_text(run);
  if (!unlike.empty()) said.push_back(unlike);
  said.push_back(fmt::format(
      "recompute {}: {}{}", run.recompute->name, run.recompute->help,
      run.recompute->kinds.empty() ? "" : "; model FLOPs and MFU do not count what is repeated"));
  const std::string missing = left_out(run);
  if (!missing.empty()) {
    said.push_back(fmt::format("{} layer{} of {}: {}", run.layers, run.layers == 1 ? "" : "s",
                               spec.model_spec.layers, missing));
  }
  said.push_back(
      "MFU counts model FLOPs (3 x forward, unpadded; the lookup of an embedding is none) against "
      "the "
      "nominal peak of the chip");
  said.emplace_back(assumption(options.grain));
  for (const AxisParts& axis : run.mesh.apart) {
    std::vector<std::string> parts;
    for (const std::string& part : axis.parts) {
      parts.push_back(fmt::format("{} = {}", part, run.mesh.size_of(run.mesh.resolve(part))));
    }
    said.push_back(fmt::format(
        "mesh axis {} is taken apart into {}: dims with fewer rows than devices are cut over the "
        "first and copied along the rest",
        axis.axis, fmt::join(parts, " and ")));
  }
  for (const std::string& warning : run.sharded.warnings) said.push_back(warning);
  for (const std::string& padding : run.sharded.padding) said.push_back("padding: " + padding);
  for (const AlgorithmSpec& entry : spec.collectives) {
    said.push_back(
        fmt::format("{}: algorithm {}, as asked for", entry.kind, entry.algorithm.value));
  }
  if (spec.collectives.empty())
    said.push_back("collective algorithms: the smallest closed form of those that suit");
  for (const AlgorithmChoice& choice : run.choices) say_assumption(choice.row, said);
  said.push_back(memory_text(run));
  return said;
}

}  // namespace shardsim
