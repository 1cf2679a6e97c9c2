#include "command/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/program.h"
#include "base/version.h"
#include "command/arguments.h"
#include "command/collective.h"
#include "command/compare.h"
#include "command/explain.h"
#include "command/list.h"
#include "command/phases.h"
#include "command/run.h"
#include "command/schedule.h"
#include "command/sweep.h"
#include "command/tornado.h"
#include "command/tour.h"
#include "command/validate.h"
#include "replay/engine_process.h"
#include "spec/load.h"

namespace shardsim {
namespace {

// The command that the arguments got to, or the program itself.
const CLI::App& reached(const CLI::App& app) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  return used.empty() ? app : *used.back();
}

// "did you mean" for the first argument that is close to, but not, a command or option.
std::string near_argument(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& known) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string close = nearest(name, known);
    if (!close.empty()) return fmt::format("\n  did you mean \"{}\"?", close);
  }
  return "";
}

// CLI11's complaint in our words, with the nearest command or option.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments) {
  const CLI::App& at = reached(app);
  std::vector<std::string> commands;
  for (const CLI::App* sub : app.get_subcommands({})) commands.push_back(sub->get_name());
  std::vector<std::string> known = &at == &app ? commands : std::vector<std::string>{};
  for (const CLI::Option* option : at.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  std::string message = error.what();
  if (&at == &app) {
    message = fmt::format("expected a command ({}), found {}", joined_or(commands),
                          arguments.empty() ? "none" : fmt::format("\"{}\"", arguments.front()));
  }
  return UsageError(fmt::format("shardsim: {}{}\n  see shardsim {}--help", message,
                                near_argument(arguments, known),
                                &at == &app ? "" : at.get_name() + " "));
}

// Everything that may be written on the command line.
struct Arguments {
  RunArguments run, check;
  CollectiveArguments collective;
  ExplainArguments explain;
  ScheduleArguments schedule;
  PhaseArguments phases;
  CompareArguments compare;
  ListArguments list;
  ValidateArguments validate;
  SweepArguments sweep;
  ExportArguments exported;
  ReportArguments report;
  MergeArguments merge;
  TornadoArguments tornado;
  std::string example = "llama3-70b-v5p-64";
};

// The command that was found among the arguments: what it does, and its result as JSON (empty: it
// has none).
struct Found {
  std::function<void()> act;
  std::function<Json()> document;
};

// What a command replays with SimGrid goes to an engine that is made before anything is read, while
// the process that forks is small.
template <class Args>
void act_on(const Args& args, void (*act)(const Args&)) {
  if constexpr (requires { args.engine; }) {
    if (args.engine == "simgrid") return with_engine_ready([&] { act(args); });
  }
  act(args);
}

template <class Args>
void declare_action(CLI::App* sub, const Args& args, Found& found, void (*act)(const Args&),
                    Json (*document)(const Args&)) {
  sub->callback([&args, &found, act, document] {
    found = {[&args, act] { act_on(args, act); }, [&args, document] { return document(args); }};
  });
}

constexpr const char* kCheckHelp =
    "play every plan on sets first: each rank must end with every contribution, once";

// Options of the commands that simulate.
template <class Args>
void declare_simulation(CLI::App* sub, Args& args) {
  sub->add_option("--grain", args.grain,
                  "flow: every message; fluid: one transfer per port (default flow)");
  sub->add_option("--engine", args.engine, "simgrid or ideal (default simgrid)");
  sub->add_option("--format", args.format, "text or json (default text)");
  sub->add_flag("--full", args.full, "replay every device instead of one class per symmetry");
  sub->add_flag("--quiet", args.quiet,
                "the result only: no progress on stderr, nothing on what next");
}

// An option that may be given several times, one value each.
void declare_repeated(CLI::App* sub, const char* name, std::vector<std::string>& values,
                      const char* help) {
  sub->add_option(name, values, help)->take_all()->expected(1);
}

void declare_run(CLI::App& app, RunArguments& args, Found& found) {
  CLI::App* sub =
      app.add_subcommand("run", "simulate a run file; writes figures, a timeline page and a trace");
  sub->add_option("file", args.file, "YAML run file, or a name from configs/runs")->required();
  declare_repeated(sub, "--set", args.set,
                   "KEY=VALUE, e.g. cluster.topology.link.bandwidth='50 GB/s'");
  sub->add_option("--out", args.out, "output directory (default reports/out/NAME)");
  sub->add_option("--svg", args.svg,
                  "write a picture to this file: the pipeline, and the streams of each rank; with "
                  "--compare both runs on one time axis");
  sub->add_flag("--trace", args.trace, "write trace.json however many operations there are");
  sub->add_option(
      "--compare", args.compare,
      "overlap: nothing overlapped, as configured and perfectly overlapped, in a table");
  sub->add_option("--tokens", args.tokens,
                  "of a training, e.g. 15e12: how long it takes, in chip-hours, too");
  sub->add_flag("--what-if", args.what_if,
                "the step if a cost were free, one replay for each; without being asked for up to "
                "20,000 operations");
  sub->add_flag("--check", args.check, kCheckHelp);
  sub->add_flag("--gantt", args.gantt,
                "print the timeline as text, which is done by itself on a terminal");
  declare_simulation(sub, args);
  declare_action(sub, args, found, run_command, run_document);
}

void declare_check(CLI::App& app, RunArguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand(
      "check", "read a run file and say what is wrong with it; nothing is simulated");
  sub->add_option("file", args.file, "YAML run file, or a name from configs/runs")->required();
  declare_repeated(sub, "--set", args.set, "KEY=VALUE");
  declare_action(sub, args, found, check_command, check_document);
}

void declare_collective(CLI::App& app, CollectiveArguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand("collective", "one collective beside its closed form");
  sub->add_option("kind", args.kind,
                  "all-gather, reduce-scatter, all-reduce, all-to-all, broadcast, reduce, gather, "
                  "scatter, collective-permute, barrier")
      ->required();
  sub->add_option(
         "--topology", args.topology,
         "a short name such as ring:8 or torus:4x4x4, a name from list topologies, a .yaml")
      ->required();
  sub->add_option("--bandwidth", args.bandwidth,
                  "of one directed link of the innermost level, e.g. 100GB/s or '180 GB/s both "
                  "ways' (default: what the topology states, or the chip's)");
  sub->add_option("--latency", args.latency,
                  "per hop (per route on a switch) of the innermost level, e.g. 1us (default: what "
                  "the topology states, or 0)");
  sub->add_option("--chip", args.chip, "whose link bandwidth is the default, and whose slices");
  sub->add_option("--mesh", args.mesh,
                  "sizes of mesh axes, first major, e.g. X=4,Y=4 (default: the hardware axes)");
  sub->add_option("--bytes", args.bytes, "V, e.g. 64MiB (a barrier has none)");
  sub->add_option("--bytes-per-rank", args.bytes_per_rank, "the buffer of one rank instead of V");
  sub->add_option("--sweep-bytes", args.sweep_bytes,
                  "START:END[:FACTOR] of V instead, e.g. 1KiB:1GiB (default factor 2)");
  sub->add_option("--algorithm", args.algorithm,
                  "a name from `list collectives` (default auto: smallest closed form)");
  sub->add_option("--over", args.over,
                  "mesh or hardware axes of the group, e.g. x,y (default: all)");
  sub->add_option("--shift", args.shift,
                  "collective-permute: ranks further along the last axis (default 1)");
  sub->add_option("--root", args.root,
                  "broadcast, reduce, gather, scatter: the rank in every group (default 0)");
  sub->add_option("--pieces", args.pieces,
                  "algorithms that cut the data: how many pieces (default: the fastest number)");
  sub->add_option("--window", args.window,
                  "direct on a switch: sends of a rank under way at once (default: all)");
  declare_repeated(sub, "--beside", args.beside,
                   "another collective of the same size, started together");
  declare_simulation(sub, args);
  sub->add_flag("--check", args.check, kCheckHelp);
  sub->get_option("--format")->description("text or json (default text); csv with --sweep-bytes");
  declare_action(sub, args, found, collective_command, collective_document);
}

void declare_explain(CLI::App& app, ExplainArguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand(
      "explain", "cases, collectives, bytes, prices of a run file, statement or array");
  sub->add_option("what", args.subject, "a run file, a statement, an array or a reshard")
      ->required();
  sub->add_option("--mesh", args.mesh, "sizes of the mesh axes, first major, e.g. X=4,Y=2");
  sub->add_option("--dims", args.dims, "sizes of the dims, e.g. I=1024,J=4096");
  sub->add_option("--dtype", args.dtype, "of all arrays (default bf16)");
  sub->add_option("--topology", args.topology,
                  "as in collective (default a torus with one axis for each mesh axis)");
  sub->add_option(
      "--bandwidth", args.bandwidth,
      "of one directed link, e.g. 100GB/s (default: what the topology states, or no prices)");
  sub->add_option("--latency", args.latency, "per hop, e.g. 1us (default 0)");
  sub->add_option("--chip", args.chip,
                  "whose roofline times a statement, and whose link bandwidth is the default");
  sub->add_option("--device-order", args.device_order,
                  "row-major: the first mesh axis is major, as in JAX; or innermost-first");
  sub->add_option("--on-ambiguity", args.on_ambiguity,
                  "of a statement, as in run files: choose or error");
  sub->add_option("--idle-axes", args.idle_axes, "of a statement, as in run files: leave or use");
  sub->add_option("--pass", args.pass,
                  "forward, backward or both (default both; of a statement, forward)");
  sub->add_option("--statement", args.statement, "of a file: only the one that makes this array");
  declare_repeated(sub, "--set", args.set, "of a file: KEY=VALUE");
  sub->add_option("--format", args.format, "text or json (default text)");
  declare_action(sub, args, found, explain_command, explain_document);
}

void declare_schedule(CLI::App& app, ScheduleArguments& args, Found& found) {
  CLI::App* sub =
      app.add_subcommand("schedule", "pipeline schedules: makespan, bubbles, memory, a picture");
  sub->add_option("kind", args.kinds, "names from `list schedules`, or file:PATH; any number");
  sub->add_option("--stages", args.stages, "ranks of the pipeline (p)");
  sub->add_option("--microbatches", args.microbatches, "micro-batches in all (m)");
  sub->add_option("--chunks", args.chunks, "stages per rank of interleaved kinds (v, default 2)");
  sub->add_option("--group", args.group,
                  "interleaved kinds: micro-batches that follow each other on a chunk (default p)");
  sub->add_option("--forward", args.forward, "time of a forward, e.g. 1ms");
  sub->add_option("--backward", args.backward, "time of a backward; its halves take half each");
  sub->add_option("--backward-input", args.backward_input, "time of a backward for the input");
  sub->add_option("--backward-weight", args.backward_weight, "time of a backward for the weights");
  sub->add_option("--overlapped", args.overlapped,
                  "time of a forward and a backward that run together (default their sum)");
  sub->add_option("--p2p", args.p2p, "time of a transfer between two ranks (default 0)");
  sub->add_option("--p2p-mode", args.p2p_mode,
                  "async, serial (one at a time from rank to rank) or blocking (default async)");
  sub->add_option("--cost-per", args.cost_per,
                  "op: times are of one chunk; stage: of all chunks of a rank (default op)");
  sub->add_option("--memory-limit", args.memory_limit,
                  "searched kinds: micro-batches on one stage whose activations fit a rank");
  sub->add_option("--export", args.export_file, "write the order of every rank to this file");
  sub->add_option("--out", args.out, "write trace.json to this directory");
  sub->add_option("--html", args.html,
                  "write a page to this file; several kinds on one time axis, at most six");
  sub->add_option("--svg", args.svg, "write a picture to this file; all kinds on one time axis");
  sub->add_option("--format", args.format, "text or json (default text)");
  declare_action(sub, args, found, schedule_command, schedule_document);
}

void declare_compare(CLI::App& app, CompareArguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand("compare", "two to six runs beside each other");
  sub->add_option("paths", args.paths,
                  "output directories of `run`, or pages that --html or --out wrote")
      ->required();
  sub->add_option("--out", args.out, "write a page to this file: all on one time axis");
  sub->add_option("--format", args.format, "text or json (default text)");
  declare_action(sub, args, found, compare_command, compare_document);
}

void declare_phases(CLI::App& app, PhaseArguments& args, Found& found) {
  CLI::App* sub =
      app.add_subcommand("phases", "timed phases on streams, from a file: what waits for what");
  sub->add_option("file", args.file, "YAML with phases: [{name, stream, time, after}, …]")
      ->required();
  sub->add_option("--out", args.out, "write trace.json to this directory");
  sub->add_option("--format", args.format, "text or json (default text)");
  declare_action(sub, args, found, phases_command, phases_document);
}

void declare_list(CLI::App& app, Arguments& args, Found& found) {
  CLI::App* list = app.add_subcommand("list", "print a table: chips, models, presets, fields, …");
  list->add_option("what", args.list.what,
                   "chips, topologies, models, collectives, schedules, presets, runs, sweeps, "
                   "fields, reports or schema (default: what can be listed)");
  list->add_option("--format", args.list.format, "text or json (default text)");
  declare_action(list, args.list, found, list_command, list_document);

  CLI::App* example = app.add_subcommand("example", "print a run or sweep file to start from");
  example->add_option("name", args.example,
                      "of list runs (default llama3-70b-v5p-64) or list sweeps");
  example->callback([&args, &found] { found = {[&args] { example_command(args.example); }, {}}; });
}

void declare_validate(CLI::App& app, ValidateArguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand(
      "validate", "the formula ledger: what is said about sharding, held against replays");
  sub->add_option("--only", args.only, "ids of rows, with every figure, e.g. C25,C40");
  sub->add_option("--rows", args.rows, "a YAML file of rows beside those of configs/ledger");
  sub->add_option("--out", args.out,
                  "a directory for ledger.md, .json, .csv; of all rows: regime.csv and .txt, too");
  sub->add_flag("--regime", args.regime,
                "only the map of where the textbook formulas hold, by devices and bytes");
  sub->add_option("--format", args.format, "text or json (default text)");
  sub->add_flag("--quiet", args.quiet, "no progress on stderr");
  sub->add_flag("--list", args.list, "the rows and their recorded verdicts; nothing is simulated");
  sub->callback([&args, &found] { found = {[&args] { validate_command(args); }, {}}; });
}

bool is_output(std::string_view option) {
  return option == "--out" || option == "--html" || option == "--svg";
}

// What concerns the terminal alone: the same files are written without it.
bool is_for_terminal(std::string_view option) {
  return option == "--format" || option == "--quiet" || option == "--gantt";
}

// Where output goes is left open, so that pages do not depend on where they are.
std::string shell_line(std::span<const std::string> arguments) {
  std::string line = "shardsim";
  std::string before;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string option = argument.substr(0, equals);
    const char* const place = argument.ends_with(".html")  ? "page.html"
                              : argument.ends_with(".svg") ? "picture.svg"
                                                           : "out";
    const bool goes_out = is_output(option);
    if (before == "--format" || is_for_terminal(option)) {
      // left out
    } else if (is_output(before)) {
      line += std::string(" ") + place;
    } else if (goes_out && equals != std::string::npos) {
      line += " " + option + " " + place;
    } else {
      line += " " + shell_word(argument);
    }
    before = argument;
  }
  return line;
}

void declare_sweep(CLI::App& app, Arguments& args, Found& found) {
  CLI::App* sub = app.add_subcommand("sweep", "many runs: a grid of fields, searched or replayed");
  CLI::Option* file =
      sub->add_option("file", args.sweep.file, "YAML sweep file, or a name from configs/sweeps");
  sub->add_flag("--plan", args.sweep.plan, "how many points, what is left out and why, how long");
  sub->add_option("--jobs", args.sweep.jobs, "worker processes (default: one a core)");
  sub->add_option("--db", args.sweep.db, "SQLite database (default reports/out/FILE/sweep.db)");
  sub->add_flag("--resume", args.sweep.resume, "go on with the database of the same sweep");
  sub->add_option("--shard", args.sweep.shard, "i/n: only every n-th point, from 0/n to n-1/n");
  sub->add_flag("--slurm", args.sweep.slurm,
                "submit one array job of Slurm, a task for each shard");
  sub->add_option("--shards", args.sweep.shards, "with --slurm: how many (default 8)");
  sub->add_option("--out", args.sweep.out,
                  "with --slurm: directory of databases and logs (default reports/out/FILE)");
  sub->add_option("sbatch", args.sweep.sbatch, "with --slurm, after --: options of sbatch");
  sub->add_flag("--quiet", args.sweep.quiet, "no progress on stderr");
  sub->add_option("--format", args.sweep.format, "text or json (default text)");
  CLI::App* out = sub->add_subcommand("export", "rows of a database, or the run of one point");
  out->add_option("db", args.exported.db, "database of a sweep")->required();
  out->add_flag("--csv", args.exported.csv, "all rows, RFC 4180");
  out->add_flag("--json", args.exported.json, "all rows, a list of objects");
  out->add_option("--point", args.exported.point, "the run file of this point");
  out->callback([&args, &found] { found = {[&args] { export_command(args.exported); }, {}}; });
  CLI::App* page = sub->add_subcommand("report", "a page of a database: tables and pictures");
  page->add_option("db", args.report.db, "database of a sweep")->required();
  page->add_option("--html", args.report.html, "the page, a file")->required();
  page->callback([&args, &found] { found = {[&args] { report_command(args.report); }, {}}; });
  sub->callback([&args, &found, out, page, file] {
    if (out->parsed() || page->parsed()) return;
    if (file->count() == 0) throw CLI::RequiredError("file");
    found = {[&args] { sweep_command(args.sweep); }, {}};
    if (args.sweep.plan) found.document = [&args] { return sweep_document(args.sweep); };
  });

  CLI::App* merge = app.add_subcommand("merge", "shards of a sweep joined into one database");
  merge->add_option("into", args.merge.into, "the database they are joined into")->required();
  merge->add_option("shards", args.merge.shards, "databases of shards")->required();
  merge->add_option("--format", args.merge.format, "text or json (default text)");
  merge->callback([&args, &found] { found = {[&args] { merge_command(args.merge); }, {}}; });
}

void declare_tornado(CLI::App& app, TornadoArguments& args, Found& found) {
  CLI::App* sub =
      app.add_subcommand("tornado", "which figure of the hardware matters to a run, most first");
  sub->add_option("file", args.file, "YAML run file")->required();
  sub->add_option("--by", args.by, "share by which each is made smaller and larger (default 10%)");
  declare_repeated(sub, "--set", args.set, "KEY=VALUE");
  declare_simulation(sub, args);
  declare_action(sub, args, found, tornado_command, tornado_document);
}

// What is given is heeded: an empty text would pass for an option that is not given. Options of
// other programs are theirs.
void refuse_empty_texts(CLI::App& app) {
  for (CLI::App* sub : app.get_subcommands({})) {
    for (CLI::Option* option : sub->get_options()) {
      if (option->get_name() == "sbatch") continue;
      option->check([wanted = option->get_description()](const std::string& text) {
        return text.empty() ? fmt::format("expected a value, found an empty text\n  {}", wanted)
                            : std::string();
      });
    }
    refuse_empty_texts(*sub);
  }
}

// What --help or --version answers.
struct Answer {
  std::string text;
};

Found find_command(std::span<const std::string> arguments, Arguments& args) {
  CLI::App app{"shardsim: what does this sharding cost on this cluster, and why?", "shardsim"};
  app.set_version_flag("--version", std::string("shardsim ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 the machine refused, 2 the input is wrong, 3 a check failed, 130 "
      "interrupted.");
  args.run.command = args.schedule.command = args.compare.command = shell_line(arguments);
  Found found;
  declare_run(app, args.run, found);
  declare_collective(app, args.collective, found);
  declare_explain(app, args.explain, found);
  declare_schedule(app, args.schedule, found);
  declare_phases(app, args.phases, found);
  declare_compare(app, args.compare, found);
  declare_check(app, args.check, found);
  declare_list(app, args, found);
  declare_validate(app, args.validate, found);
  declare_sweep(app, args, found);
  declare_tornado(app, args.tornado, found);
  app.add_subcommand("tour", "the headline results")->callback([&found] {
    found = {[] { with_engine_ready(tour_command); }, {}};
  });
  refuse_empty_texts(app);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw usage_error(app, error, {arguments.begin(), arguments.end()});
    }
    std::ostringstream text;
    app.exit(error, text, text);
    throw Answer{text.str()};
  }
  return found;
}

}  // namespace

void do_command(std::span<const std::string> arguments) {
  Arguments args;
  try {
    find_command(arguments, args).act();
  } catch (const Answer& answer) {
    print(answer.text);
  }
}

Json command_document(std::span<const std::string> arguments) {
  Arguments args;
  try {
    const Found found = find_command(arguments, args);
    if (found.document) return found.document();
  } catch (const Answer&) {
  }
  throw UsageError(fmt::format("shardsim: {} has no result as JSON", fmt::join(arguments, " ")));
}

}  // namespace shardsim
