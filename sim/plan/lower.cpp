#include "plan/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "plan/graph_builder.h"
#include "plan/lower_collective.h"
#include "plan/network_text.h"

namespace shardsim {

namespace {

// Where in the step an instance of the layer stands.
struct Place {
  int layer = 0;
  int microbatch = 0;
  bool last_microbatch = true;
};

class StepLowering {
 public:
  StepLowering(const Prepared& run, Plan& plan, Grain grain)
      : run_(run), plan_(plan), builder_(plan.cluster, plan.fold), collectives_(builder_, grain) {
    const std::uint32_t origin = builder_.origin({.name = "start", .stream = "start"});
    for (const DeviceId device : plan.fold.representatives(plan.cluster)) {
      speed_.push_back(plan.cluster.speed_of(device));
    }
    latest_.assign(static_cast<std::size_t>(plan.fold.classes()), builder_.join({}, 0, origin));
    std::size_t next = 0;
    for (const ShardedStatement& step : run.sharded.steps) {
      first_choice_.push_back(next);
      next += step.before.size() + step.after.size();
    }
  }

  void pass(Pass which, const Place& place) {
    for (std::size_t s = 0; s < run_.sharded.steps.size(); ++s) {
      const ShardedStatement& step = run_.sharded.steps[s];
      if (step.pass != which) continue;
      std::size_t choice = first_choice_[s];
      for (const ShardedCollective& c : step.before)
        communicate(c, run_.choices[choice++], which, place);
      compute(step, place);
      for (const ShardedCollective& c : step.after)
        communicate(c, run_.choices[choice++], which, place);
    }
  }

  OpGraph take() { return builder_.take(); }

 private:
  void compute(const ShardedStatement& step, const Place& place) {
    Op op;
    op.kind = OpKind::compute;
    op.seconds = cost(step, run_.rates);
    if (op.seconds == Seconds{0}) return;
    op.origin = builder_.origin({.name = step.text,
                                 .stream = "compute",
                                 .layer = place.layer,
                                 .microbatch = place.microbatch,
                                 .pass = step.pass});
    const Seconds usual = op.seconds;
    for (std::uint32_t device = 0; device < latest_.size(); ++device) {
      op.device = device;
      op.seconds = usual / speed_[device];
      latest_[device] = builder_.add(op, {&latest_[device], 1});
    }
  }

  void communicate(const ShardedCollective& collective, const AlgorithmChoice& choice, Pass pass,
                   const Place& place) {
    throw_if_interrupted();
    if (collective.once_per_step && !place.last_microbatch) return;
    CollectiveCall call = call_of(collective, run_.mesh);
    call.algorithm = choice.row;
    CollectiveInstance instance = describe_call(call, plan_.cluster, collective.axes);
    instance.tensor = collective.tensor;
    instance.case_text = collective.case_text;
    instance.reason = collective.reason;
    instance.alternatives = collective.alternatives;
    instance.pass = pass;
    instance.layer = place.layer;
    const std::string axes = fmt::format("{}", fmt::join(collective.axes, ","));
    const std::uint32_t origin = builder_.origin(
        {.name = fmt::format("{} {} over {}", to_text(collective.kind), collective.tensor, axes),
         .stream = axes,
         .layer = place.layer,
         .microbatch = place.microbatch,
         .pass = pass,
         .collective = static_cast<int>(plan_.collectives.size())});
    CollectiveLowering::Bracket bracket = collectives_.lower(call, origin, latest_);
    instance.begin = std::move(bracket.begin);
    instance.end = std::move(bracket.end);
    plan_.collectives.push_back(std::move(instance));
  }

  const Prepared& run_;
  Plan& plan_;
  GraphBuilder builder_;
  CollectiveLowering collectives_;
  std::vector<OpId> latest_;               // [device classes]
  std::vector<double> speed_;              // [device classes] of compute
  std::vector<std::size_t> first_choice_;  // [steps] into Prepared::choices
};

}  // namespace

std::vector<CollectiveCall> calls_of(const Prepared& run) {
  std::vector<CollectiveCall> calls;
  std::size_t choice = 0;
  for (const ShardedStatement& step : run.sharded.steps) {
    for (const auto* list : {&step.before, &step.after}) {
      for (const ShardedCollective& c : *list) {
        calls.push_back(call_of(c, run.mesh));
        calls.back().algorithm = run.choices[choice++].row;
      }
    }
  }
  return calls;
}

namespace {

double ops_of(const Prepared& run, const Fold& fold, Grain grain) {
  double ops = fold.classes() * static_cast<double>(run.sharded.steps.size());
  for (const CollectiveCall& call : calls_of(run)) {
    ops += estimated_ops(call, run.cluster, fold, grain);
  }
  return ops * run.layers * run.batch.microbatches;
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

}  // namespace

Facts facts_of(const RunSpec& spec, const Prepared& run) {
  Facts facts;
  facts.emplace_back("cluster", fmt::format("{} x {}, {}", run.cluster.devices(),
                                            spec.chip_spec.name, network_text(run.cluster)));
  std::vector<std::string> mesh;
  for (const MeshAxis& axis : run.mesh.axes) {
    std::vector<std::string> spans;
    for (const int a : axis.axes)
      spans.push_back(run.cluster.axes[static_cast<std::size_t>(a)].name);
    mesh.push_back(fmt::format("{} = {} ({})", axis.name, axis.size, fmt::join(spans, ", ")));
  }
  facts.emplace_back("mesh", fmt::format("{}", fmt::join(mesh, "; ")));
  facts.emplace_back(
      "model", fmt::format("{}, {} of {} layers, {:.4g} parameters a layer", spec.model_spec.name,
                           run.layers, spec.model_spec.layers, run.layer.parameters()));
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
  return facts;
}

Lowered lower(const RunSpec& spec, const Prepared& run, const LowerOptions& options) {
  Lowered result;
  Plan& plan = result.plan;
  plan.cluster = run.cluster;
  plan.mesh = run.mesh;
  plan.layer = run.sharded;
  plan.fold = options.full ? Fold::full(run.cluster)
                           : common_fold(run.cluster, calls_of(run), options.grain);
  refuse_too_many_ops(ops_of(run, plan.fold, options.grain), options.full, options.grain,
                      spec.topology.pos);
  StepLowering lowering(run, plan, options.grain);
  for (int mb = 0; mb < run.batch.microbatches; ++mb) {
    const bool last = mb + 1 == run.batch.microbatches;
    for (int l = 0; l < run.layers; ++l) lowering.pass(Pass::forward, {l, mb, last});
    for (int l = run.layers; l-- > 0;) lowering.pass(Pass::backward, {l, mb, last});
  }
  result.graph = lowering.take();
  plan.facts = facts_of(spec, run);
  plan.assumptions = assumptions_of(spec, run, options);
  return result;
}

namespace {

// Whether no matmul of the layer is cut over the axis.
bool idle(const ShardedLayer& layer, const std::string& axis) {
  return std::all_of(layer.steps.begin(), layer.steps.end(), [&](const ShardedStatement& step) {
    const std::vector<std::string>& axes = step.idle_axes;
    return !step.matmul || std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
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
  said.push_back(bandwidth_convention(group_net(run.cluster, all_axes)) +
                 (nominal ? ", nominal" : ", efficiency included"));
  const bool none = std::all_of(levels.begin(), levels.end(),
                                [](const Level& level) { return level.latency == Seconds{}; });
  said.push_back(none ? "latency 0: none was given"
                      : "the latency of a level is waited before each message");
  const std::string dtype =
      spec.precision.activations.given ? spec.precision.activations.value : "bf16";
  said.push_back(fmt::format("compute is a roofline: {}, chip figures {}",
                             rates_text(run.rates, dtype),
                             spec.variant.given ? "of variant " + spec.variant.value : "nominal"));
  said.push_back("nothing overlaps: every collective is exposed");
  for (const MeshAxis& axis : run.mesh.axes) {
    if (axis.size > 1 && idle(run.sharded, axis.name)) {
      said.push_back(fmt::format("mesh axis {} cuts no matmul: its {} devices repeat the same work",
                                 axis.name, axis.size));
    }
  }
  said.push_back(
      "causal attention counts half of its scores; the backward pass is twice the forward");
  said.push_back(fmt::format(
      "recompute {}: {}{}", run.recompute->name, run.recompute->help,
      run.recompute->kinds.empty() ? "" : "; model FLOPs and MFU do not count what is repeated"));
  said.push_back(
      fmt::format("only the {} layer{}: embedding, head, loss and optimizer step are left out",
                  run.layers, run.layers == 1 ? "" : "s"));
  said.push_back(
      "MFU counts model FLOPs (3 x forward, unpadded) against the nominal peak of the chip");
  said.push_back(options.grain == Grain::fluid
                     ? "fluid grain: a collective is one transfer per port; exact when nothing "
                       "else touches the port "
                       "or latency is 0"
                     : "flow grain: every message is a flow; links are shared max-min fairly");
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
  said.push_back(
      "not known yet, null in summary.json: memory (peak_memory_bytes, fits_memory; so "
      "precision.optimizer has no effect) and pipeline bubbles (bubble_fraction)");
  return said;
}

}  // namespace shardsim
