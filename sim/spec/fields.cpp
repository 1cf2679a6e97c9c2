#include "spec/fields.h"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/must.h"
#include "base/text.h"

namespace shardsim {
namespace {

using Problems = std::vector<Problem>;

// Reading ends early; the reason is already among the problems.
struct Stop {};

bool starts_word(std::string_view text, std::size_t at) {
  return at > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_');
}

// The text of one source, by line.
class Lines {
 public:
  explicit Lines(std::shared_ptr<const Source> source) : source_(std::move(source)) {
    const std::string_view text = source_->text;
    for (std::size_t at = 0; at != std::string_view::npos;) {
      const auto end = text.find('\n', at);
      starts_.push_back(at);
      widths_.push_back(std::min(end, text.size()) - at);
      at = end == std::string_view::npos ? end : end + 1;
    }
  }

  // yaml-cpp counts from 0 and has -1 for "nowhere".
  SourcePos pos(const YAML::Mark& mark, std::size_t length) const {
    if (mark.is_null()) return {source_, 0, 0, 1};
    const auto line = std::min(static_cast<std::size_t>(mark.line), starts_.size() - 1);
    const auto column = static_cast<std::size_t>(mark.column);
    const auto room = widths_[line] > column ? widths_[line] - column : 1;
    return {source_, static_cast<int>(line) + 1, mark.column + 1,
            static_cast<int>(std::clamp<std::size_t>(length, 1, room))};
  }

  SourcePos pos_of_byte(std::size_t at, std::size_t length) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), at);
    const auto line = after - starts_.begin();
    const auto column = at - *(after - 1);
    return {source_, static_cast<int>(line), static_cast<int>(column) + 1,
            static_cast<int>(length)};
  }

  std::size_t byte_of(const YAML::Mark& mark) const {
    if (mark.is_null()) return 0;
    const auto line = std::min(static_cast<std::size_t>(mark.line), starts_.size() - 1);
    return std::min(starts_[line] + static_cast<std::size_t>(mark.column), source_->text.size());
  }

  const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  std::shared_ptr<const Source> source_;
  std::vector<std::size_t> starts_;  // byte of each line's first character
  std::vector<std::size_t> widths_;  // bytes of each line without its end
};

// Builds the tree from yaml-cpp's events. Events, not YAML::Node: they alone give the position of
// an alias, and let us stop before a bomb has expanded. Inheritance is yaml-cpp's interface.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const Lines& lines, Problems& problems) : lines_(lines), problems_(problems) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    problems_.push_back({lines_.pos(mark, 1), "expected one YAML document, found a second", ""});
    throw Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({NodeKind::null, "", false, {}, lines_.pos(mark, 1)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      problems_.push_back({lines_.pos(mark, 1), "this alias refers to a value it is part of", ""});
      throw Stop{};
    }
    charge(known->second.size, mark);
    Node node = known->second.node;
    node.anchor_line = node.pos.line;
    node.pos = lines_.pos(mark, 1);
    add(std::move(node), 0, known->second.size - 1);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    const bool in_quotes = tag == "!";
    const std::size_t length = value.size() + (in_quotes ? 2 : 0);
    add({NodeKind::scalar, value, in_quotes, {}, lines_.pos(mark, length)}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(NodeKind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(NodeKind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not been seen.
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    int size = 1;                      // nodes in it so far
    std::map<std::string, int> lines;  // map: each key and its line
    bool has_key = false;              // map: `key` waits for its value
    bool keep_key = false;             // and nothing is wrong with it
    NodeEntry key;
  };
  struct Anchored {
    Node node;
    int size = 1;
  };

  void charge(int nodes, const YAML::Mark& mark) { charge(nodes, lines_.pos(mark, 1)); }
  void charge(int nodes, const SourcePos& pos) {
    used_ += nodes;
    if (used_ <= kMostNodes) return;
    problems_.push_back(
        {pos, fmt::format("expected at most {} values, counting each alias in full", kMostNodes),
         ""});
    throw Stop{};
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    problems_.push_back(
        {lines_.pos(mark, 1), fmt::format("YAML tags such as {} are not supported", tag), ""});
  }

  void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    const SourcePos pos = lines_.pos(mark, 1);
    if (static_cast<int>(stack_.size()) >= kDeepest) {
      problems_.push_back(
          {pos, fmt::format("expected at most {} lists and maps inside each other", kDeepest), ""});
      throw Stop{};
    }
    stack_.push_back({{kind, "", false, {}, pos}, anchor, 1, {}, false, false, {}});
  }

  void close() {
    must(!stack_.empty(), "every end has a start");
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(frame.node), frame.anchor, frame.size - 1);
  }

  // `below`: nodes inside `node`, already charged.
  void add(Node node, YAML::anchor_t anchor, int below = 0) {
    charge(1, node.pos);
    if (anchor != 0) {
      charge(below + 1, node.pos);
      anchors_[anchor] = {node, below + 1};
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    frame.size += below + 1;
    if (frame.node.kind == NodeKind::list) {
      const SourcePos pos = node.pos;
      frame.node.entries.push_back({"", pos, std::move(node)});
    } else if (!frame.has_key) {
      take_key(frame, node);
    } else {
      take_value(frame, std::move(node));
    }
  }

  void take_key(Frame& frame, const Node& node) {
    frame.has_key = true;
    frame.keep_key = false;
    frame.key = {node.text, node.pos, {}};
    if (node.kind != NodeKind::scalar) {
      problems_.push_back({node.pos, "expected a key, found " + found(node), ""});
    } else if (node.text == "<<" && !node.quoted) {
      problems_.push_back({node.pos, "the merge key << is not supported; write the keys out", ""});
    } else if (const auto [first, is_new] = frame.lines.emplace(node.text, node.pos.line);
               !is_new) {
      problems_.push_back(
          {node.pos,
           fmt::format("key \"{}\" is written twice; first in line {}", node.text, first->second),
           ""});
    } else {
      frame.keep_key = true;
    }
  }

  void take_value(Frame& frame, Node node) {
    frame.has_key = false;
    if (!frame.keep_key) return;
    if (node.kind == NodeKind::null) node.pos = frame.key.key_pos;
    frame.key.node = std::move(node);
    frame.node.entries.push_back(std::move(frame.key));
  }

  const Lines& lines_;
  Problems& problems_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Node root_;
  int documents_ = 0;
  int used_ = 0;
};

// The first byte that no text file has: a control character or broken UTF-8.
std::optional<std::size_t> first_binary_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool blank = byte == '\t' || byte == '\n' || byte == '\r';
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || (byte < 0x20 && !blank) || byte == 0x7F) return at;
    at += length;
  }
  return std::nullopt;
}

// Where a line has an array expression unquoted inside { } or [ ]: a name directly followed by [,
// which YAML's flow style cannot read.
std::optional<std::size_t> array_in_flow(std::string_view line) {
  int depth = 0;
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == '[' || c == '{') {
      auto name = at;
      while (starts_word(line, name)) --name;
      if (c == '[' && name < at && depth > 0) return name;
      ++depth;
    }
  }
  return std::nullopt;
}

// The same for the line of a syntax error and the one before: an open bracket shows late.
std::optional<std::size_t> array_near(std::string_view text, std::size_t error_at) {
  auto end = std::min(text.find('\n', error_at), text.size());
  for (int line = 0; line < 2 && end != std::string_view::npos; ++line) {
    const auto before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    if (const auto at = array_in_flow(text.substr(begin, end - begin))) return begin + *at;
    end = before;
  }
  return std::nullopt;
}

Problem syntax_problem(const YAML::Exception& error, const Lines& lines, std::size_t start) {
  const std::string_view text = lines.source()->text;
  if (const auto at = array_near(text, std::max(lines.byte_of(error.mark), start))) {
    const auto end = text.find_first_of("]}\n", *at);
    const auto stop = end == std::string_view::npos ? text.size() : end + (text[end] != '\n');
    const auto array = text.substr(*at, stop - *at);
    return {lines.pos_of_byte(*at, array.size()),
            fmt::format("YAML splits {} at the brackets and commas", array),
            fmt::format("quote it, in a block list:  - \"{}\"", array)};
  }
  return {lines.pos(error.mark, 1), "this is not YAML: " + error.msg, ""};
}

// Arrays that YAML split without noticing: {a: "x[B", T]: …} leaves a bracket open in a key or
// value.
void check_brackets(const Node& node, Problems& problems) {
  const auto check = [&](const std::string& text, const SourcePos& pos) {
    const auto opened = std::count(text.begin(), text.end(), '[');
    const auto closed = std::count(text.begin(), text.end(), ']');
    if (opened == closed) return;
    problems.push_back({pos, fmt::format("the brackets in \"{}\" do not match", text),
                        "YAML splits an array at its commas inside { }; quote it, in a block "
                        "list:  - \"In[B_X, T]\""});
  };
  if (node.kind == NodeKind::scalar && !node.quoted) check(node.text, node.pos);
  for (const NodeEntry& entry : node.entries) {
    check(entry.key, entry.key_pos);
    check_brackets(entry.node, problems);
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const NodeEntry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &at->node;
}

Node parse_yaml(const std::shared_ptr<const Source>& source, std::size_t start,
                Problems& problems) {
  const Lines lines(source);
  if (const auto at = first_binary_byte(source->text)) {
    const auto byte = static_cast<unsigned char>(source->text[*at]);
    problems.push_back({lines.pos_of_byte(*at, 1),
                        fmt::format("expected text in UTF-8, found byte 0x{:02X}", byte), ""});
    return {};
  }
  // Blanks in place of what is skipped keep yaml-cpp's positions true.
  std::istringstream stream(std::string(start, ' ') + source->text.substr(start));
  Builder builder(lines, problems);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    return {};
  } catch (const YAML::Exception& error) {
    problems.push_back(syntax_problem(error, lines, start));
    return {};
  }
  Node root = builder.take_root();
  if (root.pos.source == nullptr) root.pos = {source, 0, 0, 1};
  check_brackets(root, problems);
  return root;
}

std::string found(const Node& node) {
  std::string what;
  switch (node.kind) {
    case NodeKind::null:
      what = "nothing";
      break;
    case NodeKind::list:
      what = "a list";
      break;
    case NodeKind::map:
      what = "a map";
      break;
    case NodeKind::scalar:
      what = in_quotes(node.text);
      break;
  }
  if (node.anchor_line > 0)
    what += fmt::format(" (the value anchored in line {})", node.anchor_line);
  return what;
}

}  // namespace shardsim
