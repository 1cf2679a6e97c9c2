// What is wrong with a user's input, and where. Loading gathers every problem of a file and throws
// one ConfigError; main prints it and exits with status 2.
//
//   cluster.yaml:4:3: unknown key "topologyy" in cluster; expected chip or topology
//       topologyy: {kind: ring}
//       ^~~~~~~~~
//     did you mean "topology"?
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// A named text that problems point into: a YAML file, or a command-line argument ("--mesh").
struct Source {
  std::string name;  // as the user wrote the path, or the option's name
  std::string text;  // whole content
};

// line and column are 1-based, columns and length in bytes (printed as characters); line 0 means
// "the source as a whole" (no caret is drawn).
struct SourcePos {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 0;
  int length = 1;  // bytes to underline

  // The position `offset` characters further right on the same line, underlining `n`.
  SourcePos at(int offset, int n) const;
};

// The position of a whole command-line argument: name "--mesh", text "X=4,Y=2", line 1, column 1.
SourcePos argument_pos(std::string name, std::string text);

struct Problem {
  SourcePos pos;
  std::string message;  // "expected …, found …"
  std::string hint;     // "did you mean \"topology\"?", or empty
};

// The user's input is wrong (exit status 2). what() is every problem, formatted, in file order;
// past 100 the others are only counted.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  std::span<const Problem> problems() const { return problems_; }

 private:
  struct Sorted {};
  ConfigError(Sorted, std::vector<Problem> problems);

  std::vector<Problem> problems_;
};

// A run stopped by Ctrl-C (exit status 130).
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "file:line:col: message", the source line, a caret line, the hint. Long lines are cut around the
// caret to 100 columns; control and non-UTF-8 bytes are shown as \xNN.
std::string format(const Problem& problem);

// The candidate closest to `name` (edit distance at most a third of its length, at least 1; case
// ignored; swapped neighbours count once), or "" if none is close. Ties go to the first.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

// "did you mean \"X\"?" for the nearest candidate, or "expected one of a, b, c" when there are at
// most 12 candidates and none is close, or "".
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

// The text with control and non-UTF-8 bytes shown as \xNN: safe to print on a terminal.
std::string printable(std::string_view text);

// "a, b or c".
std::string joined_or(std::span<const std::string> names);

}  // namespace shardsim
