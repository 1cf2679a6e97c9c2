#include "sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/program.h"
#include "report/reports.h"
#include "sweep/rows.h"
#include "sweep/run_sweep.h"
#include "sweep/summary.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// `index` is a number, or what a shell puts there.
std::string path_of(const SlurmJob& job, std::string_view index, std::string_view ending) {
  return fmt::format("{}/shard-{}-of-{}.{}", job.folder, index, job.shards, ending);
}

// The body of a task. $SLURM_ARRAY_TASK_ID is the shard.
std::string task_script(const SlurmJob& job, const std::string& program) {
  const std::string jobs =
      job.jobs.empty() ? "\"${SLURM_CPUS_PER_TASK:-1}\"" : shell_word(job.jobs);
  return fmt::format(
      "db={}/shard-$SLURM_ARRAY_TASK_ID-of-{}.db; [ ! -e \"$db\" ] || set -- --resume; "
      "exec {} sweep {} --quiet --jobs {} --shard $SLURM_ARRAY_TASK_ID/{} --db \"$db\" \"$@\"",
      shell_word(job.folder), job.shards, shell_word(program), shell_word(job.file), jobs,
      job.shards);
}

std::string merge_command(const SlurmJob& job) {
  return fmt::format("{} merge {} {}/shard-*-of-{}.db", shell_word(own_path()),
                     shell_word(job.folder + "/sweep.db"), shell_word(job.folder), job.shards);
}

std::string count_text(const char* what, const std::vector<int>& shards) {
  return shards.empty() ? "" : fmt::format(", {} {}", shards.size(), what);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error(
      why +
      "; without Slurm, --shard i/n does every n-th point under any other scheduler, and merge "
      "joins the databases");
}

// What sbatch prints.
std::string run_sbatch(const std::vector<std::string>& words, const std::string& command) {
  ProgramEnd end;
  try {
    end = run_program(words);
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  const std::string output = trimmed(end.output);
  if (end.status == 0) return output;
  fail(fmt::format("{}{}{}\nsbatch ended with status {}: nothing is submitted", command,
                   output.empty() ? "" : "\n", output, end.status));
}

// --parsable: the id, then ";cluster" where there are several; warnings come before.
std::string job_id(const std::string& output, const std::string& command) {
  const std::string last = output.substr(output.rfind('\n') + 1);
  const std::string id = last.substr(0, last.find(';'));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!id.empty() && std::all_of(id.begin(), id.end(), digit)) return id;
  fail(fmt::format("{}{}{}\nsbatch ended with status 0 and told no number of a job", command,
                   output.empty() ? "" : "\n", output));
}

}  // namespace

std::vector<int> ShardStates::open() const {
  std::vector<int> all = missing;
  all.insert(all.end(), unfinished.begin(), unfinished.end());
  all.insert(all.end(), failed.begin(), failed.end());
  std::sort(all.begin(), all.end());
  return all;
}

ShardStates shard_states(const SlurmJob& job, const SweepSpec& spec, const PointList& list) {
  ShardStates states;
  for (int i = 0; i < job.shards; ++i) {
    const std::string path = path_of(job, fmt::format("{}", i), "db");
    if (!fs::exists(path)) {
      states.missing.push_back(i);
      continue;
    }
    const bool running = is_being_written(path);
    const Store store = Store::open(path, false);
    require_same(store, facts_of(spec, list, {i, job.shards}));
    if (running) {
      states.running.push_back(i);
    } else if (store.facts().at("finished") != "1") {
      states.unfinished.push_back(i);
    } else if (points_with(PointStatus::failed, store) > 0) {
      states.failed.push_back(i);
    }
  }
  return states;
}

std::string array_text(const std::vector<int>& shards) {
  std::string text;
  for (std::size_t i = 0; i < shards.size();) {
    std::size_t end = i + 1;
    while (end < shards.size() && shards[end] == shards[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", shards[i]);
    if (end - i > 1) text += fmt::format("-{}", shards[end - 1]);
    i = end;
  }
  return text;
}

std::vector<std::string> sbatch_words(const SlurmJob& job, const std::string& name,
                                      const std::vector<int>& shards, const std::string& program) {
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--array=" + array_text(shards),
                                    "--job-name=" + name,
                                    "--output=" + path_of(job, "%a", "log"),
                                    "--open-mode=append"};
  words.insert(words.end(), job.sbatch.begin(), job.sbatch.end());
  words.push_back("--wrap=" + task_script(job, program));
  return words;
}

Submitted submit_sweep(const SlurmJob& job, const SweepSpec& spec, const PointList& list) {
  if (!is_program("sbatch")) fail("there is no Slurm here: no sbatch on $PATH");
  Submitted done;
  done.states = shard_states(job, spec, list);
  const std::vector<int> open = done.states.open();
  if (open.empty()) return done;
  const std::vector<std::string> words =
      sbatch_words(job, "shardsim " + spec.name, open, own_path());
  done.command = shell_words(words);
  done.id = job_id(run_sbatch(words, done.command), done.command);
  return done;
}

std::string submitted_text(const SlurmJob& job, const Submitted& submitted) {
  const ShardStates& states = submitted.states;
  const auto done =
      static_cast<std::size_t>(job.shards) - states.open().size() - states.running.size();
  std::string text = fmt::format(
      "{} shard{}: {} done{}{}{}{}\n", job.shards, job.shards == 1 ? "" : "s", done,
      count_text("running", states.running), count_text("not begun", states.missing),
      count_text("unfinished", states.unfinished), count_text("with failed points", states.failed));
  if (submitted.id.empty()) {
    text += states.running.empty() ? "nothing to submit\n" : "nothing to submit until those end\n";
  } else {
    text += fmt::format("{}\njob {}, tasks {}\n", submitted.command, submitted.id,
                        array_text(states.open()));
    text += fmt::format("follow:  squeue --job {}; logs: {}\n", submitted.id,
                        shell_word(path_of(job, fmt::format("{}", states.open().front()), "log")));
    text += "the same command again submits what failed or is missing by then\n";
  }
  return text + fmt::format("{}{}\n",
                            submitted.id.empty() && states.running.empty() ? "join them: "
                                                                           : "when it is done: ",
                            merge_command(job));
}

Json submitted_json(const SlurmJob& job, const Submitted& submitted) {
  const auto numbers = [](const std::vector<int>& shards) {
    return Array(shards.begin(), shards.end());
  };
  const ShardStates& states = submitted.states;
  return Object{{"schema", kSchema},
                {"job", submitted.id.empty() ? Json() : Json(submitted.id)},
                {"command", submitted.id.empty() ? Json() : Json(submitted.command)},
                {"shards", job.shards},
                {"submitted", numbers(states.open())},
                {"running", numbers(states.running)},
                {"folder", job.folder},
                {"merge", merge_command(job)}};
}

}  // namespace shardsim
