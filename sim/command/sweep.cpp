#include "command/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/check_failed.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/command_line.h"
#include "command/run.h"
#include "command/terminal.h"
#include "sweep/constraints.h"
#include "sweep/merge.h"
#include "sweep/plan_sweep.h"
#include "sweep/run_sweep.h"
#include "sweep/slurm.h"
#include "sweep/summary.h"
#include "sweep/sweep_page.h"

namespace shardsim {

namespace {

constexpr int kMostJobs = 1024;
constexpr int kShards = 8;
constexpr int kMostShards = 100'000;  // tasks of an array; Slurm's MaxArraySize may be less

Run simulate_point(const RunSpec& spec, const Prepared& prepared, Lowered lowered, Grain grain) {
  const auto rows = engines();
  const auto simgrid = std::find_if(rows.begin(), rows.end(),
                                    [](const EngineRow& row) { return row.name == "simgrid"; });
  return replay(spec, prepared, std::move(lowered), {{grain, false}, &*simgrid, {}});
}

// "2/8": the third of eight.
Shard shard_of(const std::optional<std::string>& text, std::vector<Problem>& problems) {
  if (!text) return {};
  const SourcePos pos = argument_pos("--shard", *text);
  const std::size_t slash = text->find('/');
  const auto index = parse_count(text->substr(0, slash), 0, std::numeric_limits<int>::max());
  const auto count = slash == std::string::npos
                         ? Parsed<int>{0, "none"}
                         : parse_count(text->substr(slash + 1), 1, std::numeric_limits<int>::max());
  if (!index || !count) {
    problems.push_back(
        {pos, fmt::format("expected a shard such as 0/8, found {}", in_quotes(*text)), ""});
    return {};
  }
  if (index.value >= count.value) {
    problems.push_back({pos,
                        fmt::format("expected a shard from 0/{} to {}/{}, found {}", count.value,
                                    count.value - 1, count.value, *text),
                        "shards are counted from 0"});
    return {};
  }
  return {index.value, count.value};
}

std::string default_folder(const std::string& file) {
  return "reports/out/" + std::filesystem::path(file).stem().string();
}

std::string default_db(const std::string& file, const Shard& shard) {
  const std::string folder = default_folder(file);
  return shard.count == 1 ? folder + "/sweep.db"
                          : fmt::format("{}/shard-{}-of-{}.db", folder, shard.index, shard.count);
}

SweepOptions options_of(const SweepArguments& args, std::vector<Problem>& problems) {
  SweepOptions options;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.jobs = count_of("--jobs", args.jobs, kMostJobs, problems).value_or(cores);
  options.shard = shard_of(args.shard, problems);
  options.resume = args.resume;
  options.quiet = args.quiet;
  options.db = args.db ? *args.db : default_db(args.file, options.shard);
  return options;
}

void check_shard(const SweepArguments& args, const PointList& list, const Shard& shard) {
  if (!args.shard) return;
  std::vector<Problem> problems;
  if (static_cast<std::size_t>(shard.index) >= list.points.size()) {
    problems.push_back(
        {argument_pos("--shard", *args.shard),
         fmt::format("expected a shard with points, found none: the sweep has {} in all",
                     list.points.size()),
         ""});
  }
  throw_if_any(problems);
}

// Options that go with --slurm only, or never with it.
void check_slurm(const SweepArguments& args, std::vector<Problem>& problems) {
  const auto refuse = [&](bool given, const char* option, const char* message) {
    if (given) problems.push_back({argument_pos("sweep", option), message, ""});
  };
  if (args.slurm) {
    const char* const own = "expected none with --slurm, found one: each task has its own";
    refuse(args.db.has_value(), "--db", own);
    refuse(args.shard.has_value(), "--shard", own);
    refuse(args.resume, "--resume", own);
    refuse(args.plan, "--plan", "expected --plan or --slurm, found both");
    return;
  }
  const char* const slurm = "expected --slurm with it, found none";
  refuse(args.shards.has_value(), "--shards", slurm);
  refuse(args.out.has_value(), "--out", slurm);
  refuse(!args.sbatch.empty(), args.sbatch.empty() ? "" : args.sbatch.front().c_str(), slurm);
}

void submit(const SweepArguments& args, const SweepSpec& spec) {
  std::vector<Problem> problems;
  const Candidates candidates(spec);
  const PointList list = list_points(spec, candidates, args.quiet);
  const int points = static_cast<int>(std::min<std::size_t>(list.points.size(), kMostShards));
  const int shards =
      count_of("--shards", args.shards, points, problems).value_or(std::min(kShards, points));
  throw_if_any(problems);
  const std::string folder =
      std::filesystem::absolute(args.out ? *args.out : default_folder(args.file))
          .lexically_normal()
          .string();
  require_writable_directory(folder);
  const SlurmJob job{std::filesystem::absolute(args.file).lexically_normal().string(), folder,
                     shards, args.jobs.value_or(""), args.sbatch};
  const Submitted submitted = submit_sweep(job, spec, list);
  print(args.format == "json" ? to_json(submitted_json(job, submitted))
                              : submitted_text(job, submitted));
}

void print_summary(const Store& store, const std::string& format) {
  if (format == "json") return print(to_json(sweep_json(store)));
  print(sweep_text(store, output_is_terminal() ? look_of_output().width : 0));
}

void throw_if_points_failed(const Store& store, std::string_view next) {
  const std::size_t failed = points_with(PointStatus::failed, store);
  if (failed == 0) return;
  throw CheckFailed(
      fmt::format("{} failed (reasons above); {}", counted(failed, "point", "points"), next));
}

// Of a whole sweep: one of which nothing can be run was written wrongly.
void throw_if_all_invalid(const Store& store) {
  const std::size_t all = points_of(store);
  if (points_with(PointStatus::invalid, store) < all) return;
  throw UsageError(
      fmt::format("none of the {} can be run (reasons above): sweep FILE --plan says "
                  "which values are refused",
                  counted(all, "point", "points")));
}

// Carries the sweep out and says what came of it.
void do_sweep(const SweepArguments& args, const SweepSpec& spec, const SweepOptions& options) {
  const Candidates candidates(spec);
  const PointList list = list_points(spec, candidates, args.quiet);
  check_shard(args, list, options.shard);
  const std::filesystem::path folder = std::filesystem::path(options.db).parent_path();
  if (!folder.empty()) require_writable_directory(folder.string());
  const Store store = run_sweep(spec, candidates, list, options, simulate_point);
  print_summary(store, args.format);
  if (options.shard.count == 1) throw_if_all_invalid(store);
  if (points_with(PointStatus::failed, store) == 0) return;
  std::vector<Problem> mistakes = constraint_mistakes(spec, candidates, store);
  throw_if_any(mistakes);
  throw_if_points_failed(store, "--resume tries again");
}

struct Read {
  SweepSpec spec;
  SweepOptions options;
};

Read read_arguments(const SweepArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  SweepOptions options = options_of(args, problems);
  check_slurm(args, problems);
  throw_if_any(problems);
  return {read_sweep(args.file), std::move(options)};
}

}  // namespace

void sweep_command(const SweepArguments& args) {
  const Read read = read_arguments(args);
  if (args.slurm) return submit(args, read.spec);
  if (args.plan) {
    const SweepPlan plan =
        plan_sweep(read.spec, Candidates(read.spec), simulate_point, read.options.quiet);
    print(args.format == "json" ? to_json(plan_json(read.spec, plan, read.options.jobs))
                                : plan_text(read.spec, plan, read.options.jobs));
    return;
  }
  do_sweep(args, read.spec, read.options);
}

Json sweep_document(const SweepArguments& args) {
  const Read read = read_arguments(args);
  return plan_json(read.spec, plan_sweep(read.spec, Candidates(read.spec), simulate_point, true),
                   read.options.jobs);
}

void export_command(const ExportArguments& args) {
  std::vector<Problem> problems;
  if (args.csv + args.json + args.point.has_value() != 1) {
    problems.push_back({argument_pos("export", args.db),
                        "expected one of --csv, --json and --point, found none or several", ""});
  }
  throw_if_any(problems);
  const Store store = Store::open(args.db, false);
  if (args.point) return print(run_of_point(store, *args.point));
  if (args.csv) return export_csv(store, print);
  export_json(store, print);
}

void report_command(const ReportArguments& args) {
  const Store store = Store::open(args.db, false);
  std::error_code none;
  if (std::filesystem::equivalent(args.db, args.html, none)) {
    throw ConfigError({{argument_pos("--html", args.html),
                        "expected another file than the database, found the database", ""}});
  }
  write_files({{args.html, sweep_page(store)}});
  print(fmt::format("wrote {}\nnext: open it in a browser\n", args.html));
}

void merge_command(const MergeArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  throw_if_any(problems);
  const Store store = merge_shards(args.into, args.shards);
  print_summary(store, args.format);
  if (store.facts().at("finished") == "1") {
    throw_if_all_invalid(store);
    return throw_if_points_failed(store, "finish the shards (--resume) and merge them again");
  }
  const std::size_t all = points_of(store), open = open_points(store);
  throw CheckFailed(
      fmt::format("not the whole sweep: of its {} {} not done. Finish the shards (--resume) and "
                  "merge them into {}, too",
                  counted(all, "point", "points"), open == 1 ? "1 is" : fmt::format("{} are", open),
                  args.into));
}

}  // namespace shardsim
