// Evaluates the rows of a ledger: every point, the verdict that they come to, and what is not as it
// must be.
//
// At a point the claim is true when |simulated - claim| <= within * |claim|. Without a condition a
// row holds when it is true at all points, is wrong when at none, and imprecise when at some. With
// a condition it holds if: true at every point where the condition is, and false at every other,
// both kinds being there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ledger/figures.h"
#include "ledger/rows.h"

namespace shardsim {

struct FigureResult {
  std::string name;
  FigureValue is;
  std::optional<double> folded;  // beside a full replay
};

struct JudgedPoint {
  std::string name;  // as written, or its variables
  std::string unit;
  std::vector<FigureResult> figures;
  double simulated = 0, claim = 0, within = kExact;
  bool holds = false;
  std::optional<bool> condition;
  std::optional<double> exact, book;
  double exact_within = kExact;
  std::string differs, note;
  std::vector<std::string> failures;
};

struct RowResult {
  const LedgerRow* row = nullptr;
  std::optional<Verdict> verdict;  // of simulated rows, and of repeats of such
  std::string misleads;            // where the condition does not say when the claim holds
  std::vector<JudgedPoint> points;
  std::vector<std::string> failures;  // with those of its points
};

// A row that is simulated. Nothing when a formula or figure has no value; the reasons are appended.
std::optional<RowResult> judge(const LedgerRow& row, Commands& commands,
                               std::vector<Problem>& problems);

// |a - b| relative to b; of b = 0, 0 or infinite.
double off_by(double a, double b);

}  // namespace shardsim
