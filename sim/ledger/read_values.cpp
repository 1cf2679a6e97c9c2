#include "ledger/read_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace shardsim {

namespace {

using Problems = std::vector<Problem>;

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
         rest.substr(0, 4) != "and " && rest.substr(0, 3) != "or " && rest.substr(0, 3) != "in ";
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

}  // namespace

void Reader::refuse(const SourcePos& pos, std::string message, std::string hint) const {
  problems.push_back({pos, std::move(message), std::move(hint)});
}

bool Reader::scalar(const NodeEntry& entry) const {
  if (entry.node.kind == NodeKind::scalar && !trimmed(entry.node.text).empty()) return true;
  refuse(entry.node.pos,
         fmt::format("{}: expected a text, found {}", entry.key, found(entry.node)));
  return false;
}

std::string Reader::text(const NodeEntry& entry) const {
  return scalar(entry) ? std::string(trimmed(entry.node.text)) : "";
}

std::optional<Formula> Reader::formula(const NodeEntry& entry) const {
  if (!scalar(entry)) return std::nullopt;
  return quantity_or_formula(placer.placed(entry.node), problems);
}

std::optional<double> Reader::tolerance(const NodeEntry& entry) const {
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

std::vector<const NodeEntry*> Reader::named(const NodeEntry& entry) const {
  std::vector<const NodeEntry*> entries;
  if (entry.node.kind != NodeKind::map) {
    refuse(entry.node.pos,
           fmt::format("{}: expected a map of names, found {}", entry.key, found(entry.node)));
    return entries;
  }
  if (entry.node.entries.size() > kMostNames) {
    refuse(entry.key_pos, fmt::format("{}: expected at most {} names, found {}", entry.key,
                                      kMostNames, entry.node.entries.size()));
    return entries;
  }
  for (const NodeEntry& one : entry.node.entries) {
    if (is_formula_name(one.key)) {
      entries.push_back(&one);
    } else {
      refuse(one.key_pos,
             fmt::format("{}: expected a name of letters, digits and _ that is no word of "
                         "formulas, found {}",
                         entry.key, in_quotes(one.key)));
    }
  }
  return entries;
}

namespace {

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
  for (const NodeEntry* entry_of : reader.named(entry)) {
    const NodeEntry& one = *entry_of;
    if (one.node.kind != NodeKind::scalar) {
      reader.refuse(one.node.pos, fmt::format("{}: expected a quantity, a formula or a quoted "
                                              "text, found {}",
                                              one.key, found(one.node)));
      continue;
    }
    LedgerVariable variable{one.key, one.key_pos, std::nullopt, {}};
    if (one.node.quoted) {
      variable.text = parse_template(reader.placer.placed(one.node), reader.problems);
    } else {
      variable.number = reader.formula(one);
      if (!variable.number) continue;
    }
    put(into.where, std::move(variable));
  }
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
  for (const NodeEntry* one : reader.named(entry)) read_figure(*one, reader, into);
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

}  // namespace

const SettingKey* setting_key(std::string_view name) {
  const auto at = std::find_if(kSettingKeys.begin(), kSettingKeys.end(),
                               [&](const SettingKey& key) { return key.name == name; });
  return at == kSettingKeys.end() ? nullptr : &*at;
}

void take_over(LedgerSettings& into, const LedgerSettings& own) {
  for (const LedgerVariable& one : own.where) put(into.where, one);
  for (const LedgerFigure& one : own.figures) put(into.figures, one);
  for (const auto member :
       {&LedgerSettings::simulated, &LedgerSettings::claim, &LedgerSettings::condition,
        &LedgerSettings::exact, &LedgerSettings::book}) {
    if (own.*member) into.*member = own.*member;
  }
  for (const auto member :
       {&LedgerSettings::within, &LedgerSettings::exact_within, &LedgerSettings::book_within}) {
    if (own.*member) into.*member = own.*member;
  }
  for (const auto member :
       {&LedgerSettings::unit, &LedgerSettings::differs, &LedgerSettings::note}) {
    if (!(own.*member).empty()) into.*member = own.*member;
  }
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const SettingKey& key : kSettingKeys) names.emplace_back(key.name);
  return names;
}

}  // namespace shardsim
