#include "base/problem.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace shardsim;

namespace {

std::shared_ptr<const Source> source(std::string text) {
  return std::make_shared<const Source>(Source{"a.yaml", std::move(text)});
}

std::string printed(const SourcePos& pos, std::string message, std::string hint = {}) {
  Problem problem;
  problem.pos = pos;
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  return format(problem);
}

}  // namespace

TEST_CASE("problem: the line, a caret and the hint") {
  const auto text = source("cluster:\n  topologyy: {kind: ring}\n");
  CHECK(printed({text, 2, 3, 9}, "unknown key", "did you mean \"topology\"?") ==
        "a.yaml:2:3: unknown key\n"
        "    topologyy: {kind: ring}\n"
        "    ^~~~~~~~~\n"
        "  did you mean \"topology\"?");
  CHECK(printed({text, 0, 0, 1}, "no such file") == "a.yaml: no such file");
  CHECK(printed({}, "no such chip") == "no such chip");
  // Past the end: a caret after the last character, never a crash.
  CHECK(printed({text, 9, 40, 9}, "end") == "a.yaml:9:1: end\n  \n  ^");
  CHECK(printed({text, 1, 9, 5}, "end") == "a.yaml:1:9: end\n  cluster:\n          ^");
}

TEST_CASE("problem: columns are characters, bytes that cannot be shown are escaped") {
  CHECK(printed({source("naïve: x"), 1, 9, 1}, "m") == "a.yaml:1:8: m\n  naïve: x\n         ^");
  CHECK(printed({source("a\x01\x62\xff: x"), 1, 6, 1}, "m") ==
        "a.yaml:1:6: m\n  a\\x01b\\xFF: x\n             ^");
  CHECK(printed({source("\tx\r\n"), 1, 2, 1}, "m") == "a.yaml:1:2: m\n   x\n   ^");
}

TEST_CASE("problem: long lines are cut around the caret") {
  const std::string line(5000, 'a');
  for (const int column : {1, 40, 2500, 5000}) {
    CAPTURE(column);
    const std::string text = printed({source(line), 1, column, 300}, "m");
    const auto first = text.find('\n') + 1;
    const auto second = text.find('\n', first) + 1;
    // 2 blanks, 100 columns, and an ellipsis of 3 bytes at either end
    CHECK(second - first <= 2 + 100 + 6 + 1);
    CHECK(text.size() - second <= 2 + 100 + 1);
    CHECK(text.find('^') != std::string::npos);
  }
}

TEST_CASE("problem: all of them, in file order, the rest counted") {
  const auto text = source("one\ntwo\n");
  const ConfigError error({{{text, 2, 1, 3}, "second", ""},
                           {{text, 1, 1, 3}, "first", ""},
                           {{text, 0, 0, 1}, "file", ""}});
  CHECK(std::string(error.what()) ==
        "a.yaml: file\na.yaml:1:1: first\n  one\n  ^~~\na.yaml:2:1: second\n  two\n  ^~~");
  CHECK(error.problems().size() == 3);

  const std::vector<Problem> many(250, Problem{{text, 0, 0, 1}, "again", ""});
  const std::string what = ConfigError(many).what();
  CHECK(what.ends_with("\n… and 150 more problems"));
}

TEST_CASE("problem: the nearest name") {
  const std::vector<std::string> names{"ring", "torus", "switch", "topology"};
  struct Row {
    std::string name, want;
  };
  const std::vector<Row> rows{
      {"ring", "ring"},    {"rign", "ring"},          {"RING", "ring"},  {"tours", "torus"},
      {"swich", "switch"}, {"topologyy", "topology"}, {"hypercube", ""}, {"", ""},
      {"r", ""},           {"tpologyy", "topology"},  {"xxxologyy", ""}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(nearest(row.name, names) == row.want);
  }
  CHECK(nearest(std::string(1'000'000, 'a'), names) == "");
  CHECK(suggestion("rign", names) == "did you mean \"ring\"?");
  CHECK(suggestion("mesh", names) == "expected one of ring, torus, switch, topology");
  CHECK(suggestion("mesh", std::vector<std::string>(17, "zzzzzzzz")) == "");
  CHECK(joined_or(names) == "ring, torus, switch or topology");
  CHECK(joined_or({}) == "");
}

TEST_CASE("problem: positions inside an argument") {
  const SourcePos pos = argument_pos("--mesh", "X=4,Y=q");
  CHECK(printed(pos.at(6, 1), "expected a count") ==
        "--mesh:1:7: expected a count\n  X=4,Y=q\n        ^");
}
