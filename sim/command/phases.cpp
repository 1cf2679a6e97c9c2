#include "command/phases.h"

#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/problem.h"
#include "command/arguments.h"
#include "plan/phase_list.h"
#include "replay/replay.h"
#include "report/phase_run.h"

namespace shardsim {
namespace {

PhaseRun replayed(const PhaseArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const std::vector<Phase> phases = read_phases(args.file, problems);
  throw_if_any(problems);
  PhaseRun run;
  run.name = std::filesystem::path(args.file).stem().string();
  run.graph = lower_phases(phases);
  run.timeline = replay_ideal(run.graph);  // without transfers both engines are exact
  return run;
}

}  // namespace

void phases_command(const PhaseArguments& args) {
  if (!args.out.empty()) require_writable_directory(args.out);
  const PhaseRun run = replayed(args);
  const std::string file = args.out + "/trace.json";
  if (!args.out.empty()) write_files({{file, phase_trace(run)}});
  if (args.format == "json") return print(to_json(phase_json(run)));
  print(phase_text(run) + (args.out.empty() ? "" : "\nwrote " + file + "\n"));
}

Json phases_document(const PhaseArguments& args) {
  return phase_json(replayed(args));
}

}  // namespace shardsim
