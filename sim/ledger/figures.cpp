#include "ledger/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "plan/play.h"

namespace shardsim {

namespace {

struct CommandRow {
  std::string_view name;
  bool replays = false;  // and --check plays its plans on sets
};
constexpr std::array kCommands = {
    CommandRow{"collective", true}, CommandRow{"run", true}, CommandRow{"explain"},
    CommandRow{"schedule"},         CommandRow{"list"},      CommandRow{"check"}};

// Options that the ledger chooses, so that every figure is replayed alike.
constexpr std::array<std::string_view, 6> kOwnOptions = {"--out",  "--export", "--format",
                                                         "--full", "--engine", "--check"};

// Everything that goes wrong is said at the figure's command.
struct Place {
  const LedgerFigure& figure;
  std::vector<Problem>& problems;

  std::nullopt_t refuse(std::string message, std::string hint = {}) const {
    const PlacedText& text = figure.command.text;
    problems.push_back({text.at(0, text.text.size()), std::move(message), std::move(hint)});
    return std::nullopt;
  }
};

const CommandRow* command_of(const std::vector<std::string>& words, const Place& place) {
  std::vector<std::string> names;
  for (const CommandRow& row : kCommands) {
    if (!words.empty() && words.front() == row.name) return &row;
    names.emplace_back(row.name);
  }
  const std::string is = words.empty() ? "nothing" : in_quotes(words.front());
  place.refuse(fmt::format("expected a command ({}), found {}", joined_or(names), is),
               words.empty() ? "" : suggestion(words.front(), names));
  return nullptr;
}

bool options_are_ours(const std::vector<std::string>& words, const Place& place) {
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--grain" && !place.figure.folded) {
      place.refuse("expected no --grain in a figure, found one",
                   "every send is replayed, unless there is replay: folded");
      return false;
    }
    if (std::find(kOwnOptions.begin(), kOwnOptions.end(), name) == kOwnOptions.end()) continue;
    place.refuse(fmt::format("expected no {} in a figure, found one", name),
                 "every figure is replayed alike and writes no files");
    return false;
  }
  return true;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Whole numbers at the top of a result; 0: none.
int count_in(const Json& document, std::string_view key) {
  const Json* value = find(document, key);
  const auto* count = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
  return count == nullptr ? 0 : static_cast<int>(*count);
}

std::optional<double> number_in(const Json& document, std::string_view key) {
  const Json* value = find(document, key);
  const auto* number = value == nullptr ? nullptr : std::get_if<double>(&value->data);
  return number == nullptr ? std::nullopt : std::optional<double>(*number);
}

// A collective alone takes its closed form, where that is exact.
void check_closed_form(const Json& document, std::vector<std::string>& failures) {
  const Json* all = find(document, "collectives");
  const Array* list = all == nullptr ? nullptr : std::get_if<Array>(&all->data);
  if (list == nullptr || list->size() != 1) return;
  const Json* exact = find(list->front(), "analytic_exact");
  const bool* is_exact = exact == nullptr ? nullptr : std::get_if<bool>(&exact->data);
  if (is_exact == nullptr || !*is_exact) return;
  const auto time = number_in(list->front(), "time_s");
  const auto form = number_in(list->front(), "analytic_s");
  if (!time || !form || std::fabs(*time - *form) <= kExact * std::fabs(*form)) return;
  failures.push_back(fmt::format("it takes {} s, and its closed form says exactly {} s",
                                 exact_text(*time), exact_text(*form)));
}

}  // namespace

const Outcome& Commands::outcome(const std::vector<std::string>& words) {
  const auto known = known_.find(words);
  if (known != known_.end()) return known->second;
  throw_if_interrupted();
  return known_.emplace(words, execute_(words)).first->second;
}

std::optional<FigureValue> figure_value(const LedgerFigure& figure, const std::string& command,
                                        Replay replay, Commands& commands,
                                        std::vector<Problem>& problems) {
  const Place place{figure, problems};
  std::vector<std::string> words =
      command_words(command, figure.command.text.at(0, figure.command.text.text.size()), problems);
  if (words.empty() && !command.empty() && !trimmed(command).empty()) return std::nullopt;
  const CommandRow* row = command_of(words, place);
  if (row == nullptr || !options_are_ours(words, place)) return std::nullopt;
  FigureValue value{fmt::format("shardsim {}", command), 0, row->replays, false, false, {}};
  const Outcome* result = &commands.outcome(words);
  if (figure.take.of == TakeOf::status) {
    value.value = result->status;
    return value;
  }
  if (result->status != 0) {
    return place.refuse(fmt::format("the command is refused: {}", first_line(result->message)),
                        fmt::format("try: shardsim {}", command));
  }
  check_closed_form(result->document, value.failures);
  const int devices = std::max(count_in(result->document, "cluster_devices"),
                               count_in(result->document, "devices"));
  const bool many = row->replays && devices > kMostReplayedInFull;
  if (many && !figure.folded) {
    return place.refuse(
        fmt::format("expected at most {} devices, which are replayed one by one, found {}",
                    kMostReplayedInFull, devices),
        "replay: folded beside the command replays one device of each class");
  }
  const bool full = row->replays && !many && replay == Replay::full;
  const bool plays = row->replays && replay == Replay::full &&
                     count_in(result->document, "devices") <= kMostPlayed;
  if (full) words.emplace_back("--full");
  if (plays) words.emplace_back("--check");
  if (full || plays) {
    const Outcome& again = commands.outcome(words);
    if (again.status == 0) {
      result = &again;
      value.full = full;
      value.played = plays;
      if (full) check_closed_form(again.document, value.failures);
    } else if (again.status == 3) {
      value.failures.push_back(first_line(again.message));
    } else {
      return place.refuse(fmt::format("the command is refused: {}", first_line(again.message)));
    }
  }
  const std::optional<double> taken = take_from(result->document, figure.take, problems);
  if (!taken) return std::nullopt;
  value.value = *taken;
  return value;
}

}  // namespace shardsim
