#include "command/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/problem.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/schedule_costs.h"
#include "command/terminal.h"
#include "plan/lower_schedule.h"
#include "plan/schedule_file.h"
#include "plan/schedules.h"
#include "report/page.h"
#include "report/page_comparison.h"
#include "report/picture_svg.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

constexpr std::string_view kFilePrefix = "file:";
constexpr int kMostRanks = 4096;
constexpr int kMostMicrobatches = 1'000'000;
constexpr double kMostWorks = 6e6;

// One kind as asked for: a row of the table, or a file.
struct Wanted {
  std::string name;
  const ScheduleRow* row = nullptr;  // nullptr: a file

  SourcePos pos() const { return argument_pos("schedule", name); }
  // The range of chunks that it takes, and the one without --chunks.
  bool takes(int chunks) const {
    return row != nullptr && row->fewest_chunks <= chunks && chunks <= row->most_chunks;
  }
  bool free_chunks() const { return row != nullptr && row->fewest_chunks < row->most_chunks; }
};

std::vector<Wanted> wanted_kinds(const ScheduleArguments& args, std::vector<Problem>& problems) {
  std::vector<Wanted> wanted;
  if (args.kinds.empty()) {
    SourcePos whole = argument_pos("schedule", "");
    whole.line = 0;  // there is nothing to point at
    problems.push_back(
        {whole, "expected a schedule or file:PATH, found none", "see: shardsim list schedules"});
  }
  for (auto name_at = args.kinds.begin(); name_at != args.kinds.end(); ++name_at) {
    const std::string& name = *name_at;
    if (std::find(args.kinds.begin(), name_at, name) != name_at) {
      problems.push_back({argument_pos("schedule", name), in_quotes(name) + " is named twice", ""});
      continue;
    }
    if (name.starts_with(kFilePrefix)) {
      wanted.push_back({name, nullptr});
      continue;
    }
    const ScheduleRow* row = find_schedule(name);
    if (row == nullptr) {
      std::vector<std::string> names;
      for (const ScheduleRow& one : schedules()) {
        names.emplace_back(one.name);
        names.insert(names.end(), one.aliases.begin(), one.aliases.end());
      }
      const std::string close = nearest(name, names);
      problems.push_back(
          {argument_pos("schedule", name),
           fmt::format("expected a schedule or file:PATH, found {}", in_quotes(name)),
           close.empty() ? "see: shardsim list schedules"
                         : fmt::format("did you mean \"{}\"?", close)});
      continue;
    }
    wanted.push_back({std::string(row->name), row});
  }
  return wanted;
}

bool any(const std::vector<Wanted>& wanted, bool (*has)(const Wanted&)) {
  return std::any_of(wanted.begin(), wanted.end(), has);
}

// Options that none of the kinds takes are refused.
void check_taken(const ScheduleArguments& args, const std::vector<Wanted>& wanted,
                 std::vector<Problem>& problems) {
  const auto refuse = [&](const char* option, const std::optional<std::string>& given,
                          const char* with, bool taken) {
    if (given && !taken)
      problems.push_back({argument_pos(option, *given),
                          fmt::format("expected {} with {} only, found none", option, with), ""});
  };
  refuse("--group", args.group, "interleaved-1f1b or interleaved-1f1b-moe-overlap",
         any(wanted, [](const Wanted& one) { return one.row != nullptr && one.row->groups; }));
  refuse("--memory-limit", args.memory_limit, "a schedule that is searched for",
         any(wanted, [](const Wanted& one) { return one.row != nullptr && one.row->searched; }));
}

void check_chunks(const ScheduleArguments& args, std::optional<int> chunks,
                  const std::vector<Wanted>& wanted, std::vector<Problem>& problems) {
  if (!chunks || *chunks < 1) return;  // said
  const SourcePos pos = argument_pos("--chunks", *args.chunks);
  bool taken = false;
  for (const Wanted& one : wanted) {
    taken = taken || one.takes(*chunks);
    if (one.takes(*chunks) || !one.free_chunks()) continue;
    problems.push_back({pos,
                        fmt::format("expected at least {} chunks per rank with {}, found {}",
                                    one.row->fewest_chunks, one.name, *chunks),
                        ""});
    taken = true;  // said
  }
  if (taken) return;
  const Wanted& first = wanted.front();
  problems.push_back(
      {pos,
       first.row == nullptr
           ? "expected no --chunks with a file, found one"
           : fmt::format("expected {} per rank with {}, found {}",
                         counted(first.row->fewest_chunks, "chunk", "chunks"), first.name, *chunks),
       "interleaved-1f1b takes any number of chunks"});
}

P2pMode mode_named(const std::string& name, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const P2pMode mode : p2p_modes()) {
    if (to_text(mode) == name) return mode;
    names.emplace_back(to_text(mode));
  }
  problems.push_back({argument_pos("--p2p-mode", name),
                      fmt::format("expected a mode of p2p, found {}", in_quotes(name)),
                      suggestion(name, names)});
  return P2pMode::async;
}

double memory_limit_of(const ScheduleArguments& args, std::vector<Problem>& problems) {
  if (!args.memory_limit) return 0;
  const SourcePos pos = argument_pos("--memory-limit", *args.memory_limit);
  const Parsed<double> parsed = parse_factor(*args.memory_limit, 0, 1e6);
  if (!parsed) {
    problems.push_back({pos, parsed.error, "counted in micro-batches on one stage"});
  } else if (parsed.value < 1) {
    problems.push_back(
        {pos, fmt::format("expected room for at least 1 micro-batch, found {}", *args.memory_limit),
         "counted in micro-batches on one stage"});
  }
  return parsed.value;
}

void check_transfers(const Wanted& one, const Schedule& schedule, P2pMode mode,
                     std::vector<Problem>& problems) {
  if (mode != P2pMode::blocking) return;
  if (one.row == nullptr ? schedule.has_groups() || schedule.ranks() == 1 : one.row->posts) return;
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedules())
    if (row.posts) names.emplace_back(row.name);
  problems.push_back(
      {one.pos(),
       fmt::format("expected a schedule with groups of transfers for blocking p2p, found {}",
                   one.name),
       fmt::format("known of {}, and written in files as [>1f,<1b]", joined_or(names))});
}

Schedule schedule_of_file(const Wanted& one, const ScheduleAsk& ask, const ScheduleArguments& args,
                          std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  Schedule schedule = read_schedule_file(one.name.substr(kFilePrefix.size()), problems);
  if (problems.size() != before) return schedule;
  const auto compare = [&](const char* option, const std::optional<std::string>& given, int said,
                           int is) {
    if (given && said != is)
      problems.push_back({argument_pos(option, *given),
                          fmt::format("expected {} as in {}, found {}", is, one.name, said), ""});
  };
  compare("--stages", args.stages, ask.ranks, schedule.ranks());
  compare("--microbatches", args.microbatches, ask.microbatches, schedule.microbatches);
  return schedule;
}

Schedule schedule_of_row(const Wanted& one, const ScheduleAsk& ask,
                         std::vector<Problem>& problems) {
  const double works = 3.0 * ask.ranks * ask.microbatches * ask.chunks;
  if (works > kMostWorks) {
    problems.push_back({one.pos(),
                        fmt::format("expected at most {:.0f} forwards and halves of backwards, "
                                    "found {:.0f} (3 * stages * micro-batches * chunks)",
                                    kMostWorks, works),
                        ""});
    return {};
  }
  const std::string why = one.row->why_not(ask);
  if (!why.empty()) {
    problems.push_back({one.pos(), fmt::format("{}: {}", one.name, why), ""});
    return {};
  }
  return one.row->generate(ask);
}

bool overlaps(const Schedule& schedule) {
  return std::any_of(schedule.programs.begin(), schedule.programs.end(), [](const auto& program) {
    return std::any_of(program.cells.begin(), program.cells.end(),
                       [](const Cell& cell) { return cell.overlapped(); });
  });
}

// Everything that was read, and what all kinds have in common.
struct Reading {
  std::vector<Wanted> wanted;
  ScheduleAsk ask;
  std::optional<int> chunks;
  StatedCosts costs;
  std::vector<std::string> assumptions;
};

Reading read_arguments(const ScheduleArguments& args) {
  std::vector<Problem> problems;
  Reading read;
  require_format(args.format, problems);
  read.wanted = wanted_kinds(args, problems);
  throw_if_any(problems);
  read.ask.ranks = count_of("--stages", args.stages, kMostRanks, problems).value_or(1);
  read.ask.microbatches =
      count_of("--microbatches", args.microbatches, kMostMicrobatches, problems).value_or(1);
  read.chunks = count_of("--chunks", args.chunks, kMostRanks, problems);
  read.ask.group = count_of("--group", args.group, kMostMicrobatches, problems).value_or(0);
  read.ask.memory_limit = memory_limit_of(args, problems);
  read.ask.mode = mode_named(args.p2p_mode, problems);
  const bool generated = any(read.wanted, [](const Wanted& one) { return one.row != nullptr; });
  for (const auto& [option, given] :
       {std::pair("--stages", &args.stages), {"--microbatches", &args.microbatches}}) {
    if (generated && !*given)
      problems.push_back({read.wanted.front().pos(), fmt::format("expected {}, found none", option),
                          fmt::format("for example {} 8", option)});
  }
  check_taken(args, read.wanted, problems);
  check_chunks(args, read.chunks, read.wanted, problems);
  read.costs = stated_costs(args, read.assumptions, problems);
  if (args.export_file && read.wanted.size() > 1) {
    problems.push_back(
        {argument_pos("--export", *args.export_file),
         fmt::format("expected one schedule to export, found {}", read.wanted.size()), ""});
  }
  if (args.html && read.wanted.size() > kMostCompared) {
    problems.push_back({argument_pos("--html", *args.html),
                        fmt::format("expected at most {} schedules on a page, found {}",
                                    kMostCompared, read.wanted.size()),
                        ""});
  }
  throw_if_any(problems);
  return read;
}

// One schedule on a page of its own, several on one time axis.
std::string page_of(const ScheduleComparison& comparison, const std::string& command) {
  PageData data{comparison.runs.size() == 1 ? "timeline" : "compare", "", command, {}};
  std::vector<std::string> names;
  for (const ScheduleRun& run : comparison.runs) {
    names.push_back(run.kind);
    Object summary = schedule_object(run, comparison.p2p_mode);
    summary.emplace_back("assumptions", comparison.assumptions);
    data.runs.push_back(page_run(run, std::move(summary), command));
  }
  const Schedule& first = comparison.runs.front().schedule;
  data.title = fmt::format("{}: {} ranks, {} micro-batches", fmt::join(names, " beside "),
                           first.ranks(), first.microbatches);
  return timeline_page(data);
}

// Costs are of one cell; with unlike chunks that compares unlike models.
void check_comparable(const ScheduleArguments& args, const std::vector<ScheduleRun>& runs,
                      std::vector<Problem>& problems) {
  if (args.cost_per) return;
  for (const ScheduleRun& run : runs) {
    if (run.schedule.chunks == runs.front().schedule.chunks) continue;
    problems.push_back(
        {argument_pos("schedule", run.kind),
         fmt::format("expected --cost-per beside schedules with {} and {} chunks per rank, found "
                     "none",
                     runs.front().schedule.chunks, run.schedule.chunks),
         "--cost-per stage: what the chunks of a rank cost together; op: each costs that much"});
    return;
  }
}

ScheduleRun make_run(const Wanted& one, const Reading& read, const ScheduleArguments& args,
                     std::vector<Problem>& problems) {
  ScheduleRun run;
  run.kind = one.name;
  ScheduleAsk ask = read.ask;
  if (one.row != nullptr) {
    ask.chunks = one.free_chunks() ? read.chunks.value_or(std::max(2, one.row->fewest_chunks))
                                   : one.row->fewest_chunks;
    ask.costs = read.costs.of_cell(ask.chunks);
    run.schedule = schedule_of_row(one, ask, problems);
    run.schedule.name = one.name;
  } else {
    run.schedule = schedule_of_file(one, ask, args, problems);
    ask.costs = read.costs.of_cell(run.schedule.chunks);
  }
  check_transfers(one, run.schedule, read.ask.mode, problems);
  run.costs = ask.costs;
  if (one.row != nullptr) run.forms = one.row->closed_forms(ask);
  return run;
}

void say_assumptions(const Reading& read, const std::vector<ScheduleRun>& runs,
                     std::vector<std::string>& said) {
  const bool chunked = std::any_of(runs.begin(), runs.end(),
                                   [](const ScheduleRun& run) { return run.schedule.chunks > 1; });
  if (chunked) {
    said.push_back(read.costs.per_stage
                       ? "costs are of all chunks of a rank together; a cell of one of v chunks "
                         "takes 1/v of them, a transfer as long as ever"
                       : "costs are of one cell, that is of one chunk of a rank");
  }
  const bool timeless = std::any_of(runs.begin(), runs.end(), [](const ScheduleRun& run) {
    return run.metrics.makespan == Seconds{0};
  });
  if (timeless)
    said.push_back("a bubble is a share of the time, and there is none: no cost is given");
  const bool overlapped = std::any_of(
      runs.begin(), runs.end(), [](const ScheduleRun& run) { return overlaps(run.schedule); });
  if (overlapped && !read.costs.overlap_given) {
    said.push_back(
        "an overlapped cell takes F + B: nothing is won by overlapping; --overlapped "
        "states what it takes");
  }
  constexpr std::string_view kModes[] = {
      "transfers between ranks take the p2p time and hold up nothing but the cell that waits for "
      "them; any number at a time (async)",
      "transfers from one rank to another take the p2p time each, one after the other (serial)",
      "a rank stops for its transfers; one starts when both ranks have come to it (blocking)"};
  said.emplace_back(kModes[static_cast<std::size_t>(read.ask.mode)]);
  said.push_back(
      "all ranks compute alike; the optimizer, collectives inside a stage and the time "
      "to launch work are not modelled");
}

// Reads, replays and measures; writes the files that were asked for.
ScheduleComparison compare(const ScheduleArguments& args) {
  Reading read = read_arguments(args);
  std::vector<Problem> problems;
  ScheduleComparison comparison;
  comparison.p2p_mode = std::string(to_text(read.ask.mode));
  for (const Wanted& one : read.wanted)
    comparison.runs.push_back(make_run(one, read, args, problems));
  throw_if_any(problems);
  check_comparable(args, comparison.runs, problems);
  if (args.overlapped &&
      std::none_of(comparison.runs.begin(), comparison.runs.end(),
                   [](const ScheduleRun& run) { return overlaps(run.schedule); })) {
    problems.push_back({argument_pos("--overlapped", *args.overlapped),
                        "expected --overlapped with a schedule that overlaps forwards and "
                        "backwards only, found none",
                        "dualpipe, dualpipev and interleaved-1f1b-moe-overlap do"});
  }
  throw_if_any(problems);
  if (args.out) require_writable_directory(*args.out);
  for (ScheduleRun& run : comparison.runs) {
    run.graph = lower_schedule(run.schedule, run.costs, read.ask.mode);
    run.timeline = replay_ideal(run.graph);
    run.metrics = measure_schedule(run.schedule, run.graph, run.timeline);
  }
  comparison.assumptions = std::move(read.assumptions);
  say_assumptions(read, comparison.runs, comparison.assumptions);
  std::vector<OutputFile> files;
  if (args.export_file)
    files.push_back({*args.export_file, schedule_file_text(comparison.runs.front().schedule)});
  if (args.out) files.push_back({*args.out + "/trace.json", schedule_trace(comparison)});
  if (args.html) files.push_back({*args.html, page_of(comparison, args.command)});
  if (args.svg) files.push_back({*args.svg, picture_svg(picture_of(comparison))});
  write_files(files);
  return comparison;
}

}  // namespace

void schedule_command(const ScheduleArguments& args) {
  const ScheduleComparison comparison = compare(args);
  print(args.format == "json" ? to_json(schedule_json(comparison))
                              : schedule_text(comparison, look_of_output()));
}

Json schedule_document(const ScheduleArguments& args) {
  return schedule_json(compare(args));
}

}  // namespace shardsim
