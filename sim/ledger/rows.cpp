#include "ledger/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/must.h"
#include "base/text.h"
#include "ledger/names.h"
#include "ledger/read_values.h"
#include "spec/fields.h"
#include "spec/library.h"

namespace shardsim {

namespace {

using Problems = std::vector<Problem>;

constexpr std::array<std::string_view, 4> kVerdictNames = {"holds", "holds if", "imprecise",
                                                           "wrong"};

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

void unknown_key(const NodeEntry& entry, std::vector<std::string> keys, const Reader& reader) {
  for (std::string& name : setting_names()) keys.push_back(std::move(name));
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
  if (points.entries.size() > kMostPoints) {
    reader.refuse(points.pos, fmt::format("points: expected at most {} in a row, found {}",
                                          kMostPoints, points.entries.size()));
    return;
  }
  for (const NodeEntry& entry : points.entries) {
    const Node& node = entry.node;
    if (node.kind != NodeKind::map) {
      reader.refuse(node.pos, fmt::format("points: expected a map, found {}", found(node)));
      continue;
    }
    LedgerPoint point{"", node.pos, {}};
    const Reader here{reader.placer, reader.problems,
                      fmt::format("point {} of {}", row.points.size() + 1, reader.in)};
    for (const NodeEntry& one : node.entries) {
      if (one.key == "name") {
        point.name = here.text(one);
      } else if (const SettingKey* key = setting_key(one.key)) {
        key->read(one, here, point.own);
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
    for (const std::string& name : setting_names()) {
      if (name != "note") refuse_key(name, beside);
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
  const bool conditioned =
      row.common.condition || std::any_of(row.points.begin(), row.points.end(),
                                          [](const LedgerPoint& p) { return p.own.condition; });
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
  for (const auto& [name, member] : {std::pair{"simulated", &LedgerSettings::simulated},
                                     std::pair{"claim", &LedgerSettings::claim}}) {
    for (const LedgerPoint& point : row.points) {
      if (row.common.*member || point.own.*member) continue;
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
    row.points.push_back({"", row.pos, {}});
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

LedgerSettings settings_of(const LedgerRow& row, const LedgerPoint& point) {
  LedgerSettings settings = row.common;
  take_over(settings, point.own);
  return settings;
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
