// The commands of a ledger, executed: each different one once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ledger/rows.h"
#include "report/json.h"

namespace shardsim {

// What a command came to.
struct Outcome {
  int status = 0;  // 0 done, 2 refused, 3 a check failed
  Json document;
  std::string message;  // of a status that is not 0
};

using Execute = std::function<Outcome(const std::vector<std::string>& words)>;

// Remembers outcomes, so that rows may share commands.
class Commands {
 public:
  explicit Commands(Execute execute) : execute_(std::move(execute)) {}

  const Outcome& outcome(const std::vector<std::string>& words);
  std::size_t executed() const { return known_.size(); }

 private:
  Execute execute_;
  std::map<std::vector<std::string>, Outcome> known_;
};

// D7: more devices are replayed folded only.
inline constexpr int kMostReplayedInFull = 64;

// How often a collective or run is replayed: every device, one of each class, or both.
enum class Replay : std::uint8_t { folded, full };

// One figure under one replay.
struct FigureValue {
  std::string command;  // as a person types it
  double value = 0;
  bool replayed = false;              // a collective or a run
  bool full = false;                  // replayed in full, where asked for
  bool played = false;                // the plan was played on sets
  std::vector<std::string> failures;  // what is wrong with the program, as clauses
};

// Nothing, after appending why at the place in the figure: no command of the ledger, an option that
// the ledger sets itself, refused by the program, more than 64 devices without `replay: folded`,
// nothing to take.
std::optional<FigureValue> figure_value(const LedgerFigure& figure, const std::string& command,
                                        Replay replay, Commands& commands,
                                        std::vector<Problem>& problems);

}  // namespace shardsim
