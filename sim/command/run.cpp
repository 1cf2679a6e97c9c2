#include "command/run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/problem.h"
#include "command/arguments.h"
#include "plan/play.h"
#include "report/reports.h"
#include "spec/load.h"

namespace shardsim {

namespace {

RunSpec load_with(const RunArguments& args) {
  std::vector<Override> overrides;
  for (const std::string& text : args.set) overrides.push_back({text});
  return load_run(args.file, overrides);
}

// Figures for MFU and tokens/s: the nominal peak in the precision of the activations.
Workload workload_of(const RunSpec& spec, const Prepared& run) {
  Workload work;
  work.layers = run.layers;
  work.model_layers = spec.model_spec.layers;
  work.tokens = static_cast<double>(spec.batch.global.value) * spec.batch.length.value;
  work.model_flops =
      run.sharded.model_flops * (static_cast<double>(run.layers) * run.batch.microbatches);
  work.peak_name = spec.precision.activations.given ? spec.precision.activations.value : "bf16";
  work.memory = spec.memory_limit.given ? spec.memory_limit.value : spec.chip_spec.memory_capacity;
  for (const auto& [dtype, rate] : spec.chip_spec.peak) {
    if (dtype == work.peak_name) work.peak = rate;
  }
  return work;
}

}  // namespace

Run simulate(const RunSpec& spec, const Prepared& prepared, const LowerOptions& options,
             const EngineRow& engine) {
  Lowered lowered = lower(spec, prepared, options);
  Run run;
  run.name = spec.name.value;
  run.engine = engine.name;
  run.grain = options.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.workload = workload_of(spec, prepared);
  run.timeline = engine.run(run.graph);
  return run;
}

namespace {

// --check: the plans of the run's collectives deliver.
void check_plans(const RunArguments& args, const Prepared& prepared) {
  if (!args.check) return;
  require_delivery(prepared.cluster, calls_of(prepared), argument_pos("run", args.file));
}

Json summary_of(const RunArguments& args, const Run& run, const Metrics& metrics) {
  Json summary = run_summary(run, metrics);
  if (args.check) std::get<Object>(summary.data).emplace_back("delivers", true);
  return summary;
}

// The choices among the arguments that are no part of the run file.
struct Choices {
  const EngineRow* engine = nullptr;
  LowerOptions options;
};

Choices choices_of(const RunArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const EngineRow* engine = engine_named(args.engine, problems);
  const Grain grain = grain_named(args.grain, problems);
  throw_if_any(problems);
  return {engine, {grain, args.full}};
}

}  // namespace

void run_command(const RunArguments& args) {
  const Choices choices = choices_of(args);
  const RunSpec spec = load_with(args);
  const Prepared prepared = prepare(spec);
  check_plans(args, prepared);
  const std::string out = args.out.empty()
                              ? "reports/out/" + std::filesystem::path(args.file).stem().string()
                              : args.out;
  require_writable_directory(out);

  Run run = simulate(spec, prepared, choices.options, *choices.engine);
  if (args.check) run.plan.assumptions.push_back(kDelivers);
  const Metrics metrics = measure(run);
  std::vector<OutputFile> files;
  for (const ReportRow& row : reports()) {
    throw_if_interrupted();
    if (!row.file.empty())
      files.push_back({out + "/" + std::string(row.file), row.write(run, metrics)});
  }
  write_files(files);
  if (args.format == "json") {
    print(to_json(summary_of(args, run, metrics)));
    return;
  }
  std::string text = run_table(run, metrics) + "\nwrote";
  for (const OutputFile& file : files) {
    text += fmt::format(" {} ({})", file.path,
                        to_text(Bytes{static_cast<double>(file.content.size())}));
  }
  print(text +
        "\nnext: open trace.json in ui.perfetto.dev; change one thing with --set KEY=VALUE\n");
}

Json run_document(const RunArguments& args) {
  const Choices choices = choices_of(args);
  const RunSpec spec = load_with(args);
  const Prepared prepared = prepare(spec);
  check_plans(args, prepared);
  const Run run = simulate(spec, prepared, choices.options, *choices.engine);
  return summary_of(args, run, measure(run));
}

namespace {

std::size_t collectives_of(const Prepared& run) {
  std::size_t collectives = 0;
  for (const ShardedStatement& step : run.sharded.steps)
    collectives += step.before.size() + step.after.size();
  return collectives;
}

}  // namespace

void check_command(const RunArguments& args) {
  const RunSpec spec = load_with(args);
  const Prepared run = prepare(spec);
  print(fmt::format(
      "{}: fine. {} on {} devices ({}), {} steps and {} collectives a layer, {} layer{}\n"
      "next: shardsim run {}\n",
      args.file, spec.model_spec.name, run.cluster.devices(), run.cluster.text,
      run.sharded.steps.size(), collectives_of(run), run.layers, run.layers == 1 ? "" : "s",
      args.file));
}

Json check_document(const RunArguments& args) {
  const RunSpec spec = load_with(args);
  const Prepared run = prepare(spec);
  return Object{{"schema", kSchema},
                {"model", spec.model_spec.name},
                {"devices", run.cluster.devices()},
                {"topology", run.cluster.text},
                {"steps", static_cast<std::int64_t>(run.sharded.steps.size())},
                {"collectives", static_cast<std::int64_t>(collectives_of(run))},
                {"layers", run.layers}};
}

}  // namespace shardsim
