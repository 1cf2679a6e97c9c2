// The command line. Every command reads its arguments, calls the stages in data order (load,
// prepare, lower, replay, measure, report) and prints. Exit status: 0 done; 1 the machine refused;
// 2 the input is wrong; 3 a check failed; 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/problem.h"
#include "command/collective.h"
#include "command/list.h"
#include "command/run.h"
#include "command/tour.h"
#include "spec/load.h"

namespace shardsim {
namespace {

// CLI11's complaint, with the nearest command or option.
int usage_error(CLI::App& app, const CLI::ParseError& error,
                const std::vector<std::string>& arguments) {
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
  app.footer(
      "Exit status: 0 done, 1 the machine refused, 2 the input is wrong, 3 a check failed, 130 "
      "interrupted.");

  const auto simulation = [](CLI::App* sub, std::string& grain, std::string& engine,
                             std::string& format, bool& full) {
    sub->add_option("--grain", grain,
                    "flow: every message; fluid: one transfer per port (default flow)");
    sub->add_option("--engine", engine, "simgrid or ideal (default simgrid)");
    sub->add_option("--format", format, "text or json (default text)");
    sub->add_flag("--full", full, "replay every device instead of one class per symmetry");
  };

  RunArguments run_args;
  CLI::App* run =
      app.add_subcommand("run", "simulate a run file; writes summary.json and trace.json");
  run->add_option("file", run_args.file, "YAML run file")->required();
  run->add_option("--set", run_args.set,
                  "KEY=VALUE, e.g. cluster.topology.link.bandwidth='50 GB/s'")
      ->take_all()
      ->expected(1);
  run->add_option("--out", run_args.out, "output directory (default reports/out/NAME)");
  simulation(run, run_args.grain, run_args.engine, run_args.format, run_args.full);
  run->callback([&] { run_command(run_args); });

  CollectiveArguments coll_args;
  CLI::App* coll = app.add_subcommand("collective", "one collective beside its closed form");
  coll->add_option("kind", coll_args.kind,
                   "all-gather, reduce-scatter, all-reduce, all-to-all, collective-permute")
      ->required();
  coll->add_option("--topology", coll_args.topology, "ring:8, ring-oneway:8, torus:4x4x4, switch:8")
      ->required();
  coll->add_option("--bandwidth", coll_args.bandwidth,
                   "of one directed link, e.g. 100GB/s or '180 GB/s both ways'")
      ->required();
  coll->add_option("--latency", coll_args.latency,
                   "per hop (per route on a switch), e.g. 1us (default 0)");
  coll->add_option("--bytes", coll_args.bytes, "V, e.g. 64MiB");
  coll->add_option("--bytes-per-rank", coll_args.bytes_per_rank,
                   "the buffer of one rank instead of V");
  coll->add_option("--algorithm", coll_args.algorithm,
                   "a name from `list collectives` (default auto: smallest closed form)");
  coll->add_option("--over", coll_args.over, "axes of the group, e.g. x,y (default: all)");
  coll->add_option("--shift", coll_args.shift,
                   "collective-permute: ranks further along the last axis (default 1)");
  coll->add_option("--beside", coll_args.beside,
                   "another collective of the same size, started together")
      ->expected(1)
      ->take_all();
  simulation(coll, coll_args.grain, coll_args.engine, coll_args.format, coll_args.full);
  coll->callback([&] { collective_command(coll_args); });

  RunArguments check_args;
  CLI::App* check = app.add_subcommand(
      "check", "read a run file and say what is wrong with it; nothing is simulated");
  check->add_option("file", check_args.file, "YAML run file")->required();
  check->add_option("--set", check_args.set, "KEY=VALUE")->take_all()->expected(1);
  check->callback([&] { check_command(check_args); });

  std::string list_what, list_format = "text";
  CLI::App* list = app.add_subcommand(
      "list", "chips, topologies, models, collectives, presets, fields, reports, schema");
  list->add_option("what", list_what, "which table")->required();
  list->add_option("--format", list_format, "text or json (default text)");
  list->callback([&] { list_command(list_what, list_format); });

  std::string example_name = "llama3-70b-v5p-64";
  CLI::App* example = app.add_subcommand("example", "print a run file to start from");
  example->add_option("name", example_name, "one of: " + joined_or(run_names()));
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
