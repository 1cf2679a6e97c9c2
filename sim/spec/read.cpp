#include "spec/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/must.h"
#include "base/text.h"

namespace shardsim {
namespace {

using Data = decltype(Value::data);

constexpr double kLargestNumber = 1e6;

// Of what is divided, with something left for others.
Parsed<double> parse_share(std::string_view text) {
  const Parsed<double> factor = parse_factor(text, 0, 1);
  if (factor && factor.value < 1) return factor;
  return {{}, fmt::format("expected a share above 0 and below 1, found {}", in_quotes(text))};
}

// A map of one file that is being read.
struct Place {
  std::string_view file;
  std::string_view path;  // of its row in the table, "" for the whole file
  std::string name;       // as the user reads it: * replaced by the key
  SourcePos pos;          // of its key
};

std::string child_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

// The last component of a path that is a child of `parent`, or nothing.
std::optional<std::string_view> child_key(std::string_view path, std::string_view parent) {
  if (!parent.empty()) {
    if (!path.starts_with(parent) || path.size() <= parent.size() || path[parent.size()] != '.') {
      return std::nullopt;
    }
    path.remove_prefix(parent.size() + 1);
  }
  if (path.find('.') != std::string_view::npos) return std::nullopt;
  return path;
}

struct Children {
  struct Named {
    std::string_view key;
    const Field* field;
  };
  std::vector<Named> named;
  const Field* any = nullptr;  // the row of *

  const Field* find(std::string_view key) const {
    const auto at = std::find_if(named.begin(), named.end(),
                                 [&](const Named& child) { return child.key == key; });
    return at == named.end() ? any : at->field;
  }
};

Children children_in_table(std::string_view file, std::string_view path) {
  Children found;
  for (const Field& field : fields()) {
    if (field.file != file) continue;
    const auto key = child_key(field.path, path);
    if (!key) continue;
    if (*key == "*") {
      found.any = &field;
    } else {
      found.named.push_back({*key, &field});
    }
  }
  return found;
}

// The table stays as it is: each path is looked up in it once. `file` is a literal, `path` a row's.
const Children& children(std::string_view file, std::string_view path) {
  static std::map<std::pair<std::string_view, std::string_view>, Children> known;
  const auto [at, fresh] = known.try_emplace({file, path});
  if (fresh) at->second = children_in_table(file, path);
  return at->second;
}

std::vector<std::string> keys_of(const Children& children) {
  std::vector<std::string> keys;
  for (const Children::Named& child : children.named) keys.emplace_back(child.key);
  return keys;
}

std::string in_place(const Place& place) {
  return place.name.empty() ? std::string() : fmt::format(" in {}", place.name);
}

// Of a key that a map beside it has: where it stands; "": in none.
std::string stands_in(const std::string& key, const Place& place, const Children& children) {
  for (const Children::Named& child : children.named) {
    const Children below = children_in_table(place.file, child_path(place.path, child.key));
    for (const Children::Named& its : below.named)
      if (its.key == key) return fmt::format("it stands in {}: {{{}: ...}}", child.key, key);
  }
  return "";
}

void report_unknown(const NodeEntry& entry, const Place& place, const Children& children,
                    Problems& problems) {
  const std::string path = child_path(place.path, entry.key);
  const auto later = later_fields();
  if (place.file == "run" && std::find(later.begin(), later.end(), path) != later.end()) {
    problems.push_back(
        {entry.key_pos, fmt::format("\"{}\" is not available in this version", path), ""});
    return;
  }
  const auto keys = keys_of(children);
  const std::string close = nearest(entry.key, keys);
  problems.push_back({entry.key_pos,
                      fmt::format("unknown key {}{}; expected {}", in_quotes(entry.key),
                                  in_place(place), joined_or(keys)),
                      close.empty() ? stands_in(entry.key, place, children)
                                    : fmt::format("did you mean \"{}\"?", close)});
}

void report_missing(const Node& node, const Place& place, const Children& children,
                    Problems& problems) {
  for (const auto& [key, field] : children.named) {
    if (!field->required || node.find(key) != nullptr) continue;
    const std::vector<std::string> others = split_words(field->unless);
    const bool other = std::any_of(others.begin(), others.end(), [&](const std::string& beside) {
      return node.find(beside) != nullptr;
    });
    if (other) continue;
    const std::string either =
        others.empty() ? "" : fmt::format(" (or \"{}\")", fmt::join(others, "\" or \""));
    problems.push_back({place.pos,
                        fmt::format("missing key \"{}\"{}{}", key, either, in_place(place)),
                        fmt::format("{}: {}", key, field->help)});
  }
}

// Keys that the notation must be able to write: X, data, x.
bool is_axis_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto other = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), other);
}

bool names_an_axis(const Field& field) {
  if (field.type == FieldType::values) return false;  // of a sweep: its key is a field
  return field.type == FieldType::mesh_axis || field.path.ends_with("axes.*") ||
         field.path == "dims.*";
}

SourcePos text_pos(const Node& node) {
  if (!node.quoted || node.anchor_line > 0) return node.pos;
  return node.pos.at(1, std::max(1, node.pos.length - 2));
}

// The value of one entry, read as its field's type says; problems go to `problems`.
class ValueReader {
 public:
  // `parent`: the name of the map that the entry is in, "" for a whole file.
  ValueReader(const Field& field, const Node& node, std::string_view parent, std::string_view key,
              Problems& problems)
      : field_(field), node_(node), parent_(parent), key_(key), problems_(problems) {}

  std::optional<Data> read() const {
    using enum FieldType;
    switch (field_.type) {
      case texts:
        return words("texts");
      case names:
        return words("names");
      case numbers:
        return words("numbers");
      case values:
        return node_.kind == NodeKind::null ? refuse_shape(node_) : std::optional<Data>(Data{});
      case conditions:
        return node_.kind == NodeKind::list ? words("conditions") : scalar();
      case nodes:
      case mesh_axis:
      case preset:
        return node_.kind == NodeKind::list ? words("names") : scalar();
      case map:
      case maps:
      case name_or_map:
      case run:
        must(false, "maps are read by read_map");
        return std::nullopt;
      default:
        return scalar();
    }
  }

 private:
  std::string name() const { return child_path(parent_, key_); }

  std::nullopt_t refuse(const SourcePos& pos, std::string message, std::string hint = {}) const {
    problems_.push_back({pos, std::move(message), std::move(hint)});
    return std::nullopt;
  }

  std::nullopt_t refuse_shape(const Node& node) const {
    return refuse(node.pos, fmt::format("{}: expected a {}, found {}", name(),
                                        type_row(field_.type).text, found(node)));
  }

  std::optional<Data> scalar() const {
    using enum FieldType;
    if (node_.kind != NodeKind::scalar) return refuse_shape(node_);
    switch (field_.type) {
      case count:
        return parsed(parse_count(node_.text, 1, std::numeric_limits<int>::max()));
      case position:
        return parsed(parse_count(node_.text, 0, std::numeric_limits<int>::max()));
      case large_count:
        return parsed(parse_large_count(node_.text, 1, std::numeric_limits<std::int64_t>::max()));
      case factor:
        return parsed(parse_factor(node_.text, 0, 1));
      case share:
        return parsed(parse_share(node_.text));
      case number:
      case ratio:
        return parsed(parse_factor(node_.text, 0, kLargestNumber));
      case bytes:
        return positive(parse_bytes(node_.text));
      case bandwidth:
        return positive(parse_bandwidth(node_.text));
      case flop_rate:
        return positive(parse_flop_rate(node_.text));
      case seconds:
        return parsed(parse_seconds(node_.text));
      case choice:
        return chosen();
      case nodes:
        return one_word();
      case mesh_axis:
        return starts_like_number() ? count_of_axis() : one_word();
      case preset:
        return is_flag() ? Data(node_.text == "true") : one_word();
      case flag:
        return is_flag() ? std::optional<Data>(node_.text == "true") : refuse_shape(node_);
      default:
        return any_text();
    }
  }

  template <class T>
  std::optional<Data> parsed(const Parsed<T>& parsed) const {
    if (!parsed) return refuse(text_pos(node_), fmt::format("{}: {}", name(), parsed.error));
    return Data(parsed.value);
  }

  template <class T>
  std::optional<Data> positive(const Parsed<T>& quantity) const {
    if (quantity && !(quantity.value > T{})) {
      return refuse(text_pos(node_), fmt::format("{}: expected a {} above zero, found {}", name(),
                                                 type_row(field_.type).text, found(node_)));
    }
    return parsed(quantity);
  }

  std::optional<Data> any_text() const {
    if (trimmed(node_.text).empty()) return refuse_empty(node_);
    if (field_.path.ends_with("levels.[].name") && !is_axis_name(node_.text)) {
      return refuse(text_pos(node_), fmt::format("{}: expected letters, digits and _, found {}",
                                                 name(), in_quotes(node_.text)));
    }
    return Data(node_.text);
  }

  std::nullopt_t refuse_empty(const Node& node) const {
    return refuse(node.pos, fmt::format("{}: expected a {}, found an empty text", name(),
                                        type_row(field_.type).text));
  }

  std::optional<Data> chosen() const {
    const auto& choices = field_.choices;
    if (std::find(choices.begin(), choices.end(), node_.text) != choices.end()) {
      return Data(node_.text);
    }
    const std::string close = nearest(node_.text, choices);
    return refuse(
        text_pos(node_),
        fmt::format("{}: expected {}, found {}", name(), joined_or(choices), found(node_)),
        close.empty() ? "" : fmt::format("did you mean \"{}\"?", close));
  }

  bool starts_like_number() const {
    return !node_.quoted && !node_.text.empty() &&
           std::string_view("0123456789+-.").find(node_.text.front()) != std::string_view::npos;
  }
  std::optional<Data> count_of_axis() const {
    return parsed(parse_count(node_.text, 1, std::numeric_limits<int>::max()));
  }
  bool is_flag() const { return !node_.quoted && (node_.text == "true" || node_.text == "false"); }

  std::optional<Data> one_word() const {
    if (trimmed(node_.text).empty()) return refuse_empty(node_);
    return Data(Words{{node_.text, text_pos(node_), true}});
  }

  std::optional<Data> words(std::string_view what) const {
    if (node_.kind != NodeKind::list) return refuse_shape(node_);
    Words out;
    bool good = true;
    for (const NodeEntry& item : node_.entries) {
      const Node& node = item.node;
      if (node.kind != NodeKind::scalar || trimmed(node.text).empty()) {
        refuse(node.pos,
               fmt::format("{}: expected a list of {}, found {} in it", name(), what,
                           node.kind == NodeKind::scalar ? "an empty text" : found(node)));
        good = false;
      }
      out.push_back({node.text, text_pos(node), true});
    }
    if (!good) return std::nullopt;
    return Data(std::move(out));
  }

  const Field& field_;
  const Node& node_;
  std::string_view parent_, key_;
  Problems& problems_;
};

}  // namespace

std::optional<Data> read_value(const Field& field, const NodeEntry& entry, const std::string& name,
                               Problems& problems) {
  return ValueReader(field, entry.node, "", name, problems).read();
}

namespace {

// What stands for a value that was refused, lest what depends on it be refused as well: figures
// that no other link or chip has.
std::optional<Data> stand_in(FieldType type) {
  switch (type) {
    case FieldType::bandwidth:
      return Data(BytesPerSec{1});
    case FieldType::seconds:
      return Data(Seconds{1});
    case FieldType::factor:
      return Data(0.5);
    default:
      return std::nullopt;
  }
}

void read_map(const Place& place, const Node& node, RunSpec& into, Problems& problems);

// The items of a list of maps, each read as its row says: the child [] of `field`.
void read_items(const Field& field, const NodeEntry& entry, const Place& place, RunSpec& into,
                Problems& problems) {
  const Node& list = entry.node;
  const std::string name = child_path(place.name, entry.key);
  const auto refuse = [&](const Node& node, const std::string& what) {
    problems.push_back(
        {node.pos,
         fmt::format("{}: expected a {}, found {}", name, type_row(field.type).text, what), ""});
  };
  if (list.kind != NodeKind::list) return refuse(list, found(list));
  if (list.entries.empty() && !field.may_be_empty) return refuse(list, "an empty list");
  const Field* row = children(place.file, field.path).find("[]");
  must(row != nullptr, "a list of maps has a row for its items");
  for (const NodeEntry& item : list.entries) {
    if (item.node.kind != NodeKind::map) {
      refuse(item.node, found(item.node));
      continue;
    }
    row->store(into, {"", item.node.pos, item.node.pos, {}}, problems);
    read_map({place.file, row->path, name, item.node.pos}, item.node, into, problems);
  }
}

void read_entry(const Field& field, const NodeEntry& entry, const Place& place, RunSpec& into,
                Problems& problems) {
  const Node& node = entry.node;
  if (names_an_axis(field) && !is_axis_name(entry.key)) {
    problems.push_back({entry.key_pos,
                        fmt::format("expected a name of letters, digits and _ in {}, found {}",
                                    place.name, in_quotes(entry.key)),
                        ""});
    return;
  }
  if (field.type == FieldType::maps) return read_items(field, entry, place, into, problems);
  const bool either = field.type == FieldType::name_or_map || field.type == FieldType::run;
  const bool by_name = either && node.kind == NodeKind::scalar;
  const bool by_map = either || field.type == FieldType::map;
  Value value{entry.key, entry.key_pos, text_pos(node), {}};
  if (by_name) {
    value.data = node.text;
  } else if (by_map && node.kind != NodeKind::map) {
    problems.push_back(
        {node.pos,
         fmt::format("{}: expected a {}, found {}", child_path(place.name, entry.key),
                     type_row(field.type).text, found(node)),
         ""});
    return;
  } else if (!by_map) {
    auto data = ValueReader(field, node, place.name, entry.key, problems).read();
    if (!data) data = stand_in(field.type);
    if (!data) return;
    value.data = std::move(*data);
  }
  if (field.store != nullptr) field.store(into, value, problems);
  if (field.type == FieldType::run) return;  // read as a run, with what is put in its place
  if (by_map && !by_name) {
    read_map({place.file, field.path, child_path(place.name, entry.key), entry.key_pos}, node, into,
             problems);
  }
}

void read_map(const Place& place, const Node& node, RunSpec& into, Problems& problems) {
  const Children& known = children(place.file, place.path);
  for (const NodeEntry& entry : node.entries) {
    const Field* field = known.find(entry.key);
    if (field == nullptr) {
      report_unknown(entry, place, known, problems);
    } else {
      read_entry(*field, entry, place, into, problems);
    }
  }
  report_missing(node, place, known, problems);
}

}  // namespace

void read_maps(const Field& field, const NodeEntry& entry, const std::string& name, RunSpec& into,
               Problems& problems) {
  const std::size_t dot = name.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : name.substr(0, dot);
  read_entry(field, entry, {field.file, "", parent, entry.key_pos}, into, problems);
}

void read_fields(std::string_view file, const Node& root, RunSpec& into, Problems& problems) {
  const Place whole{file, "", "", {root.pos.source, 0, 0, 1}};
  if (root.kind == NodeKind::map) return read_map(whole, root, into, problems);
  const auto keys = keys_of(children(file, ""));
  const std::string what = root.kind == NodeKind::null ? "an empty file" : found(root);
  problems.push_back({root.pos.line > 0 ? root.pos : whole.pos,
                      fmt::format("expected a map with {}, found {}", joined_or(keys), what), ""});
}

}  // namespace shardsim
