// Texts with {formulas} in them, as commands of the ledger are written.
//
//   collective all-gather --topology {net}:{N} --bytes '{V} B'
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expression.h"
#include "base/problem.h"

namespace shardsim {

// A piece is a text as it is, or a formula whose value stands in its place.
struct TemplatePiece {
  std::string text;
  std::optional<Formula> formula;
};

struct Template {
  PlacedText text;
  std::vector<TemplatePiece> pieces;
};

// {{ and }} are braces. Appends a problem for braces that do not match and for what is no formula.
Template parse_template(PlacedText text, std::vector<Problem>& problems);

// The only name of a piece that is a name alone, otherwise empty.
std::string lone_name(const TemplatePiece& piece);

// The words of a command line: blanks part them, '…' and "…" hold them together. Appends a problem
// for what a shell would do more with ($, *, ;, a backslash, an open quote …), so that a line that
// is accepted means the same in a shell.
std::vector<std::string> command_words(const std::string& line, const SourcePos& pos,
                                       std::vector<Problem>& problems);

}  // namespace shardsim
