// The cursor behind ir/notation.h: reads one array at a time and notes what is wrong with it.
// Syntax problems end the reading (false or nullopt); unknown and repeated names are noted and
// reading goes on, so that all of them are reported.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/notation.h"

namespace shardsim {

struct Word {
  std::string text;
  std::size_t offset = 0;  // in the whole text
};

class ArrayParser {
 public:
  // Keeps references to all four.
  ArrayParser(std::string_view text, const SourcePos& pos, const NotationContext& context,
              std::vector<Problem>& problems);

  std::optional<ArrayExpr> array();
  Word word();        // letters and digits; empty when there are none
  Word identifier();  // of arrays and functions: starts with a letter, may contain "_"
  bool accept(char c);
  bool expect(char c, std::string_view where);
  bool at_end();  // notes whatever is left

  std::size_t here();  // of the next character that is no blank
  void go_back(std::size_t offset) { at_ = offset; }
  std::string_view text() const { return text_; }
  SourcePos position(std::size_t offset, std::size_t length) const;
  const NotationContext& context() const { return context_; }
  std::string found() const;  // what is here, for messages
  void fail(std::size_t offset, std::size_t length, std::string message, std::string hint = "");
  bool clean() const { return problems_.size() == before_; }

 private:
  void skip();
  bool dims(ArrayExpr& expr);
  bool item(ArrayExpr& expr);
  void compact(const Word& name, ArrayExpr& expr);
  bool subscript(std::string_view owner, std::vector<Word>& axes);
  void resolve(const Word& word, std::string_view owner, std::vector<Word>& axes);
  bool unreduced(ArrayExpr& expr);
  void add_dim(ArrayExpr& expr, const Word& dim, const std::vector<Word>& axes);
  bool take_axis(const ArrayExpr& expr, std::string_view owner, const std::vector<std::string>& own,
                 const Word& axis);

  std::string_view text_;
  const SourcePos& pos_;
  const NotationContext& context_;
  std::vector<Problem>& problems_;
  std::size_t before_;
  std::size_t at_ = 0;
};

}  // namespace shardsim
