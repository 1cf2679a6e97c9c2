// The formula ledger on made-up commands: what is taken of a result, how a row is judged, and that
// every way to fail is seen.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "ledger/judge.h"
#include "ledger/report.h"

using namespace shardsim;

namespace {

PlacedText placed(const std::string& text) {
  return {text, argument_pos("take", text), true};
}

const Json& sample() {
  static const Json kSample = Object{
      {"time_s", 2.5},
      {"none", nullptr},
      {"exact", true},
      {"levels", Array{Object{{"name", "in"}, {"latency_s", 1e-6}},
                       Object{{"name", "out"}, {"latency_s", 5e-6}}}},
      {"collectives",
       Array{Object{{"kind", "all-gather"}, {"axes", Array{Json("X"), Json("Y")}}, {"bytes", 8}},
             Object{{"kind", "all-reduce"}, {"axes", Array{Json("X")}}, {"bytes", 16}},
             Object{{"kind", "all-gather"}, {"axes", Array{Json("X")}}, {"bytes", 32}}}},
      {"text", "3.5e9"}};
  return kSample;
}

// The value, or the first line of what is wrong.
std::string taken(const std::string& text) {
  std::vector<Problem> problems;
  const auto take = parse_take(placed(text), problems);
  std::optional<double> value;
  if (take) value = take_from(sample(), *take, problems);
  return value ? exact_text(*value)
               : format(problems.at(0)).substr(0, format(problems.at(0)).find('\n'));
}

// A file of rows that goes away again.
struct RowsFile {
  explicit RowsFile(const std::string& text)
      : path((std::filesystem::temp_directory_path() / "ledger_test_rows.yaml").string()) {
    std::ofstream(path) << text;
  }
  ~RowsFile() { std::filesystem::remove(path); }
  std::string path;
};

std::vector<LedgerRow> rows_of(const std::string& text) {
  const RowsFile file(text);
  std::vector<LedgerRow> rows;
  std::vector<Problem> problems;
  read_rows(file.path, rows, problems);
  check_rows(rows, problems);
  for (const Problem& problem : problems) FAIL(format(problem));
  return rows;
}

// `collective N` takes N seconds and says what the word after it asks for.
Outcome pretend(const std::vector<std::string>& words) {
  const bool full = std::find(words.begin(), words.end(), "--full") != words.end();
  const bool check = std::find(words.begin(), words.end(), "--check") != words.end();
  const double time = std::stod(words.at(1));
  const std::string& how = words.at(2);
  if (how == "refused") return {2, nullptr, "it is refused\nin two lines"};
  if (how == "undelivered" && check) return {3, nullptr, "the plan does not deliver"};
  const double replayed = how == "unfolded" && full ? time * 1.001 : time;
  return {0,
          Object{{"cluster_devices", how == "many" ? 1000 : 8},
                 {"devices", 8},
                 {"time_s", replayed},
                 {"collectives", Array{Object{{"time_s", replayed},
                                              {"analytic_s", how == "inexact" ? time * 1.01 : time},
                                              {"analytic_exact", how != "unfolded"}}}}},
          ""};
}

// One row with that body over a command that says `how`.
std::string row_text(const std::string& how, const std::string& body) {
  return "rows:\n  - id: R\n    statement: s\n    source: s\n    figures: {t: {command: "
         "\"collective {N} " +
         how + "\", take: time_s}}\n    simulated: t\n" + body;
}

RowResult judged(const std::string& text) {
  static std::vector<LedgerRow> rows;  // results point into it
  rows = rows_of(text);
  Commands commands(pretend);
  std::vector<Problem> problems;
  const auto result = judge(rows.at(0), commands, problems);
  for (const Problem& problem : problems) FAIL(format(problem));
  REQUIRE(result.has_value());
  return *result;
}

}  // namespace

TEST_CASE("take: keys, indices, filters and functions") {
  const struct {
    const char* text;
    const char* value;
  } kRows[] = {
      {"time_s", "2.5"},
      {"exact", "1"},
      {"text", "3500000000"},
      {"levels[1].latency_s", "5e-06"},
      {"max(levels[*].latency_s)", "5e-06"},
      {"min(levels[*].latency_s)", "1e-06"},
      {"levels[name=out].latency_s", "5e-06"},
      {"levels[name!=out].latency_s", "1e-06"},
      {"collectives[kind=all-gather,axes=X].bytes", "32"},
      {"collectives[axes=X+Y].bytes", "8"},
      {"sum(collectives[kind=all-gather].bytes)", "40"},
      {"count(collectives[kind=all-gather])", "2"},
      {"count(collectives[kind=barrier])", "0"},
      {"sum(collectives[kind=barrier].bytes)", "0"},
      {"collectives[bytes=16].bytes", "16"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    CHECK(taken(row.text) == row.value);
  }
}

TEST_CASE("take: what is no path, or leads to no number, is refused at its place") {
  const struct {
    const char* text;
    const char* error;
  } kRows[] = {
      {"", "take:1:1: expected a path into the result, found nothing"},
      {"tim_s", "take:1:1: expected a key of the result, found \"tim_s\""},
      {"none", "take:1:1: expected a number in the result, found \"null\""},
      {"time_s.x", "take:1:8: expected a map with \"x\" in the result, found none"},
      {"time_s[0]", "take:1:7: expected a list in the result before [, found none"},
      {"levels[2].latency_s", "take:1:7: expected an index below 2, found 2"},
      {"levels[name=mid].latency_s", "take:1:18: expected a value in the result, found none"},
      {"levels[*].latency_s", "take:1:11: expected one value in the result, found 2"},
      {"levels[nam=in].latency_s", "take:1:7: expected a key of the result, found \"nam\""},
      {"levels[name]", "take:1:7: expected an index, key=value or *, found \"name\""},
      {"levels[name=in", "take:1:7: expected a ] after this [, found none"},
      {"levels[]", "take:1:7: expected an index, key=value or *, found none"},
      {"mean(levels[*].latency_s)",
       "take:1:1: expected sum, count, min or max before (, found \"mean\""},
      {"levels[0]latency_s", "take:1:10: expected . or [ here"},
      {"max(levels[name=mid].latency_s)", "take:1:22: expected a value in the result, found none"},
      {"collectives[0].kind", "take:1:16: expected a number in the result, found \"all-gather\""},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    CHECK(taken(row.text) == row.error);
  }
}

TEST_CASE("a command line means the same in a shell, or is refused") {
  const auto words = [](const std::string& line) {
    std::vector<Problem> problems;
    const auto result = command_words(line, argument_pos("c", line), problems);
    return problems.empty() ? result : std::vector<std::string>{"refused"};
  };
  using Words = std::vector<std::string>;
  CHECK(words("run a.yaml  --set 'x={y: 1}'") == Words{"run", "a.yaml", "--set", "x={y: 1}"});
  CHECK(words("explain \"A[I] -> B\" ''") == Words{"explain", "A[I] -> B", ""});
  CHECK(words("a'b c'd") == Words{"ab cd"});
  for (const char* line : {"run $(rm x)", "run `rm x`", "run x; rm y", "run x > y", "run x | y",
                           "run x & y", "run *", "run \"$HOME\"", "run 'x", "run x\\ y", "A[I]"}) {
    CAPTURE(line);
    CHECK(words(line) == Words{"refused"});
  }
}

TEST_CASE("verdicts follow from the points") {
  const std::string three = "    points: [{where: {N: 1}}, {where: {N: 2}}, {where: {N: 3}}]\n";
  const struct {
    const char* body;
    Verdict verdict;
    const char* misleads;
  } kRows[] = {
      {"    claim: N\n    verdict: holds\n", Verdict::holds, ""},
      {"    claim: 7\n    verdict: wrong\n    instead: x\n", Verdict::wrong, ""},
      {"    claim: 2\n    verdict: imprecise\n    instead: x\n", Verdict::imprecise, ""},
      {"    claim: 2\n    within: 50 %\n    verdict: holds\n", Verdict::holds, ""},
      {"    claim: max(N, 2)\n    condition: N >= 2\n    if: x\n    verdict: holds if\n",
       Verdict::holds_if, ""},
      {"    claim: max(N, 2)\n    condition: N >= 3\n    if: x\n    verdict: holds if\n",
       Verdict::imprecise, "at point 2 the condition is false, and the claim holds"},
      {"    claim: max(N, 2)\n    condition: N >= 1\n    if: x\n    verdict: holds if\n",
       Verdict::imprecise, "the condition is true at every point, which shows nothing"},
      {"    claim: 7\n    condition: N >= 9\n    if: x\n    verdict: holds if\n", Verdict::wrong,
       "the condition is false at every point, which shows nothing"},
      {"    claim: N\n    condition: N > 2\n    if: x\n    verdict: holds if\n", Verdict::holds,
       "at point 1 the condition is false, and the claim holds"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.body);
    const RowResult result = judged(row_text("plain", row.body + three));
    CHECK(*result.verdict == row.verdict);
    CHECK(result.misleads == row.misleads);
    CHECK(result.failures.empty() == (*result.verdict == result.row->verdict));
  }
}

TEST_CASE("every way in which a row can fail is seen, and nothing else fails") {
  const std::string fine = "    where: {N: 2}\n    claim: N\n    verdict: holds\n";
  const struct {
    const char* how;
    std::string body;
    std::string failure;  // its beginning; empty: the row is fine
  } kRows[] = {
      {"plain", fine, ""},
      {"plain", fine + "    exact: N\n", ""},
      {"plain", fine + "    exact: N*(1 + 0.9e-9)\n", ""},
      {"plain", fine + "    exact: N*(1 + 2e-9)\n",
       "simulated 2, the exact formula says 2.000000004"},
      {"plain", fine + "    exact: N*(1 + 2e-9)\n    exact_within: 1e-8\n", ""},
      {"plain", fine + "    book: N*1.009\n", ""},
      {"plain", fine + "    book: N*1.02\n", "simulated 2, the book prints 2.04"},
      {"plain", fine + "    book: N*1.02\n    differs: x\n", ""},
      {"plain", fine + "    book: N*1.02\n    book_within: 5 %\n", ""},
      {"plain", fine + "    book: N\n    differs: x\n", "the printed figure agrees"},
      {"inexact", fine, "shardsim collective 2 inexact: it takes 2 s, and its closed form"},
      {"undelivered", fine, "shardsim collective 2 undelivered: the plan does not deliver"},
      {"unfolded", "    where: {N: 2}\n    claim: N\n    within: 1 %\n    verdict: holds\n",
       "folded by symmetry it is 2, with every device 2.002"},
      {"plain", "    where: {N: 2}\n    claim: N\n    verdict: wrong\n    instead: x\n",
       "the verdict is \"holds\", recorded is \"wrong\""},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.how);
    CAPTURE(row.body);
    const RowResult result = judged(row_text(row.how, row.body));
    if (row.failure.empty()) {
      CHECK(result.failures.empty());
    } else {
      REQUIRE(!result.failures.empty());
      CHECK(result.failures[0].substr(0, row.failure.size()) == row.failure);
    }
  }
}

TEST_CASE("a point sees what it overrides, and each command is executed once") {
  const std::string text =
      "rows:\n  - id: R\n    statement: s\n    source: s\n    where: {N: 2, M: 2*N}\n"
      "    figures: {t: {command: \"collective {M} plain\", take: time_s}}\n"
      "    simulated: t\n    claim: 2*N\n    verdict: holds\n"
      "    points: [{where: {N: 4}}, {where: {M: 2 + N}}, {}]\n";
  const std::vector<LedgerRow> rows = rows_of(text);
  std::vector<std::string> lines;
  Commands commands([&](const std::vector<std::string>& words) {
    lines.push_back(words.at(1) + (words.back() == "--check" ? " full" : ""));
    return pretend(words);
  });
  std::vector<Problem> problems;
  const auto result = judge(rows.at(0), commands, problems);
  REQUIRE(result.has_value());
  CHECK(result->points[0].simulated == 8);
  CHECK(result->points[1].simulated == 4);
  CHECK(result->points[2].simulated == 4);
  CHECK(lines == std::vector<std::string>{"8", "8 full", "4", "4 full"});
  CHECK(result->points[0].figures[0].is.command == "shardsim collective 8 plain");
  CHECK(result->points[0].figures[0].is.full);
  CHECK(result->points[0].figures[0].is.played);
}

TEST_CASE("a figure that has no value is told at its place") {
  const struct {
    const char* how;
    const char* error;
  } kRows[] = {
      {"refused", "the command is refused: it is refused"},
      {"many", "expected at most 64 devices, which are replayed one by one, found 1000"},
      {"plain --full", "expected no --full in a figure, found one"},
      {"plain --grain fluid", "expected no --grain in a figure, found one"},
      {"plain --out=x", "expected no --out in a figure, found one"},
      {"plain; rm x", "expected \";\" inside '…', found it outside"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.how);
    const std::vector<LedgerRow> rows =
        rows_of(row_text(row.how, "    where: {N: 2}\n    claim: N\n    verdict: holds\n"));
    Commands commands(pretend);
    std::vector<Problem> problems;
    CHECK(!judge(rows.at(0), commands, problems).has_value());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message.find(row.error) == 0);
    CHECK(problems[0].pos.line == 5);
  }
}
