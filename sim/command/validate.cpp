#include "command/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check_failed.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/command_line.h"
#include "ledger/regime.h"
#include "ledger/report.h"
#include "replay/engine_process.h"
#include "spec/library.h"

namespace shardsim {

namespace {

namespace fs = std::filesystem;

// Files of the source tree are found from any directory.
std::string found_file(const std::string& word) {
  std::error_code none;
  if (!is_path(word) || fs::exists(word, none)) return word;
  const fs::path inside = fs::path(data_dir()) / word;
  return fs::exists(inside, none) ? inside.string() : word;
}

}  // namespace

Outcome execute_command(std::vector<std::string> words) {
  for (std::string& word : words) word = found_file(word);
  try {
    return {0, command_document(words), ""};
  } catch (const ConfigError& error) {
    return {2, nullptr, error.what()};
  } catch (const UsageError& error) {
    return {2, nullptr, error.what()};
  } catch (const CheckFailed& error) {
    return {3, nullptr, error.what()};
  }
}

namespace {

// Options that say nothing beside --list or --regime.
void refuse_together(const ValidateArguments& args, std::vector<Problem>& problems) {
  const auto refuse = [&](const char* option, const std::string& text, const char* beside) {
    problems.push_back({argument_pos(option, text),
                        fmt::format("expected no {} with {}, found one", option, beside), ""});
  };
  if (args.list && args.regime) refuse("--list", "--list", "--regime");
  if (args.list && args.out) refuse("--out", *args.out, "--list");
  if (args.regime && args.only) refuse("--only", *args.only, "--regime");
  if (args.regime && args.rows) refuse("--rows", *args.rows, "--regime");
  if (args.regime && args.format == "json") refuse("--format", args.format, "--regime");
}

std::vector<LedgerRow> read_ledger(const ValidateArguments& args) {
  std::vector<Problem> problems;
  std::vector<LedgerRow> rows;
  constexpr Library kLedger{"ledger", "configs/ledger", "rows", ""};
  for (const std::string& name : names_in(kLedger)) {
    read_rows((fs::path(data_dir()) / kLedger.folder / (name + ".yaml")).string(), rows, problems);
  }
  if (args.rows) read_rows(*args.rows, rows, problems);
  check_rows(rows, problems);
  throw_if_any(problems);
  return rows;
}

// Whether --only (or nothing) asks for each row.
std::vector<bool> chosen_rows(const ValidateArguments& args, const std::vector<LedgerRow>& rows) {
  std::vector<bool> chosen(rows.size(), !args.only);
  if (!args.only) return chosen;
  std::vector<Problem> problems;
  std::vector<std::string> ids;
  for (const LedgerRow& row : rows) ids.push_back(row.id);
  const SourcePos pos = argument_pos("--only", *args.only);
  for (std::size_t from = 0; from <= args.only->size();) {
    const std::size_t comma = std::min(args.only->find(',', from), args.only->size());
    const std::string id(trimmed(std::string_view(*args.only).substr(from, comma - from)));
    const auto at = std::find(ids.begin(), ids.end(), id);
    if (at == ids.end()) {
      problems.push_back(
          {pos.at(static_cast<int>(from), std::max(1, static_cast<int>(comma - from))),
           fmt::format("expected the id of a row, found {}", in_quotes(id)), suggestion(id, ids)});
    } else {
      chosen[static_cast<std::size_t>(at - ids.begin())] = true;
    }
    from = comma + 1;
  }
  throw_if_any(problems);
  return chosen;
}

LedgerResult evaluate_rows(const std::vector<LedgerRow>& rows, const std::vector<bool>& chosen,
                           Commands& commands) {
  std::vector<Problem> problems;
  LedgerResult result;
  Progress progress("rows judged",
                    static_cast<std::uint64_t>(std::count(chosen.begin(), chosen.end(), true)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!chosen[i]) continue;
    progress.at(result.rows.size());
    const LedgerRow& what = meant(rows[i], rows);
    RowResult row;
    if (what.status == RowStatus::simulated) {
      const std::optional<RowResult> judged = judge(what, commands, problems);
      if (!judged) continue;  // its problems are told below
      row = *judged;
    }
    row.row = &rows[i];
    result.rows.push_back(std::move(row));
  }
  throw_if_any(problems);
  result.commands = commands.executed();
  return result;
}

void map_regime(const ValidateArguments& args) {
  Commands commands(execute_command);
  const std::vector<RegimePoint> points = regime(commands);
  if (args.out) write_files(regime_files(points, *args.out));
  print(regime_map(points));
}

void judge_rows(const ValidateArguments& args, const std::vector<LedgerRow>& rows,
                const std::vector<bool>& chosen) {
  Commands commands(execute_command);
  const LedgerResult result = evaluate_rows(rows, chosen, commands);
  if (args.out) {
    std::vector<OutputFile> files = ledger_files(result, *args.out);
    if (!args.only) {  // the map is of everything
      for (OutputFile& file : regime_files(regime(commands), *args.out)) {
        files.push_back(std::move(file));
      }
    }
    write_files(files);
  }
  print(args.format == "json" ? to_json(ledger_json(result))
        : args.only           ? ledger_details(result)
                              : ledger_summary(result));
  if (const int failed = failed_rows(result); failed > 0) {
    throw CheckFailed(fmt::format("{} row{} of the ledger failed", failed, failed == 1 ? "" : "s"));
  }
}

void validate(const ValidateArguments& args) {
  if (args.quiet) show_no_progress();
  std::vector<Problem> problems;
  require_format(args.format, problems);
  refuse_together(args, problems);
  throw_if_any(problems);
  if (args.out) require_writable_directory(*args.out);
  if (args.regime) return map_regime(args);
  const std::vector<LedgerRow> rows = read_ledger(args);
  const std::vector<bool> chosen = chosen_rows(args, rows);
  if (args.list) {
    std::vector<LedgerRow> listed;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (chosen[i]) listed.push_back(rows[i]);
    }
    print(args.format == "json" ? to_json(ledger_list_json(listed)) : ledger_list(listed));
    return;
  }
  judge_rows(args, rows, chosen);
}

}  // namespace

void validate_command(const ValidateArguments& args) {
  with_engine_ready([&] { validate(args); });
}

}  // namespace shardsim
