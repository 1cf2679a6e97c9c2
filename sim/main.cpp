// The command line. Every command reads its arguments, calls the stages in data order (load, prepare,
// lower, replay, measure, report) and prints. Exit status: 0 done; 1 the machine refused; 2 the input
// is wrong; 3 a check failed; 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/problem.h"
#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "plan/lower.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/reports.h"
#include "report/schema.h"
#include "spec/load.h"

namespace shardsim {
namespace {

// ---- output --------------------------------------------------------------------------------------

// Standard output, or an exception: a full disk must not look like success.
void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output: cannot be written");
  }
}

std::string rows_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    int column = 0;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], width[i]);
      column += static_cast<int>(width[i]) + 2;
    }
    text += line + wrapped(row.back(), 100, std::min(column, 60)) + "\n";
  }
  return text;
}

// ---- arguments that several commands take -------------------------------------------------------

std::string words(const std::vector<std::string>& names) { return joined_or(names); }

template <class Row>
std::vector<std::string> names_of(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

const EngineRow* engine_named(const std::string& name, std::vector<Problem>& problems) {
  for (const EngineRow& row : engines()) {
    if (row.name == name) return &row;
  }
  problems.push_back({argument_pos("--engine", name), fmt::format("expected an engine, found \"{}\"", name),
                      suggestion(name, names_of(engines()))});
  return nullptr;
}

Grain grain_named(const std::string& name, std::vector<Problem>& problems) {
  for (const Grain grain : {Grain::flow, Grain::fluid}) {
    if (to_text(grain) == name) return grain;
  }
  const std::vector<std::string> names = {"flow", "fluid"};
  problems.push_back({argument_pos("--grain", name), fmt::format("expected a grain, found \"{}\"", name),
                      suggestion(name, names)});
  return Grain::flow;
}

void require_format(const std::string& format, std::vector<Problem>& problems) {
  const std::vector<std::string> names = {"text", "json"};
  if (std::find(names.begin(), names.end(), format) != names.end()) return;
  problems.push_back({argument_pos("--format", format), fmt::format("expected a format, found \"{}\"", format),
                      suggestion(format, names)});
}

template <class T>
T quantity(const char* option, const std::string& text, Parsed<T> (*parse)(std::string_view),
           std::vector<Problem>& problems) {
  const Parsed<T> parsed = parse(text);
  if (!parsed) problems.push_back({argument_pos(option, text), parsed.error, ""});
  return parsed.value;
}

void throw_if_any(std::vector<Problem>& problems) {
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

// ---- collective ----------------------------------------------------------------------------------

struct CollectiveArguments {
  std::string kind, topology, bandwidth, latency = "0", bytes, bytes_per_rank, algorithm = "auto", over;
  std::string grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> beside;
  int shift = 1;
  bool full = false;
};

Collective kind_named(const char* option, const std::string& name, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const Collective kind : collective_kinds()) {
    if (to_text(kind) == name) return kind;
    names.emplace_back(to_text(kind));
  }
  problems.push_back({argument_pos(option, name), fmt::format("expected a collective, found \"{}\"", name),
                      suggestion(name, names)});
  return Collective::all_gather;
}

std::vector<int> axes_named(const std::string& over, const Cluster& cluster, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  std::vector<int> all;
  for (const Axis& axis : cluster.axes) {
    all.push_back(static_cast<int>(names.size()));
    names.push_back(axis.name);
  }
  if (over.empty()) return all;
  std::vector<int> axes;
  const SourcePos pos = argument_pos("--over", over);
  std::size_t from = 0;
  while (from <= over.size()) {
    const std::size_t comma = std::min(over.find(',', from), over.size());
    const std::string name = over.substr(from, comma - from);
    const auto at = std::find(names.begin(), names.end(), name);
    const SourcePos here = pos.at(static_cast<int>(from), std::max(1, static_cast<int>(name.size())));
    if (at == names.end()) {
      problems.push_back({here, fmt::format("expected an axis of {}, found \"{}\"", cluster.text, name),
                          suggestion(name, names)});
    } else {
      const int axis = static_cast<int>(at - names.begin());
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
        problems.push_back({here, fmt::format("axis {} is named twice", name), ""});
      }
      axes.push_back(axis);
    }
    from = comma + 1;
  }
  return axes;
}

// V from the bytes of one rank: its shard of an all-gather, its whole array of a reduction, its send
// buffer of an all-to-all (the size that nccl-tests prints).
Bytes from_rank(Collective kind, Bytes per_rank, int ranks) {
  const bool whole = kind == Collective::reduce_scatter || kind == Collective::all_reduce;
  return whole ? per_rank : per_rank * ranks;
}

std::vector<std::string> collective_assumptions(const CollectiveRequest& request, const std::string& per_rank) {
  std::vector<std::string> said;
  const Port& port = request.cluster.ports.front();
  said.push_back(fmt::format("every directed link of {} has {} and latency {}", request.cluster.text,
                             to_text(port.bandwidth), to_text(port.latency)));
  said.push_back("V is the gathered array (all-gather), the unreduced array of one device (reduce-scatter, "
                 "all-reduce), the whole array over the group (all-to-all, collective-permute)");
  if (!per_rank.empty()) said.push_back("V was computed from --bytes-per-rank " + per_rank);
  said.push_back(request.grain == Grain::fluid
                     ? "fluid grain: a collective is one transfer per port; exact when nothing else touches the port "
                       "or latency is 0"
                     : "flow grain: every message is a flow; links are shared max-min fairly");
  said.push_back(request.full ? "nothing folded: every device replayed"
                              : "folded by symmetry: one class of devices stands for all (--full replays each)");
  said.push_back("all groups of the axes run at once; reduction arithmetic and software overhead cost nothing");
  return said;
}

void collective_command(const CollectiveArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const EngineRow* engine = engine_named(args.engine, problems);
  CollectiveRequest request;
  request.grain = grain_named(args.grain, problems);
  request.full = args.full;
  TopologySpec topology = parse_topology(args.topology, argument_pos("--topology", args.topology), problems);
  LinkFigures link;
  link.bandwidth = quantity("--bandwidth", args.bandwidth, parse_bandwidth, problems);
  link.latency = quantity("--latency", args.latency, parse_seconds, problems);
  if (link.bandwidth == BytesPerSec{0} && problems.empty()) {
    problems.push_back({argument_pos("--bandwidth", args.bandwidth), "expected a bandwidth above 0, found 0", ""});
  }
  if (args.bytes.empty() == args.bytes_per_rank.empty()) {
    problems.push_back({argument_pos("collective", args.kind),
                        "expected either --bytes or --bytes-per-rank, found " +
                            std::string(args.bytes.empty() ? "neither" : "both"),
                        "for example --bytes 64MiB"});
  }
  const char* size_option = args.bytes.empty() ? "--bytes-per-rank" : "--bytes";
  const std::string& size_text = args.bytes.empty() ? args.bytes_per_rank : args.bytes;
  const Bytes size = size_text.empty() ? Bytes{} : quantity(size_option, size_text, parse_bytes, problems);
  std::vector<std::pair<Collective, SourcePos>> kinds = {
      {kind_named("collective", args.kind, problems), argument_pos("--algorithm", args.algorithm)}};
  for (const std::string& name : args.beside) {
    kinds.push_back({kind_named("--beside", name, problems), argument_pos("--beside", name)});
  }
  if (!topology.kind.value.empty()) request.cluster = make_cluster(topology, link, problems);
  throw_if_any(problems);

  const std::vector<int> axes = axes_named(args.over, request.cluster, problems);
  throw_if_any(problems);
  const GroupNet net = group_net(request.cluster, axes);
  std::vector<std::string> reasons;
  double ops = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& [kind, pos] = kinds[i];
    CollectiveCall call{{kind, size, args.shift}, nullptr, axes};
    if (!args.bytes_per_rank.empty()) call.ask.bytes = from_rank(kind, size, net.ranks());
    // --algorithm is for the first collective; those beside it choose their own.
    const AlgorithmChoice choice = pick_algorithm(i == 0 ? args.algorithm : "auto", call.ask, net, pos, problems);
    call.algorithm = choice.row;
    reasons.push_back(choice.reason);
    ops += estimated_ops(call, request.cluster, args.full ? Fold::full(request.cluster) : Fold::orbits(request.cluster));
    request.calls.push_back(std::move(call));
  }
  throw_if_any(problems);
  refuse_too_many_ops(ops, args.full, argument_pos("--topology", args.topology));

  Lowered lowered = lower_collectives(request);
  for (std::size_t i = 0; i < reasons.size(); ++i) lowered.plan.collectives[i].reason = reasons[i];
  lowered.plan.assumptions = collective_assumptions(request, args.bytes_per_rank);
  Run run;
  run.name = args.kind;
  run.engine = engine->name;
  run.grain = request.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.timeline = engine->run(run.graph);
  const Metrics metrics = measure(run);
  print(args.format == "json" ? to_json(collective_summary(run, metrics)) : collective_table(run, metrics));
}

// ---- run, check ----------------------------------------------------------------------------------

struct RunArguments {
  std::string file, out, grain = "flow", engine = "simgrid", format = "text";
  std::vector<std::string> set;
  bool full = false;
};

RunSpec load_with(const RunArguments& args) {
  std::vector<Override> overrides;
  for (const std::string& text : args.set) overrides.push_back({text});
  return load_run(args.file, overrides);
}

// Figures for MFU and tokens/s: the nominal peak in the precision of the activations.
Workload workload_of(const RunSpec& spec, const Prepared& run) {
  Workload work;
  work.tokens = static_cast<double>(spec.batch.global.value) * spec.batch.length.value;
  work.model_flops = run.sharded.model_flops * (static_cast<double>(run.layers) * run.batch.microbatches);
  work.peak_name = spec.precision.activations.given ? spec.precision.activations.value : "bf16";
  for (const auto& [dtype, rate] : spec.chip_spec.peak) {
    if (dtype == work.peak_name) work.peak = rate;
  }
  return work;
}

Run simulate(const RunSpec& spec, const Prepared& prepared, const LowerOptions& options, const EngineRow& engine) {
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

void run_command(const RunArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const EngineRow* engine = engine_named(args.engine, problems);
  const Grain grain = grain_named(args.grain, problems);
  throw_if_any(problems);
  const RunSpec spec = load_with(args);
  const Prepared prepared = prepare(spec);
  const std::string out =
      args.out.empty() ? "reports/out/" + std::filesystem::path(args.file).stem().string() : args.out;
  require_writable_directory(out);

  const Run run = simulate(spec, prepared, {grain, args.full}, *engine);
  const Metrics metrics = measure(run);
  std::vector<OutputFile> files;
  for (const ReportRow& row : reports()) {
    throw_if_interrupted();
    if (!row.file.empty()) files.push_back({out + "/" + std::string(row.file), row.write(run, metrics)});
  }
  write_files(files);
  if (args.format == "json") {
    print(to_json(run_summary(run, metrics)));
    return;
  }
  std::string text = run_table(run, metrics) + "\nwrote";
  for (const OutputFile& file : files) text += " " + file.path;
  print(text + "\n");
}

void check_command(const RunArguments& args) {
  const RunSpec spec = load_with(args);
  const Prepared run = prepare(spec);
  std::size_t collectives = 0;
  for (const ShardedStatement& step : run.sharded.steps) collectives += step.before.size() + step.after.size();
  print(fmt::format("{}: fine. {} on {} devices ({}), {} steps and {} collectives a layer, {} layer{}\n"
                    "next: shardsim run {}\n",
                    args.file, spec.model_spec.name, run.cluster.devices(), run.cluster.text,
                    run.sharded.steps.size(), collectives, run.layers, run.layers == 1 ? "" : "s", args.file));
}

// ---- list, example -------------------------------------------------------------------------------

using Rows = std::vector<std::vector<std::string>>;

Rows list_chips() {
  Rows rows = {{"chip", "bf16 peak", "memory", "memory bandwidth", "link (one direction)", "variants"}};
  for (const std::string& name : chip_names()) {
    const ChipSpec chip = load_chip(name);
    std::string peak = "-";
    for (const auto& [dtype, rate] : chip.peak) {
      if (dtype == "bf16") peak = to_text(rate);
    }
    std::vector<std::string> variants;
    for (const ChipVariant& variant : chip.variants) variants.push_back(variant.name);
    rows.push_back({name, peak, to_text(chip.memory_capacity), to_text(chip.memory_bandwidth),
                    chip.link_bandwidth.given ? to_text(chip.link_bandwidth.value) : "-",
                    fmt::format("nominal {}", fmt::join(variants, " "))});
  }
  return rows;
}

Rows list_topologies() {
  Rows rows = {{"kind", "example", "what it is"}};
  for (const TopologyRow& row : topologies()) {
    rows.push_back({std::string(row.name), std::string(row.example), std::string(row.help)});
  }
  return rows;
}

Rows list_models() {
  Rows rows = {{"model", "layers", "parameters", "dims"}};
  for (const std::string& name : model_names()) {
    const ModelSpec model = load_model(name);
    std::vector<std::string> dims;
    for (const AxisSpec& dim : model.dims) dims.push_back(fmt::format("{}={}", dim.name, dim.size));
    rows.push_back({name, fmt::format("{}", model.layers), model.parameters == 0 ? "-" : fmt::format("{:.4g}", model.parameters),
                    fmt::format("{}", fmt::join(dims, " "))});
  }
  return rows;
}

// The kinds that a row suits on some network of the topology table.
std::string kinds_of(const AlgorithmRow& row) {
  std::vector<std::string> kinds;
  for (const Collective kind : collective_kinds()) {
    const bool suits = std::any_of(topologies().begin(), topologies().end(), [&](const TopologyRow& topology) {
      const GroupAxis axis{8, topology.wiring, BytesPerSec{1}, Seconds{}, topology.wiring == Wiring::ring ? 2 : 1};
      const CollectiveAsk ask{kind, Bytes{1}, 1};
      return row.why_not(ask, {{axis}}).empty() ||
             (topology.highest_axes > 1 && row.why_not(ask, {{axis, axis}}).empty());
    });
    if (suits) kinds.emplace_back(to_text(kind));
  }
  return fmt::format("{}", fmt::join(kinds, " "));
}

Rows list_collectives() {
  Rows rows = {{"algorithm", "for", "what it does"}};
  for (const AlgorithmRow& row : algorithms()) {
    rows.push_back({std::string(row.name), kinds_of(row), std::string(row.help)});
  }
  return rows;
}

Rows list_presets() {
  Rows rows = {{"preset", "takes", "what it does"}};
  for (const PresetRow& row : presets()) {
    rows.push_back({std::string(row.name), row.argument == PresetArgument::flag ? "true" : "mesh axes",
                    fmt::format("{}; {}", row.help, row.when)});
  }
  return rows;
}

Rows list_fields() {
  Rows rows = {{"file", "key", "type", "default", "meaning"}};
  for (const FieldRow& row : field_rows()) {
    rows.push_back({row.file, row.path, row.type, row.required ? "(required)" : row.default_text, row.help});
  }
  return rows;
}

// The reference for reading: per file, key, then meaning, type and default.
std::string fields_text() {
  std::string text;
  std::string file;
  for (const FieldRow& row : field_rows()) {
    if (row.file != file) text += fmt::format("{}{} file\n", file.empty() ? "" : "\n", row.file);
    file = row.file;
    std::string rest = row.required ? "required" : row.default_text.empty() ? "" : "default: " + row.default_text;
    if (!rest.empty()) rest = "; " + rest;
    text += fmt::format("  {:<33} {}\n", row.path, wrapped(fmt::format("{} ({}{})", row.help, row.type, rest), 100, 36));
  }
  return text;
}

Rows list_reports() {
  Rows rows = {{"report", "file", "what it is"}};
  for (const ReportRow& row : reports()) {
    rows.push_back({std::string(row.name), row.file.empty() ? "-" : std::string(row.file), std::string(row.help)});
  }
  return rows;
}

struct ListRow {
  std::string_view name;
  Rows (*rows)();
};
constexpr ListRow kLists[] = {{"chips", list_chips},             {"topologies", list_topologies},
                              {"models", list_models},           {"collectives", list_collectives},
                              {"presets", list_presets},         {"fields", list_fields},
                              {"reports", list_reports}};

void list_command(const std::string& what, const std::string& format) {
  std::vector<Problem> problems;
  require_format(format, problems);
  throw_if_any(problems);
  if (what == "schema") {  // how configs/schema.json is made
    print(to_json(json_schema(field_rows(), "run")));
    return;
  }
  for (const ListRow& list : kLists) {
    if (list.name != what) continue;
    const Rows rows = list.rows();
    if (format == "text") {
      print(what == "fields" ? fields_text() : rows_text(rows));
      return;
    }
    Array objects;
    for (std::size_t r = 1; r < rows.size(); ++r) {
      Object object;
      for (std::size_t c = 0; c < rows[r].size(); ++c) object.emplace_back(rows[0][c], rows[r][c]);
      objects.push_back(std::move(object));
    }
    print(to_json(std::move(objects)));
    return;
  }
  std::vector<std::string> names = names_of(std::span<const ListRow>(kLists));
  names.emplace_back("schema");
  throw ConfigError({{argument_pos("list", what), fmt::format("expected something to list, found \"{}\"", what),
                      suggestion(what, names)}});
}

void example_command(const std::string& name) {
  const std::vector<std::string> names = run_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw ConfigError({{argument_pos("example", name), fmt::format("expected an example, found \"{}\"", name),
                        suggestion(name, names)}});
  }
  print(read_file(data_dir() + "/configs/runs/" + name + ".yaml", 1 << 20));
}

// ---- tour ----------------------------------------------------------------------------------------

Metrics collective_metrics(const char* topology_text, Collective kind, CollectiveInstance& instance) {
  std::vector<Problem> problems;
  const TopologySpec spec = parse_topology(topology_text, argument_pos("tour", topology_text), problems);
  CollectiveRequest request;
  request.cluster = make_cluster(spec, {BytesPerSec{100e9}, 1.0, Seconds{0}}, problems);
  CollectiveCall call{{kind, Bytes{64.0 * 1024 * 1024}, 1}, nullptr, axes_named("", request.cluster, problems)};
  call.algorithm = pick_algorithm("auto", call.ask, group_net(request.cluster, call.axes), {}, problems).row;
  throw_if_any(problems);
  request.calls.push_back(call);
  request.full = true;
  Lowered lowered = lower_collectives(request);
  Run run;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.timeline = replay_simgrid(run.graph);
  instance = run.plan.collectives.front();
  return measure(run);
}

std::string tour_all_to_all() {
  Rows rows = {{"topology", "simulated", "V/(4W) etc.", "ratio", "exact form; what W is"}};
  for (const char* topology : {"ring:8", "ring:7", "ring-oneway:8", "switch:8", "torus:4x4"}) {
    CollectiveInstance c;
    const Metrics metrics = collective_metrics(topology, Collective::all_to_all, c);
    rows.push_back({topology, fine_text(metrics.step), fine_text(c.textbook),
                    fmt::format("{:.4f}", metrics.step / c.textbook),
                    fmt::format("{}; textbook {}", c.formula, c.textbook_formula)});
  }
  return "1. What does AllToAll cost? 64 MiB over links of 100 GB/s each way, every message replayed.\n"
         "   The textbook says V/(4W), W = 2 x 100 GB/s on a two-way ring, 100 GB/s otherwise.\n\n" +
         rows_text(rows);
}

Run tour_run(const std::string& name) {
  const RunSpec spec = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
  return simulate(spec, prepare(spec), {}, engines().front());
}

std::string tour_fsdp_against_dp() {
  Rows rows = {{"sharding", "collectives of weights", "V moved", "communication", "step"}};
  std::vector<double> bytes, seconds;
  for (const char* name : {"dp-ring8", "fsdp-ring8"}) {
    const Run run = tour_run(name);
    const Metrics metrics = measure(run);
    Bytes moved;
    for (const CollectiveInstance& c : run.plan.collectives) {
      moved += c.bytes * (c.kind == Collective::all_reduce ? 2.0 : 1.0);
    }
    rows.push_back({run.name, fmt::format("{}", run.plan.collectives.size()), to_text(moved), to_text(metrics.comm),
                    to_text(metrics.step)});
    bytes.push_back(moved / Bytes{1});
    seconds.push_back(metrics.comm / Seconds{1});
  }
  return "\n2. What does FSDP cost over data parallelism? One Llama-3 8B layer on a one-way ring of 8.\n"
         "   An all-reduce counts 2 V, an all-gather or reduce-scatter V.\n\n" +
         rows_text(rows) + fmt::format("FSDP / DP = {:.6f} in bytes, {:.6f} in communication time\n",
                                       bytes[1] / bytes[0], seconds[1] / seconds[0]);
}

void tour_command() {
  print(tour_all_to_all());
  print(tour_fsdp_against_dp());
  const Run run = tour_run("llama3-70b-v5p-64");
  print("\n3. One Llama-3 70B layer, forward and backward.\n\n" + run_table(run, measure(run)));
  print("\nTry next\n"
        "  ./run_sim.sh collective all-gather --topology torus:8x4 --bandwidth 100GB/s --bytes 64MiB\n"
        "  ./run_sim.sh example > my.yaml     a run file to change; then ./run_sim.sh run my.yaml\n"
        "  ./run_sim.sh list fields           every key of a run file\n"
        "  ./run_sim.sh run my.yaml --set sharding.sp=false\n");
}

// ---- the command line ----------------------------------------------------------------------------

// CLI11's complaint, with the nearest command or option.
int usage_error(CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  std::string hint;
  const CLI::App* at = &app;
  for (const CLI::App* sub : app.get_subcommands()) at = sub;
  if (at == &app) {
    for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
  }
  for (const CLI::Option* option : at->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    if (std::find(known.begin(), known.end(), argument) != known.end()) continue;
    const std::string close = nearest(argument.substr(0, argument.find('=')), known);
    if (!close.empty() && close != argument.substr(0, argument.find('='))) {
      hint = fmt::format("\n  did you mean \"{}\"?", close);
      break;
    }
  }
  std::fprintf(stderr, "shardsim: %s%s\n  see shardsim %s--help\n", error.what(), hint.c_str(),
               at == &app ? "" : (at->get_name() + " ").c_str());
  return 2;
}

int command_line(int argc, char** argv) {
  CLI::App app{"shardsim: what does this sharding cost on this cluster, and why?", "shardsim"};
  app.set_version_flag("--version", "shardsim 0.1.0");
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 the machine refused, 2 the input is wrong, 3 a check failed, 130 interrupted.");

  const auto simulation = [](CLI::App* sub, std::string& grain, std::string& engine, std::string& format, bool& full) {
    sub->add_option("--grain", grain, "flow: every message; fluid: one transfer per port (default flow)");
    sub->add_option("--engine", engine, "simgrid or ideal (default simgrid)");
    sub->add_option("--format", format, "text or json (default text)");
    sub->add_flag("--full", full, "replay every device instead of one class per symmetry");
  };

  RunArguments run_args;
  CLI::App* run = app.add_subcommand("run", "simulate a run file; writes summary.json and trace.json");
  run->add_option("file", run_args.file, "YAML run file")->required();
  run->add_option("--set", run_args.set, "KEY=VALUE, e.g. cluster.topology.link.bandwidth='50 GB/s'")->take_all()->expected(1);
  run->add_option("--out", run_args.out, "output directory (default reports/out/NAME)");
  simulation(run, run_args.grain, run_args.engine, run_args.format, run_args.full);
  run->callback([&] { run_command(run_args); });

  CollectiveArguments coll_args;
  CLI::App* coll = app.add_subcommand("collective", "one collective beside its closed form");
  coll->add_option("kind", coll_args.kind, "all-gather, reduce-scatter, all-reduce, all-to-all, collective-permute")->required();
  coll->add_option("--topology", coll_args.topology, "ring:8, ring-oneway:8, torus:4x4x4, switch:8")->required();
  coll->add_option("--bandwidth", coll_args.bandwidth, "of one directed link, e.g. 100GB/s or '180 GB/s both ways'")->required();
  coll->add_option("--latency", coll_args.latency, "per hop (per route on a switch), e.g. 1us (default 0)");
  coll->add_option("--bytes", coll_args.bytes, "V, e.g. 64MiB");
  coll->add_option("--bytes-per-rank", coll_args.bytes_per_rank, "the buffer of one rank instead of V");
  coll->add_option("--algorithm", coll_args.algorithm, "a name from `list collectives` (default auto: smallest closed form)");
  coll->add_option("--over", coll_args.over, "axes of the group, e.g. x,y (default: all)");
  coll->add_option("--shift", coll_args.shift, "collective-permute: ranks further along the last axis (default 1)");
  coll->add_option("--beside", coll_args.beside, "another collective of the same size, started together")->expected(1)->take_all();
  simulation(coll, coll_args.grain, coll_args.engine, coll_args.format, coll_args.full);
  coll->callback([&] { collective_command(coll_args); });

  RunArguments check_args;
  CLI::App* check = app.add_subcommand("check", "read a run file and say what is wrong with it; nothing is simulated");
  check->add_option("file", check_args.file, "YAML run file")->required();
  check->add_option("--set", check_args.set, "KEY=VALUE")->take_all()->expected(1);
  check->callback([&] { check_command(check_args); });

  std::string list_what, list_format = "text";
  CLI::App* list = app.add_subcommand("list", "chips, topologies, models, collectives, presets, fields, reports, schema");
  list->add_option("what", list_what, "which table")->required();
  list->add_option("--format", list_format, "text or json (default text)");
  list->callback([&] { list_command(list_what, list_format); });

  std::string example_name = "llama3-70b-v5p-64";
  CLI::App* example = app.add_subcommand("example", "print a run file to start from");
  example->add_option("name", example_name, "one of: " + words(run_names()));
  example->callback([&] { example_command(example_name); });

  app.add_subcommand("tour", "the headline results")->callback([] { tour_command(); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return usage_error(app, error, {argv + 1, argv + argc});
  }
  return 0;
}

}  // namespace
}  // namespace shardsim

int main(int argc, char** argv) {
  using namespace shardsim;
  try {
    catch_interrupts();
    return command_line(argc, argv);
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const Interrupted& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 130;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 1;
  }
}
