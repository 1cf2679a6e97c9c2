// The formula ledger: statements about sharding, each with a formula, the figures of this program
// that it is held against, and what came of it. A file of rows:
//
//   rows:
//     - id: ring-gather
//       statement: An all-gather on a ring takes V/W.
//       source: "JAX Scaling Book, ch. 3"
//       where: {V: 64 MiB, W1: 100 GB/s}
//       figures:
//         t: {command: "collective all-gather --topology ring:{N} --bandwidth '{W1} B/s' …", take:
//         time_s}
//       simulated: t
//       claim: V/(2*W1)
//       within: 5 %
//       exact: (N-1)/N * V/(2*W1)
//       verdict: imprecise
//       instead: It takes (N-1)/N * V/W.
//       points: [{where: {N: 8}}, {where: {N: 64}}]
//
// In `where`, what is unquoted is a quantity (in bytes, B/s, s, FLOP/s) or a formula, what is
// quoted a text. {name} or {formula} in a command or text is replaced by the value; {{ and }} are
// braces. README.md, "Is this formula right?", has every key.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/problem.h"
#include "ledger/select.h"
#include "ledger/template.h"

namespace shardsim {

enum class Verdict : std::uint8_t { holds, holds_if, imprecise, wrong };
inline constexpr std::array kVerdicts = {Verdict::holds, Verdict::holds_if, Verdict::imprecise,
                                         Verdict::wrong};
std::string_view to_text(Verdict);  // "holds if"

// A name of `where`: a number or a text.
struct LedgerVariable {
  std::string name;
  SourcePos pos;  // of the name
  std::optional<Formula> number;
  Template text;  // without `number`
};

// A command of the program, and the number that is taken of its result.
struct LedgerFigure {
  std::string name;
  SourcePos pos;  // of the name
  Template command;
  Take take;
  bool folded = false;  // `replay: folded`: may have too many devices to replay each
};

// What a row says for all of its points, and each point for itself.
struct LedgerSettings {
  std::vector<LedgerVariable> where;
  std::vector<LedgerFigure> figures;
  std::optional<Formula> simulated, claim, condition, exact, book;
  std::optional<double> within, exact_within, book_within;  // relative
  std::string unit, differs, note;
};

struct LedgerPoint {
  std::string name;
  SourcePos pos;
  LedgerSettings own;  // without those of the row
};

enum class RowStatus : std::uint8_t { simulated, not_yet, not_simulated, repeat };

struct LedgerRow {
  std::string id, group, statement, source;
  SourcePos pos;  // of the id
  RowStatus status = RowStatus::simulated;
  std::string why;      // not yet, not simulated
  std::string same_as;  // repeat: the id of another row
  SourcePos same_as_pos;
  Verdict verdict = Verdict::holds;  // as recorded
  std::string condition_words;       // `if`
  std::string instead;
  LedgerSettings common;
  std::vector<LedgerPoint> points;  // simulated: at least one
};

// Of one row, so that no file makes more than it holds.
inline constexpr std::size_t kMostNames = 100;  // of `where`, of `figures`
inline constexpr std::size_t kMostPoints = 1000;

// Relative tolerances where none is written.
inline constexpr double kExact = 1e-9;
inline constexpr double kBook = 0.01;

// The rows of a file, after those of the files before it in `rows`. Appends every problem.
void read_rows(const std::string& path, std::vector<LedgerRow>& rows,
               std::vector<Problem>& problems);

// What holds at a point: its own settings over the row's.
LedgerSettings settings_of(const LedgerRow& row, const LedgerPoint& point);

// What needs all rows: ids are unique, same_as leads to another row and in no circle.
void check_rows(const std::vector<LedgerRow>& rows, std::vector<Problem>& problems);

// The row that a repeat leads to, or the row itself. REQUIRES: checked rows.
const LedgerRow& meant(const LedgerRow& row, const std::vector<LedgerRow>& rows);

}  // namespace shardsim
