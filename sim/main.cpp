// The command line. Every command reads its arguments, calls the stages in data order (load,
// prepare, lower, replay, measure, report) and prints. Exit status: 0 done; 1 the machine refused;
// 2 the input is wrong; 3 a check failed; 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>

#include "base/file.h"
#include "base/problem.h"
#include "command/collective.h"
#include "command/explain.h"
#include "command/list.h"
#include "command/run.h"
#include "command/tour.h"
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
int usage_error(const CLI::App& app, const CLI::ParseError& error,
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
  std::fprintf(stderr, "shardsim: %s%s\n  see shardsim %s--help\n", message.c_str(),
               near_argument(arguments, known).c_str(),
               &at == &app ? "" : (at.get_name() + " ").c_str());
  return 2;
}

// Everything that may be written on the command line.
struct Arguments {
  RunArguments run, check;
  CollectiveArguments collective;
  ExplainArguments explain;
  std::string list_what, list_format = "text";
  std::string example = "llama3-70b-v5p-64";
};

// Options of the commands that simulate.
template <class Args>
void declare_simulation(CLI::App* sub, Args& args) {
  sub->add_option("--grain", args.grain,
                  "flow: every message; fluid: one transfer per port (default flow)");
  sub->add_option("--engine", args.engine, "simgrid or ideal (default simgrid)");
  sub->add_option("--format", args.format, "text or json (default text)");
  sub->add_flag("--full", args.full, "replay every device instead of one class per symmetry");
}

// An option that may be given several times, one value each.
void declare_repeated(CLI::App* sub, const char* name, std::vector<std::string>& values,
                      const char* help) {
  sub->add_option(name, values, help)->take_all()->expected(1);
}

void declare_run(CLI::App& app, RunArguments& args) {
  CLI::App* sub =
      app.add_subcommand("run", "simulate a run file; writes summary.json and trace.json");
  sub->add_option("file", args.file, "YAML run file")->required();
  declare_repeated(sub, "--set", args.set,
                   "KEY=VALUE, e.g. cluster.topology.link.bandwidth='50 GB/s'");
  sub->add_option("--out", args.out, "output directory (default reports/out/NAME)");
  declare_simulation(sub, args);
  sub->callback([&args] { run_command(args); });
}

void declare_check(CLI::App& app, RunArguments& args) {
  CLI::App* sub = app.add_subcommand(
      "check", "read a run file and say what is wrong with it; nothing is simulated");
  sub->add_option("file", args.file, "YAML run file")->required();
  declare_repeated(sub, "--set", args.set, "KEY=VALUE");
  sub->callback([&args] { check_command(args); });
}

void declare_collective(CLI::App& app, CollectiveArguments& args) {
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
  sub->get_option("--format")->description("text or json (default text); csv with --sweep-bytes");
  sub->callback([&args] { collective_command(args); });
}

void declare_explain(CLI::App& app, ExplainArguments& args) {
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
  sub->add_option("--device-order", args.device_order,
                  "row-major: the first mesh axis is major, as in JAX; or innermost-first");
  sub->add_option("--on-ambiguity", args.on_ambiguity,
                  "of a statement, as in run files: choose or error");
  sub->add_option("--pass", args.pass,
                  "forward, backward or both (default both; of a statement, forward)");
  sub->add_option("--statement", args.statement, "of a file: only the one that makes this array");
  declare_repeated(sub, "--set", args.set, "of a file: KEY=VALUE");
  sub->add_option("--format", args.format, "text or json (default text)");
  sub->callback([&args] { explain_command(args); });
}

void declare_list(CLI::App& app, Arguments& args) {
  CLI::App* list = app.add_subcommand("list", "print a table: chips, models, presets, fields, …");
  list->add_option("what", args.list_what,
                   "chips, topologies, models, collectives, presets, fields, reports or schema");
  list->add_option("--format", args.list_format, "text or json (default text)");
  list->callback([&args] { list_command(args.list_what, args.list_format); });

  CLI::App* example = app.add_subcommand("example", "print a run file to start from");
  example->add_option("name", args.example, "one of: " + joined_or(run_names()));
  example->callback([&args] { example_command(args.example); });
}

int command_line(int argc, char** argv) {
  CLI::App app{"shardsim: what does this sharding cost on this cluster, and why?", "shardsim"};
  app.set_version_flag("--version", "shardsim 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 the machine refused, 2 the input is wrong, 3 a check failed, 130 "
      "interrupted.");
  Arguments args;
  declare_run(app, args.run);
  declare_collective(app, args.collective);
  declare_explain(app, args.explain);
  declare_check(app, args.check);
  declare_list(app, args);
  app.add_subcommand("tour", "the headline results")->callback([] { tour_command(); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      return std::cout.flush() ? 0 : 1;
    }
    return usage_error(app, error, {argv + 1, argv + argc});
  }
  return 0;
}

}  // namespace
}  // namespace shardsim

int main(int argc, char** argv) {
  try {
    shardsim::catch_interrupts();
    return shardsim::command_line(argc, argv);
  } catch (const shardsim::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const shardsim::Interrupted& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 130;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "shardsim: out of memory; fold (without --full) or use --grain fluid\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardsim: %s\n", error.what());
    return 1;
  }
}
