// The proof that the ledger proves something: with any algorithm's closed form 1 % off, one of its
// sends lost or one made twice, a row fails; and so it does with any of its formulas 1 % off.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "../support/mutate_plan.h"
#include "base/problem.h"
#include "command/validate.h"
#include "ledger/judge.h"
#include "plan/algorithm_override.h"

namespace shardsim {
namespace {

std::vector<LedgerRow> ledger() {
  std::vector<std::string> paths = {SHARDSIM_SOURCE_DIR "/tests/ledger/good.yaml",
                                    SHARDSIM_SOURCE_DIR "/tests/ledger/algorithms.yaml"};
  std::error_code none;
  const std::filesystem::path folder = SHARDSIM_SOURCE_DIR "/configs/ledger";
  for (std::filesystem::directory_iterator at(folder, none), end; at != end; at.increment(none)) {
    paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<LedgerRow> rows;
  std::vector<Problem> problems;
  for (const std::string& path : paths) read_rows(path, rows, problems);
  check_rows(rows, problems);
  for (const Problem& problem : problems) FAIL(format(problem));
  std::erase_if(rows, [](const LedgerRow& row) { return row.status != RowStatus::simulated; });
  return rows;
}

RowResult judged(const LedgerRow& row, Commands& commands) {
  std::vector<Problem> problems;
  std::optional<RowResult> result = judge(row, commands, problems);
  for (const Problem& problem : problems) FAIL_CHECK(format(problem));
  return result.value_or(RowResult{});
}

// Algorithms that the row's commands ask for by name; a run may have permutations.
std::set<std::string> algorithms_of(const RowResult& row) {
  std::set<std::string> names;
  for (const JudgedPoint& point : row.points) {
    for (const FigureResult& figure : point.figures) {
      std::vector<Problem> problems;
      const std::vector<std::string> words = command_words(figure.is.command, {}, problems);
      if (words.at(1) == "run") names.insert("permutation");
      const auto option = std::find(words.begin(), words.end(), "--algorithm");
      if (option != words.end() && option + 1 != words.end()) names.insert(option[1]);
    }
  }
  return names;
}

AlgorithmRow original;  // what the wrong rows below are made of

ClosedForm form_off(const CollectiveAsk& ask, const GroupNet& net) {
  ClosedForm form = original.closed_form(ask, net);
  form.time = form.time * 1.01;
  return form;
}

// The plan of all ranks, changed at its middle send.
template <CollectivePlan (*Change)(const CollectivePlan&, std::size_t)>
CollectivePlan changed(const CollectiveAsk& ask, const GroupNet& net,
                       const std::vector<int>& fold) {
  const CollectivePlan plan = original.plan(ask, net, fold);
  if (fold != net.sizes() || plan.sends.empty()) return plan;
  std::size_t at = plan.sends.size() / 2;
  while (plan.sends[at].is_join()) at = (at + 1) % plan.sends.size();
  return Change(plan, at);
}

struct Mutation {
  const char* name;
  void (*apply)(AlgorithmRow&);
};
const Mutation kMutations[] = {
    {"closed form 1 % off", [](AlgorithmRow& row) { row.closed_form = form_off; }},
    {"a send lost", [](AlgorithmRow& row) { row.plan = changed<testing::drop_send>; }},
    {"a send made twice", [](AlgorithmRow& row) { row.plan = changed<testing::double_send>; }},
};

TEST_CASE("ledger: a wrong algorithm makes a row fail") {
  const std::vector<LedgerRow> rows = ledger();
  Commands right(execute_command);
  std::vector<std::set<std::string>> uses;  // [rows]
  for (const LedgerRow& row : rows) {
    const RowResult result = judged(row, right);
    CAPTURE(row.id);
    for (const std::string& failure : result.failures) FAIL_CHECK(failure);
    uses.push_back(algorithms_of(result));
  }
  std::size_t caught = 0;
  for (const AlgorithmRow& row : algorithms()) {
    original = row;
    for (const Mutation& mutation : kMutations) {
      const std::string name(original.name);
      CAPTURE(name);
      CAPTURE(mutation.name);
      // News of arrivals, and shards of a root, may come twice.
      const bool again = name == "dissemination" || name == "scatter-gather";
      if (again && &mutation == &kMutations[2]) continue;
      AlgorithmRow wrong = original;
      mutation.apply(wrong);
      const AlgorithmOverride in_place(wrong);
      Commands commands(execute_command);
      bool failed = false;
      for (std::size_t i = 0; i < rows.size() && !failed; ++i) {
        if (!uses[i].contains(name)) continue;
        failed = !judged(rows[i], commands).failures.empty();
      }
      CHECK(failed);
      ++caught;
    }
  }
  CHECK(caught > 50);
}

// The formula times a factor; one whose value is 0, plus 1.
Formula off(const Formula& formula, double value, double factor) {
  std::vector<Problem> problems;
  Formula made = formula;
  if (formula.steps.size() == 1 && formula.steps[0].kind == FormulaStep::Kind::number) {
    made.steps[0].number = value == 0 ? 1 : value * factor;  // it may be a quantity
    return made;
  }
  const std::string text = value == 0 ? "(" + formula.text.text + ") + 1"
                                      : "(" + formula.text.text + ") * " + exact_text(factor);
  const auto parsed = parse_formula({text, formula.text.pos, false}, problems);
  REQUIRE(parsed.has_value());
  return *parsed;
}

TEST_CASE("ledger: a wrong formula makes its row fail") {
  const std::vector<LedgerRow> rows = ledger();
  Commands commands(execute_command);
  std::size_t exact = 0, claims = 0;
  for (const LedgerRow& row : rows) {
    CAPTURE(row.id);
    const RowResult right = judged(row, commands);
    for (std::size_t i = 0; i < row.points.size() && i < right.points.size(); ++i) {
      CAPTURE(right.points[i].name);
      const JudgedPoint& point = right.points[i];
      const LedgerSettings is = settings_of(row, row.points[i]);
      if (point.exact) {
        LedgerRow wrong = row;
        const double factor = 1.01 * (1 + point.exact_within) / (1 - point.exact_within);
        wrong.points[i].own.exact = off(*is.exact, *point.exact, factor);
        CHECK(!judged(wrong, commands).failures.empty());
        ++exact;
      }
      // A claim that is true is true no more, beyond its tolerance, and its row has another verdict
      // where all such claims must be true.
      if (!point.holds || point.within >= 1) continue;
      LedgerRow wrong = row;
      const double factor = 1.01 * (1 + point.within) / (1 - point.within);
      wrong.points[i].own.claim = off(*is.claim, point.claim, factor);
      const RowResult result = judged(wrong, commands);
      CHECK(!result.points.at(i).holds);
      const bool all = row.verdict == Verdict::holds || row.verdict == Verdict::holds_if;
      if (all) CHECK(!result.failures.empty());
      ++claims;
    }
  }
  CHECK(exact > 5);
  CHECK(claims > 25);
}

}  // namespace
}  // namespace shardsim
