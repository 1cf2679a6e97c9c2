#include "ledger/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "base/must.h"
#include "base/text.h"
#include "base/units.h"
#include "ledger/names.h"
#include "spec/fields.h"
#include "spec/library.h"

namespace shardsim {

namespace {

using Problems = std::vector<Problem>;

constexpr std::array<std::string_view, 4> kVerdictNames = {"holds", "holds if", "imprecise",
                                                           "wrong"};

// Where the texts of one file stand.
class Placer {
 public:
  explicit Placer(std::shared_ptr<const Source> source) : source_(std::move(source)) {
    if (source_ == nullptr) return;
    const std::string_view text = source_->text;
    for (std::size_t at = 0; at != std::string_view::npos;) {
      starts_.push_back(at);
      const std::size_t end = text.find('\n', at);
      at = end == std::string_view::npos ? end : end + 1;
    }
  }

  PlacedText placed(const Node& node) const {
    const SourcePos inside = node.quoted ? node.pos.at(1, node.pos.length) : node.pos;
    const auto line = static_cast<std::size_t>(inside.line);
    const bool known = node.anchor_line == 0 && line >= 1 && line <= starts_.size();
    const std::size_t at =
        known ? starts_[line - 1] + static_cast<std::size_t>(inside.column) - 1 : 0;
    const bool as_is = known && at <= source_->text.size() &&
                       source_->text.compare(at, node.text.size(), node.text) == 0;
    return {node.text, as_is ? inside : node.pos, as_is};
  }

 private:
  std::shared_ptr<const Source> source_;
  std::vector<std::size_t> starts_;  // byte of each line's first character
};

// A quantity in its base unit, or nothing when the text is no number with a unit. The first that
// reads it wins: their units are all different.
std::optional<double> quantity_in(std::string_view text) {
  if (const auto bytes = parse_bytes(text)) return bytes.value / Bytes{1};
  if (const auto rate = parse_bandwidth(text)) return rate.value / BytesPerSec{1};
  if (const auto time = parse_seconds(text)) return time.value / Seconds{1};
  if (const auto flops = parse_flop_rate(text)) return flops.value / FlopsPerSec{1};
  return std::nullopt;
}

// "64 MiB": digits, then a letter that is no exponent.
bool looks_like_quantity(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return false;
  std::string_view rest = text.substr(end);
  if ((rest.front() == 'e' || rest.front() == 'E') && rest.size() > 1 &&
      (rest[1] == '-' || rest[1] == '+' || (rest[1] >= '0' && rest[1] <= '9'))) {
    const std::size_t more = rest.find_first_not_of("0123456789", 2);
    rest = more == std::string_view::npos ? std::string_view{} : rest.substr(more);
  }
  rest = trimmed(rest);
  return !rest.empty() &&
         ((rest.front() >= 'a' && rest.front() <= 'z') ||
          (rest.front() >= 'A' && rest.front() <= 'Z')) &&
         rest.substr(0, 4) != "and " && rest.substr(0, 3) != "or ";
}

std::optional<Formula> quantity_or_formula(PlacedText text, Problems& problems) {
  if (!looks_like_quantity(text.text)) return parse_formula(std::move(text), problems);
  const std::optional<double> value = quantity_in(text.text);
  if (!value) {
    problems.push_back({text.at(0, text.text.size()),
                        fmt::format("expected a quantity such as 64 MiB, 100 GB/s, 1 us or 989 "
                                    "TFLOP/s, or a formula, found {}",
                                    in_quotes(text.text)),
                        ""});
    return std::nullopt;
  }
  FormulaStep number;
  number.number = *value;
  number.length = text.text.size();
  return Formula{std::move(text), {std::move(number)}};
}

// Everything that reading needs to know of the place where it is.
struct Reader {
  const Placer& placer;
  Problems& problems;
  std::string in;  // "row C25"

  void refuse(const SourcePos& pos, std::string message, std::string hint = {}) const {
    problems.push_back({pos, std::move(message), std::move(hint)});
  }

  bool scalar(const NodeEntry& entry) const {
    if (entry.node.kind == NodeKind::scalar && !trimmed(entry.node.text).empty()) return true;
    refuse(entry.node.pos,
           fmt::format("{}: expected a text, found {}", entry.key, found(entry.node)));
    return false;
  }

  std::string text(const NodeEntry& entry) const {
    return scalar(entry) ? std::string(trimmed(entry.node.text)) : "";
  }

  std::optional<Formula> formula(const NodeEntry& entry) const {
    if (!scalar(entry)) return std::nullopt;
    return quantity_or_formula(placer.placed(entry.node), problems);
  }

  // "5 %" or 0.05.
  std::optional<double> tolerance(const NodeEntry& entry) const {
    if (!scalar(entry)) return std::nullopt;
    std::string_view text = trimmed(entry.node.text);
    const bool percent = text.ends_with('%');
    if (percent) text = trimmed(text.substr(0, text.size() - 1));
    const Parsed<double> number = parse_factor(text, 0, percent ? 100 : 1);
    if (!number) {
      refuse(entry.node.pos, fmt::format("{}: expected a tolerance such as 1e-9 or 5 %, found {}",
                                         entry.key, found(entry.node)));
      return std::nullopt;
    }
    return percent ? number.value / 100 : number.value;
  }

  // Entries of a map whose keys are names for formulas.
  template <class Take>
  void named(const NodeEntry& entry, const Take& take) const {
    if (entry.node.kind != NodeKind::map) {
      refuse(entry.node.pos,
             fmt::format("{}: expected a map of names, found {}", entry.key, found(entry.node)));
      return;
    }
    for (const NodeEntry& one : entry.node.entries) {
      if (!is_formula_name(one.key)) {
        refuse(one.key_pos,
               fmt::format("{}: expected a name of letters, digits and _ that is no word of "
                           "formulas, found {}",
                           entry.key, in_quotes(one.key)));
        continue;
      }
      take(one);
    }
  }
};

// Takes the place of the item of that name, or stands after the others.
template <class Item>
void put(std::vector<Item>& items, Item item) {
  const auto at = std::find_if(items.begin(), items.end(),
                               [&](const Item& other) { return other.name == item.name; });
  if (at == items.end()) {
    items.push_back(std::move(item));
  } else {
    *at = std::move(item);
  }
}

void read_where(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  reader.named(entry, [&](const NodeEntry& one) {
    if (one.node.kind != NodeKind::scalar) {
      reader.refuse(one.node.pos, fmt::format("{}: expected a quantity, a formula or a quoted "
                                              "text, found {}",
                                              one.key, found(one.node)));
      return;
    }
    LedgerVariable variable{one.key, one.key_pos, std::nullopt, {}};
    if (one.node.quoted) {
      variable.text = parse_template(reader.placer.placed(one.node), reader.problems);
    } else {
      variable.number = reader.formula(one);
      if (!variable.number) return;
    }
    put(into.where, std::move(variable));
  });
}

void read_figure(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  if (entry.node.kind != NodeKind::map) {
    reader.refuse(entry.node.pos, fmt::format("{}: expected a map with command and take, found {}",
                                              entry.key, found(entry.node)));
    return;
  }
  LedgerFigure figure{entry.key, entry.key_pos, {}, {}, false};
  std::optional<Take> take;
  bool command = false, taken = false;
  const std::vector<std::string> keys = {"command", "take", "replay"};
  for (const NodeEntry& one : entry.node.entries) {
    if (std::find(keys.begin(), keys.end(), one.key) == keys.end()) {
      reader.refuse(one.key_pos,
                    fmt::format("unknown key {} in figure {} of {}; expected {}",
                                in_quotes(one.key), entry.key, reader.in, joined_or(keys)),
                    suggestion(one.key, keys));
      continue;
    }
    if (one.key == "command") command = true;
    if (one.key == "take") taken = true;
    if (!reader.scalar(one)) continue;
    if (one.key == "command") {
      figure.command = parse_template(reader.placer.placed(one.node), reader.problems);
    } else if (one.key == "take") {
      take = parse_take(reader.placer.placed(one.node), reader.problems);
    } else if (one.node.text == "folded") {
      figure.folded = true;
    } else {
      reader.refuse(one.node.pos,
                    fmt::format("replay: expected folded, found {}", found(one.node)));
    }
  }
  for (const auto& [key, there] : {std::pair{"command", command}, std::pair{"take", taken}}) {
    if (!there) {
      reader.refuse(entry.key_pos, fmt::format("missing key \"{}\" in figure {} of {}", key,
                                               entry.key, reader.in));
    }
  }
  if (take) figure.take = std::move(*take);
  put(into.figures, std::move(figure));
}

// Keys that a row and each of its points may have.
struct SettingKey {
  std::string_view name;
  void (*read)(const NodeEntry&, const Reader&, LedgerSettings&);
};

template <std::optional<Formula> LedgerSettings::*Member>
void read_formula(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  into.*Member = reader.formula(entry);
}
template <std::optional<double> LedgerSettings::*Member>
void read_tolerance(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  into.*Member = reader.tolerance(entry);
}
template <std::string LedgerSettings::*Member>
void read_text(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  into.*Member = reader.text(entry);
}

void read_figures(const NodeEntry& entry, const Reader& reader, LedgerSettings& into) {
  reader.named(entry, [&](const NodeEntry& one) { read_figure(one, reader, into); });
}

using Settings = LedgerSettings;
constexpr std::array kSettingKeys = {
    SettingKey{"where", read_where},
    SettingKey{"figures", read_figures},
    SettingKey{"simulated", read_formula<&Settings::simulated>},
    SettingKey{"claim", read_formula<&Settings::claim>},
    SettingKey{"within", read_tolerance<&Settings::within>},
    SettingKey{"condition", read_formula<&Settings::condition>},
    SettingKey{"exact", read_formula<&Settings::exact>},
    SettingKey{"exact_within", read_tolerance<&Settings::exact_within>},
    SettingKey{"book", read_formula<&Settings::book>},
    SettingKey{"book_within", read_tolerance<&Settings::book_within>},
    SettingKey{"differs", read_text<&Settings::differs>},
    SettingKey{"unit", read_text<&Settings::unit>},
    SettingKey{"note", read_text<&Settings::note>},
};

// Keys that only a row has, besides points.
struct RowKey {
  std::string_view name;
  std::string LedgerRow::*text;
};
constexpr std::array kRowKeys = {
    RowKey{"id", &LedgerRow::id},
    RowKey{"group", &LedgerRow::group},
    RowKey{"statement", &LedgerRow::statement},
    RowKey{"source", &LedgerRow::source},
    RowKey{"why", &LedgerRow::why},
    RowKey{"same_as", &LedgerRow::same_as},
    RowKey{"if", &LedgerRow::condition_words},
    RowKey{"instead", &LedgerRow::instead},
};

const SettingKey* setting_key(std::string_view name) {
  const auto at = std::find_if(kSettingKeys.begin(), kSettingKeys.end(),
                               [&](const SettingKey& key) { return key.name == name; });
  return at == kSettingKeys.end() ? nullptr : &*at;
}

void unknown_key(const NodeEntry& entry, std::vector<std::string> keys, const Reader& reader) {
  for (const SettingKey& key : kSettingKeys) keys.emplace_back(key.name);
  const std::string close = nearest(entry.key, keys);
  reader.refuse(entry.key_pos,
                fmt::format("unknown key {} in {}; expected {}", in_quotes(entry.key), reader.in,
                            joined_or(keys)),
                close.empty() ? "" : fmt::format("did you mean \"{}\"?", close));
}

void read_points(const Node& points, const Reader& reader, LedgerRow& row) {
  if (points.kind != NodeKind::list || points.entries.empty()) {
    reader.refuse(points.pos, fmt::format("points: expected a list of maps, found {}",
                                          points.entries.empty() && points.kind == NodeKind::list
                                              ? "an empty list"
                                              : found(points)));
    return;
  }
  for (const NodeEntry& entry : points.entries) {
    const Node& node = entry.node;
    if (node.kind != NodeKind::map) {
      reader.refuse(node.pos, fmt::format("points: expected a map, found {}", found(node)));
      continue;
    }
    LedgerPoint point{"", node.pos, row.common};
    const Reader here{reader.placer, reader.problems,
                      fmt::format("point {} of {}", row.points.size() + 1, reader.in)};
    for (const NodeEntry& one : node.entries) {
      if (one.key == "name") {
        point.name = here.text(one);
      } else if (const SettingKey* key = setting_key(one.key)) {
        key->read(one, here, point.is);
      } else {
        unknown_key(one, {"name"}, here);
      }
    }
    row.points.push_back(std::move(point));
  }
}

template <class Value>
std::optional<Value> chosen(const NodeEntry& entry, std::span<const std::string_view> names,
                            std::span<const Value> values, const Reader& reader) {
  if (!reader.scalar(entry)) return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == entry.node.text) return values[i];
  }
  const std::vector<std::string> all(names.begin(), names.end());
  const std::string close = nearest(entry.node.text, all);
  reader.refuse(
      entry.node.pos,
      fmt::format("{}: expected {}, found {}", entry.key, joined_or(all), found(entry.node)),
      close.empty() ? "" : fmt::format("did you mean \"{}\"?", close));
  return std::nullopt;
}

void require(bool there, const LedgerRow& row, std::string_view key, std::string_view why,
             const Reader& reader) {
  if (there) return;
  reader.refuse(row.pos, fmt::format("missing key \"{}\" in {}{}", key, reader.in, why));
}

// What a row needs as its status and verdict have it, and what it cannot have beside them.
void check_keys(const Node& node, const LedgerRow& row, bool judged, const Reader& reader) {
  require(!row.statement.empty(), row, "statement", "", reader);
  require(!row.source.empty(), row, "source", "", reader);
  const auto refuse_key = [&](std::string_view key, std::string_view beside) {
    for (const NodeEntry& entry : node.entries) {
      if (entry.key == key) {
        reader.refuse(entry.key_pos,
                      fmt::format("expected no {} in a row {}, found one", key, beside));
      }
    }
  };
  if (row.status != RowStatus::simulated) {
    const std::string_view beside =
        row.status == RowStatus::repeat ? "with same_as" : "that is not simulated";
    for (const SettingKey& key : kSettingKeys) {
      if (key.name != "note") refuse_key(key.name, beside);
    }
    for (const std::string_view key : {"points", "verdict", "if", "instead"}) {
      refuse_key(key, beside);
    }
    if (row.status == RowStatus::repeat) {
      refuse_key("why", beside);
      refuse_key("status", beside);
    } else {
      require(!row.why.empty(), row, "why", ": a status needs a reason", reader);
    }
    return;
  }
  refuse_key("why", "that is simulated");
  require(judged, row, "verdict", "", reader);
  if (!judged) return;
  const bool conditioned = std::any_of(row.points.begin(), row.points.end(),
                                       [](const LedgerPoint& p) { return p.is.condition; });
  if (row.verdict == Verdict::holds_if) {
    require(conditioned, row, "condition", ": its verdict is holds if", reader);
    require(!row.condition_words.empty(), row, "if", ": its verdict is holds if", reader);
  } else {
    refuse_key("if", "whose verdict is not holds if");
  }
  if (row.verdict == Verdict::wrong || row.verdict == Verdict::imprecise) {
    require(!row.instead.empty(), row, "instead",
            fmt::format(": its verdict is {}", to_text(row.verdict)), reader);
  }
}

void check_points(const LedgerRow& row, const Reader& reader) {
  for (const LedgerPoint& point : row.points) {
    for (const auto& [name, formula] :
         {std::pair{"simulated", &point.is.simulated}, std::pair{"claim", &point.is.claim}}) {
      if (formula->has_value()) continue;
      reader.refuse(point.pos, fmt::format("missing key \"{}\" in {}", name, reader.in));
    }
  }
}

LedgerRow read_row(const Node& node, const Placer& placer, Problems& problems) {
  const std::size_t before = problems.size();
  LedgerRow row;
  row.pos = node.pos;
  const Node* id = node.find("id");
  const Reader reader{placer, problems,
                      id != nullptr ? fmt::format("row {}", in_quotes(id->text)) : "a row"};
  bool judged = false;
  for (const NodeEntry& entry : node.entries) {
    const auto key = std::find_if(kRowKeys.begin(), kRowKeys.end(),
                                  [&](const RowKey& one) { return one.name == entry.key; });
    if (key != kRowKeys.end()) {
      row.*(key->text) = reader.text(entry);
      if (entry.key == "id") row.pos = entry.node.pos;
      if (entry.key == "same_as") {
        row.same_as_pos = entry.node.pos;
        row.status = RowStatus::repeat;
      }
    } else if (entry.key == "status") {
      constexpr std::array<std::string_view, 2> kNames = {"not yet", "not simulated"};
      constexpr std::array kValues = {RowStatus::not_yet, RowStatus::not_simulated};
      const auto status = chosen<RowStatus>(entry, kNames, kValues, reader);
      if (row.status != RowStatus::repeat) row.status = status.value_or(RowStatus::not_yet);
    } else if (entry.key == "verdict") {
      judged = true;
      row.verdict = chosen<Verdict>(entry, kVerdictNames, kVerdicts, reader).value_or(row.verdict);
    } else if (const SettingKey* setting = setting_key(entry.key)) {
      setting->read(entry, reader, row.common);
    } else if (entry.key != "points") {
      std::vector<std::string> keys;
      for (const RowKey& one : kRowKeys) keys.emplace_back(one.name);
      keys.insert(keys.end(), {"status", "verdict", "points"});
      unknown_key(entry, std::move(keys), reader);
    }
  }
  if (const Node* points = node.find("points")) {
    read_points(*points, reader, row);
  } else if (row.status == RowStatus::simulated) {
    row.points.push_back({"", row.pos, row.common});
  }
  require(id != nullptr, row, "id", "", reader);
  check_keys(node, row, judged, reader);
  // What follows from a mistake is not told beside it.
  const bool simulated = row.status == RowStatus::simulated;
  if (simulated && problems.size() == before) check_points(row, reader);
  if (simulated && problems.size() == before) check_names(row, problems);
  return row;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

void read_rows(const std::string& path, std::vector<LedgerRow>& rows, Problems& problems) {
  const std::size_t before = problems.size();
  const Node file = open_yaml(path, {}, problems);
  if (problems.size() != before || file.pos.source == nullptr) return;
  const Node* list = file.kind == NodeKind::map ? file.find("rows") : nullptr;
  if (list == nullptr || file.entries.size() != 1) {
    std::string what = file.kind == NodeKind::null ? "an empty file" : found(file);
    SourcePos at = file.pos;
    for (const NodeEntry& entry : file.entries) {
      if (entry.key == "rows" || file.kind != NodeKind::map) continue;
      at = entry.key_pos;
      what = fmt::format("the key {}", in_quotes(entry.key));
      break;
    }
    problems.push_back({at, fmt::format("expected a map with rows alone, found {}", what), ""});
    return;
  }
  if (list->kind != NodeKind::list) {
    problems.push_back(
        {list->pos, fmt::format("rows: expected a list of rows, found {}", found(*list)), ""});
    return;
  }
  const Placer placer(file.pos.source);
  for (const NodeEntry& entry : list->entries) {
    if (entry.node.kind == NodeKind::map) {
      rows.push_back(read_row(entry.node, placer, problems));
    } else {
      problems.push_back({entry.node.pos,
                          fmt::format("rows: expected a row, a map, found {}", found(entry.node)),
                          ""});
    }
  }
}

namespace {

const LedgerRow* find_row(const std::vector<LedgerRow>& rows, const std::string& id) {
  const auto at =
      std::find_if(rows.begin(), rows.end(), [&](const LedgerRow& row) { return row.id == id; });
  return at == rows.end() ? nullptr : &*at;
}

bool is_id(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  });
}

void check_repeat(const LedgerRow& row, const std::vector<LedgerRow>& rows, Problems& problems) {
  std::set<std::string> seen = {row.id};
  for (const LedgerRow* at = &row; at->status == RowStatus::repeat;) {
    const LedgerRow* next = find_row(rows, at->same_as);
    if (next == nullptr) {
      if (at != &row) return;  // said at that row
      std::vector<std::string> ids;
      for (const LedgerRow& other : rows) ids.push_back(other.id);
      problems.push_back(
          {row.same_as_pos,
           fmt::format("same_as: expected the id of a row, found {}", in_quotes(row.same_as)),
           suggestion(row.same_as, ids)});
      return;
    }
    if (!seen.insert(next->id).second) {
      problems.push_back({row.same_as_pos,
                          fmt::format("same_as: expected a row with figures in the end, found a "
                                      "circle back to {}",
                                      next->id),
                          ""});
      return;
    }
    at = next;
  }
}

}  // namespace

void check_rows(const std::vector<LedgerRow>& rows, Problems& problems) {
  std::set<std::string> ids;
  for (const LedgerRow& row : rows) {
    if (row.id.empty()) continue;  // missing, said before
    if (!is_id(row.id)) {
      problems.push_back(
          {row.pos,
           fmt::format("id: expected letters, digits, - and ., found {}", in_quotes(row.id)), ""});
    } else if (!ids.insert(row.id).second) {
      const LedgerRow& first = *find_row(rows, row.id);
      problems.push_back({row.pos,
                          fmt::format("id: {} stands for another row already, in {}:{}", row.id,
                                      first.pos.source->name, first.pos.line),
                          ""});
    }
  }
  for (const LedgerRow& row : rows) {
    if (row.status == RowStatus::repeat) check_repeat(row, rows, problems);
  }
}

const LedgerRow& meant(const LedgerRow& row, const std::vector<LedgerRow>& rows) {
  const LedgerRow* at = &row;
  while (at->status == RowStatus::repeat) {
    at = find_row(rows, at->same_as);
    must(at != nullptr, "a checked repeat leads to a row");
  }
  return *at;
}

}  // namespace shardsim
