#include "ir/array_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace shardsim {
namespace {

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Every way, up to `limit`, to read `word` as axis names written one after the other.
void split_axes(std::string_view word, const std::vector<std::string>& axes, std::size_t limit,
                std::vector<std::string>& prefix, std::vector<std::vector<std::string>>& found) {
  if (found.size() >= limit) return;
  if (word.empty()) {
    found.push_back(prefix);
    return;
  }
  for (const std::string& axis : axes) {
    if (axis.empty() || !word.starts_with(axis)) continue;
    prefix.push_back(axis);
    split_axes(word.substr(axis.size()), axes, limit, prefix, found);
    prefix.pop_back();
  }
}

// Splitting takes time exponential in the length when axes are prefixes of each other.
constexpr std::size_t kLongestSubscript = 24;

std::vector<std::vector<std::string>> axis_splits(std::string_view word,
                                                  const std::vector<std::string>& axes) {
  std::vector<std::vector<std::string>> found;
  std::vector<std::string> prefix;
  if (!word.empty() && word.size() <= kLongestSubscript) split_axes(word, axes, 2, prefix, found);
  return found;
}

}  // namespace

ArrayParser::ArrayParser(std::string_view text, const SourcePos& pos,
                         const NotationContext& context, std::vector<Problem>& problems)
    : text_(text), pos_(pos), context_(context), problems_(problems), before_(problems.size()) {}

void ArrayParser::skip() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

std::size_t ArrayParser::here() {
  skip();
  return at_;
}

bool ArrayParser::accept(char c) {
  skip();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

SourcePos ArrayParser::position(std::size_t offset, std::size_t length) const {
  return pos_.at(static_cast<int>(offset), static_cast<int>(length));
}

void ArrayParser::fail(std::size_t offset, std::size_t length, std::string message,
                       std::string hint) {
  problems_.push_back({position(offset, length), std::move(message), std::move(hint)});
}

std::string ArrayParser::found() const {
  return at_ >= text_.size() ? "end of text" : quoted(text_.substr(at_, 1));
}

bool ArrayParser::expect(char c, std::string_view where) {
  if (accept(c)) return true;
  fail(at_, 1, fmt::format("expected \"{}\" {}, found {}", c, where, found()));
  return false;
}

Word ArrayParser::word() {
  skip();
  Word result{"", at_};
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  result.text = std::string(text_.substr(result.offset, at_ - result.offset));
  return result;
}

// Array and function names; unlike dims they may contain an underscore.
Word ArrayParser::identifier() {
  skip();
  Word result{"", at_};
  if (at_ < text_.size() && is_letter(text_[at_])) {
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '_')) ++at_;
  }
  result.text = std::string(text_.substr(result.offset, at_ - result.offset));
  return result;
}

std::optional<ArrayExpr> ArrayParser::array() {
  const Word name = identifier();
  if (name.text.empty()) {
    fail(at_, 1, fmt::format("expected an array such as Wq[D, F], found {}", found()));
    return std::nullopt;
  }
  ArrayExpr expr;
  expr.name = name.text;
  expr.pos = position(name.offset, name.text.size());
  expr.bare = true;
  if (accept('[')) {
    expr.bare = false;
    if (!dims(expr)) return std::nullopt;
  }
  if (accept('{')) {
    if (expr.bare) {
      fail(at_ - 1, 1,
           fmt::format("{{U_...}} needs the dims of {0}: write {0}[...]{{U_...}}", expr.name));
      return std::nullopt;
    }
    if (!unreduced(expr)) return std::nullopt;
  }
  return expr;
}

bool ArrayParser::dims(ArrayExpr& expr) {
  do {
    if (!item(expr)) return false;
  } while (accept(','));
  if (accept(']')) return true;
  fail(at_, 1, fmt::format("expected \",\" or \"]\" in {}[...], found {}", expr.name, found()));
  return false;
}

bool ArrayParser::item(ArrayExpr& expr) {
  const Word name = word();
  if (name.text.empty()) {
    fail(at_, 1, fmt::format("expected a dim in {}[...], found {}", expr.name, found()));
    return false;
  }
  if (at_ >= text_.size() || text_[at_] != '_') {
    compact(name, expr);
    return true;
  }
  ++at_;
  if (!context_.dims.empty() && !contains(context_.dims, name.text)) {
    fail(name.offset, name.text.size(),
         fmt::format("unknown dim {}: no size is given for it", quoted(name.text)),
         suggestion(name.text, context_.dims));
  }
  std::vector<Word> axes;
  if (!subscript(name.text, axes)) return false;
  add_dim(expr, name, axes);
  return true;
}

// "IX": dim I over axis X, where dims are known and only one reading exists.
void ArrayParser::compact(const Word& name, ArrayExpr& expr) {
  if (context_.dims.empty()) {
    add_dim(expr, name, {});
    return;
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> readings;
  for (const std::string& dim : context_.dims) {
    if (!name.text.starts_with(dim)) continue;
    const std::string_view rest = std::string_view(name.text).substr(dim.size());
    if (rest.empty()) readings.push_back({dim, {}});
    for (auto& axes : axis_splits(rest, context_.axes)) readings.push_back({dim, std::move(axes)});
  }
  if (readings.empty()) {
    fail(name.offset, name.text.size(),
         fmt::format("unknown dim {}: no size is given for it", quoted(name.text)),
         suggestion(name.text, context_.dims));
    return;
  }
  if (readings.size() > 1) {
    std::vector<std::string> texts;
    for (const auto& [dim, axes] : readings) {
      const std::string text = to_text(Sharding{{{dim, axes}}, {}});
      texts.push_back(text.substr(1, text.size() - 2));
    }
    fail(name.offset, name.text.size(),
         fmt::format("{} is ambiguous: it reads as {}", quoted(name.text), joined_or(texts)),
         "write the subscript with an underscore, such as " + texts.back());
    return;
  }
  const auto& [dim, axes] = readings.front();
  std::vector<Word> words;
  std::size_t offset = name.offset + dim.size();
  for (const std::string& axis : axes) {
    words.push_back({axis, offset});
    offset += axis.size();
  }
  add_dim(expr, {dim, name.offset}, words);
}

// What follows the underscore: X, XY, {XY} or {data,fsdp}.
bool ArrayParser::subscript(std::string_view owner, std::vector<Word>& axes) {
  const bool braces = at_ < text_.size() && text_[at_] == '{';
  if (braces) ++at_;
  do {
    const Word name = word();
    if (name.text.empty()) {
      fail(at_, 1, fmt::format("expected a mesh axis after \"{}_\", found {}", owner, found()));
      return false;
    }
    resolve(name, owner, axes);
  } while (braces && accept(','));
  return !braces || expect('}', fmt::format("after the axes of {}", owner));
}

void ArrayParser::resolve(const Word& name, std::string_view owner, std::vector<Word>& axes) {
  const auto readings = axis_splits(name.text, context_.axes);
  if (readings.empty()) {
    const std::string none = context_.axes.empty() ? "; there are no mesh axes here" : "";
    fail(name.offset, name.text.size(),
         fmt::format("unknown mesh axis {}{}", quoted(name.text), none),
         suggestion(name.text, context_.axes));
    return;
  }
  if (readings.size() > 1) {
    fail(name.offset, name.text.size(),
         fmt::format("{} is ambiguous: it can be split into mesh axes in more than one way",
                     quoted(name.text)),
         fmt::format("separate the axes with commas: {}_{{{}}}", owner,
                     fmt::join(readings.back(), ",")));
    return;
  }
  std::size_t offset = name.offset;
  for (const std::string& axis : readings.front()) {
    axes.push_back({axis, offset});
    offset += axis.size();
  }
}

bool ArrayParser::unreduced(ArrayExpr& expr) {
  const Word u = word();
  if (u.text != "U" || at_ >= text_.size() || text_[at_] != '_') {
    fail(u.offset, std::max<std::size_t>(1, u.text.size()),
         fmt::format("expected {{U_...}} with the unreduced axes of {}", expr.name));
    return false;
  }
  ++at_;
  std::vector<Word> axes;
  if (!subscript("U", axes)) return false;
  for (const Word& axis : axes) {
    if (take_axis(expr, "", expr.sharding.unreduced, axis)) {
      expr.sharding.unreduced.push_back(axis.text);
    }
  }
  // A sum has no order: {U_YX} is {U_XY}, the axes as the mesh has them.
  std::vector<std::string>& sums = expr.sharding.unreduced;
  std::sort(sums.begin(), sums.end(), [&](const std::string& a, const std::string& b) {
    const auto& all = context_.axes;
    return std::find(all.begin(), all.end(), a) < std::find(all.begin(), all.end(), b);
  });
  return expect('}', "after the unreduced axes");
}

void ArrayParser::add_dim(ArrayExpr& expr, const Word& dim, const std::vector<Word>& axes) {
  if (expr.sharding.find(dim.text) != nullptr) {
    fail(dim.offset, dim.text.size(),
         fmt::format("dim {} appears twice in {}", dim.text, expr.name),
         "expected every dim once: a diagonal or a trace is no array of the notation");
    return;
  }
  DimLayout layout{dim.text, {}};
  for (const Word& axis : axes) {
    if (take_axis(expr, dim.text, layout.axes, axis)) layout.axes.push_back(axis.text);
  }
  expr.sharding.dims.push_back(std::move(layout));
}

// False, with the problem noted, when the axis already cuts this array. An empty owner means {U}.
bool ArrayParser::take_axis(const ArrayExpr& expr, std::string_view owner,
                            const std::vector<std::string>& own, const Word& axis) {
  std::string message;
  if (contains(own, axis.text)) {
    message = fmt::format("mesh axis {} is listed twice in {} of {}", axis.text,
                          owner.empty() ? "{U}" : fmt::format("dim {}", owner), expr.name);
  } else if (const std::string* dim = expr.sharding.dim_of_axis(axis.text)) {
    message = owner.empty()
                  ? fmt::format("mesh axis {} cuts dim {} of {} and is unreduced in it, too",
                                axis.text, *dim, expr.name)
                  : fmt::format("mesh axis {} cuts both {} and {} of {}", axis.text, *dim, owner,
                                expr.name);
  }
  if (message.empty()) return true;
  fail(axis.offset, axis.text.size(), message, "a mesh axis can be used once in one array");
  return false;
}

bool ArrayParser::at_end() {
  skip();
  if (at_ >= text_.size()) return true;
  fail(at_, text_.size() - at_,
       fmt::format("expected the end, found {}", quoted(text_.substr(at_))));
  return false;
}

}  // namespace shardsim
