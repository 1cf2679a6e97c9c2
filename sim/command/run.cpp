#include "command/run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/problem.h"
#include "base/progress.h"
#include "command/arguments.h"
#include "command/compare_overlap.h"
#include "command/terminal.h"
#include "command/what_if.h"
#include "plan/play.h"
#include "plan/step_flops.h"
#include "report/picture_svg.h"
#include "report/picture_text.h"
#include "report/reports.h"
#include "spec/load.h"

namespace shardsim {

namespace {

RunSpec load_with(const RunArguments& args) {
  std::vector<Override> overrides;
  for (const std::string& text : args.set) overrides.push_back({text});
  return load_run(args.file, overrides, cluster_problems);
}

// Figures for MFU and tokens/s: the nominal peak in the precision of the activations.
Workload workload_of(const RunSpec& spec, const Prepared& run) {
  Workload work;
  work.layers = run.layers;
  work.model_layers = spec.model_spec.layers;
  work.tokens = static_cast<double>(spec.batch.global.value) * spec.batch.length.value;
  const StepFlops flops = flops_of(run);
  work.model = flops.model;
  work.model_all_scores = flops.model_all_scores;
  work.head = flops.head;
  work.executed = flops.executed;
  work.executed_all_scores = flops.executed_all_scores;
  work.peak_name = spec.precision.activations.given ? spec.precision.activations.value : "bf16";
  work.memory = spec.memory_limit.given ? spec.memory_limit.value : spec.chip_spec.memory_capacity;
  for (const auto& [dtype, rate] : spec.chip_spec.peak) {
    if (dtype == work.peak_name) work.peak = rate;
  }
  return work;
}

}  // namespace

Run simulate(const RunSpec& spec, const Prepared& prepared, const Simulation& how) {
  return replay(spec, prepared, lower(spec, prepared, how.lowering), how);
}

Run replay(const RunSpec& spec, const Prepared& prepared, Lowered lowered, const Simulation& how) {
  Run run;
  run.name = spec.name.value;
  run.engine = how.engine->name;
  run.grain = how.lowering.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.workload = workload_of(spec, prepared);
  run.workload->training_tokens = how.tokens;
  run.timeline = how.engine->run(run.graph);
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

// Options that say nothing beside --compare, which prints one table and writes at most a picture.
void refuse_beside_compare(const RunArguments& args, std::vector<Problem>& problems) {
  if (args.compare.empty()) return;
  const std::vector<std::string> names = {"overlap"};
  if (args.compare != names.front()) {
    problems.push_back({argument_pos("--compare", args.compare),
                        fmt::format("expected overlap, found \"{}\"", args.compare),
                        suggestion(args.compare, names)});
  }
  const auto refuse = [&](bool given, const char* option, const std::string& text) {
    if (!given) return;
    problems.push_back({argument_pos(option, text),
                        fmt::format("expected no {} with --compare, found one", option), ""});
  };
  refuse(!args.out.empty(), "--out", args.out);
  refuse(args.gantt, "--gantt", "--gantt");
  refuse(!args.tokens.empty(), "--tokens", args.tokens);
  refuse(args.what_if, "--what-if", "--what-if");
}

// What the arguments say that is no part of the run file.
Simulation simulation_of(const RunArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  Simulation how;
  how.engine = engine_named(args.engine, problems);
  how.lowering = {grain_named(args.grain, problems), args.full};
  if (!args.tokens.empty()) {
    const Parsed<double> tokens = parse_factor(args.tokens, 0, 1e24);
    if (!tokens) {
      problems.push_back({argument_pos("--tokens", args.tokens),
                          fmt::format("expected a number of tokens such as 15e12, found \"{}\"",
                                      printable(args.tokens)),
                          ""});
    }
    how.tokens = tokens.value;
  }
  refuse_beside_compare(args, problems);
  if (args.gantt && args.format == "json") {
    problems.push_back({argument_pos("--gantt", "--gantt"),
                        "expected --gantt with --format text, found json", ""});
  }
  throw_if_any(problems);
  return how;
}

// A training takes whole models and sequences.
void require_whole_model(const RunArguments& args, const RunSpec& spec, const Prepared& run) {
  if (args.tokens.empty()) return;
  std::vector<Problem> problems;
  if (run.layers != spec.model_spec.layers) {
    problems.push_back({argument_pos("--tokens", args.tokens),
                        fmt::format("--tokens: expected a run of all {} layers of {}, found {}",
                                    spec.model_spec.layers, spec.model_spec.name, run.layers),
                        "leave layers: out of the run file"});
  }
  if (!spec.batch.global.given || !spec.batch.length.given) {
    problems.push_back({argument_pos("--tokens", args.tokens),
                        "--tokens: expected a batch of sequences, found none", ""});
  }
  throw_if_any(problems);
}

// Loaded, prepared, replayed and measured.
struct Done {
  RunSpec spec;
  Run run;
  Metrics metrics;
};

// `out`: a directory that must be writable before anything is simulated; empty: none.
Done do_run(const RunArguments& args, const Simulation& how, const std::string& out) {
  Done done{load_with(args), {}, {}};
  const Prepared prepared = prepare(done.spec);
  require_whole_model(args, done.spec, prepared);
  check_plans(args, prepared);
  if (!out.empty()) require_writable_directory(out);
  done.run = simulate(done.spec, prepared, how);
  if (args.check) done.run.plan.assumptions.push_back(kDelivers);
  done.metrics = measure(done.run);
  if (args.what_if) done.metrics.what_if = what_ifs(done.run, *how.engine);
  return done;
}

// The reports of a run as files.
struct Written {
  std::vector<OutputFile> files;
  std::vector<WrittenFile> names;  // of the files
  std::vector<std::string> stale;  // what an earlier run may have written, which would not belong
                                   // to this summary
  std::string left_out;            // lines that say what is not written, and why
};

void make_file(const ReportRow& row, const ReportSource& from, const std::string& out,
               Written& written) {
  std::string name(row.file);
  std::string content = row.write(from);
  std::string other = name + ".gz";
  if (row.most_bytes > 0 && content.size() > row.most_bytes) {
    content = gzip(content);
    std::swap(name, other);
  }
  if (row.most_bytes > 0) written.stale.push_back(out + "/" + other);
  written.files.push_back({out + "/" + name, std::move(content)});
  written.names.push_back({name, row.help});
}

Written make_files(const RunArguments& args, const Done& done, const std::string& out) {
  Written written;
  for (const ReportRow& row : reports()) {
    throw_if_interrupted();
    if (row.file.empty()) continue;
    if (row.most_operations > 0 && done.run.graph.size() > row.most_operations && !args.trace) {
      for (const char* end : {"", ".gz"})
        written.stale.push_back(fmt::format("{}/{}{}", out, row.file, end));
      written.left_out += fmt::format(
          "\nnot written: {}, for more than {} operations it is large; --trace writes it", row.file,
          row.most_operations);
      continue;
    }
    make_file(row, {done.run, done.metrics, args.command, written.names}, out, written);
  }
  return written;
}

Comparison compare(const RunArguments& args, const Simulation& how) {
  const RunSpec spec = load_with(args);
  check_plans(args, prepare(spec));
  return compare_overlap(spec, how, !args.svg.empty());
}

// What was written and what to do next.
std::string closing_lines(const RunArguments& args, const Run& run, const Written& written,
                          const std::string& out) {
  std::vector<std::string> names;
  for (const WrittenFile& file : written.names) names.push_back(file.name);
  std::string text = fmt::format("\nwrote {} in {}", fmt::join(names, ", "), out);
  if (!args.svg.empty()) text += ", and " + args.svg;
  text += written.left_out;
  if (!args.what_if && run.graph.size() > kSmallGraph) {
    text +=
        "\nfor the step without a cost, as if it were free: --what-if (done by itself for small "
        "runs)";
  }
  return fmt::format(
      "{}\nnext: open {}/index.html in a browser; change one thing with --set KEY=VALUE\n", text,
      out);
}

}  // namespace

void run_command(const RunArguments& args) {
  if (args.quiet) show_no_progress();
  const Simulation how = simulation_of(args);
  if (!args.svg.empty()) {
    const std::string folder = std::filesystem::path(args.svg).parent_path().string();
    require_writable_directory(folder.empty() ? "." : folder);
  }
  if (!args.compare.empty()) {
    const Comparison compared = compare(args, how);
    if (compared.picture) write_files({{args.svg, picture_svg(*compared.picture)}});
    print(args.format == "json" ? to_json(comparison_json(compared)) : comparison_text(compared));
    return;
  }
  const std::string out = args.out.empty()
                              ? "reports/out/" + std::filesystem::path(args.file).stem().string()
                              : args.out;
  Done done = do_run(args, how, out);
  if (!args.what_if && done.run.graph.size() <= kSmallGraph) {
    done.metrics.what_if = what_ifs(done.run, *how.engine);
  }
  Written written = make_files(args, done, out);
  if (!args.svg.empty())
    written.files.push_back({args.svg, picture_svg(picture_of(done.run, done.metrics))});
  write_files(written.files);
  for (const std::string& path : written.stale) std::filesystem::remove(path);
  if (args.format == "json") {
    print(to_json(summary_of(args, done.run, done.metrics)));
    return;
  }
  std::string text = run_table(done.run, done.metrics);
  if (args.gantt || (output_is_terminal() && !args.quiet))
    text += "\n" + picture_text(picture_of(done.run, done.metrics), look_of_output());
  print(text + (args.quiet ? "" : closing_lines(args, done.run, written, out)));
}

Json run_document(const RunArguments& args) {
  const Simulation how = simulation_of(args);
  if (!args.compare.empty()) return comparison_json(compare(args, how));
  const Done done = do_run(args, how, "");
  return summary_of(args, done.run, done.metrics);
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
      "{}: fine. {} on {} ({}), {} steps and {} collectives a layer, {}\n"
      "next: shardsim run {}\n",
      args.file, spec.model_spec.name, counted(run.cluster.devices(), "device", "devices"),
      run.cluster.text, run.sharded.steps.size(), collectives_of(run),
      counted(run.layers, "layer", "layers"), args.file));
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
