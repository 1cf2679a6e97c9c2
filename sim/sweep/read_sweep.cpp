#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>

#include "base/text.h"
#include "spec/field_path.h"
#include "spec/library.h"
#include "spec/load.h"
#include "spec/override.h"
#include "spec/placer.h"
#include "spec/read.h"
#include "spec/yaml_text.h"
#include "sweep/axis_values.h"
#include "sweep/formula_names.h"
#include "sweep/points.h"
#include "sweep/sweep_spec.h"
#include "sweep/value_check.h"

namespace shardsim {
namespace {

using Problems = std::vector<Problem>;

constexpr std::array<std::string_view, 3> kObjectives = {"step_time", "tokens_per_s_per_chip",
                                                         "cost_per_token"};

// FNV-1a (Fowler, Noll and Vo), 64 bits.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return fmt::format("{:016x}", hash);
}

class SweepReader {
 public:
  SweepReader(const Node& root, SweepSpec& into, Problems& problems)
      : root_(root), placer_(root.pos.source), into_(into), problems_(problems) {}

  void read() {
    read_base();
    each("axes", [&](const NodeEntry& entry) { add_group({axis(entry, "axes")}); });
    if (const Node* zip = root_.find("zip")) {
      for (const NodeEntry& item : zip->entries) read_zip(item.node);
    }
    each("variables", [&](const NodeEntry& entry) { add_group({axis(entry, "variables")}); });
    if (into_.groups.empty() && problems_.empty()) {
      refuse(root_.pos, "expected at least one axis, found none",
             "axes: {parallel.tp: [1, 2, 4, 8]}");
    }
    each("derive", [&](const NodeEntry& entry) { read_derived(entry); });
    check_order_of_derived();
    into_.where = conditions(root_.find("where"), false);
    read_sample();
    read_search();
    check_used_names();
    const auto is_varied = [&](const std::string& path) { return names_.has_field(path); };
    check_base_names(into_.base, is_varied, problems_);
    if (const Node* grain = root_.find("grain"))
      into_.grain = grain->text == "fluid" ? Grain::fluid : Grain::flow;
    if (const Node* timeout = root_.find("timeout")) {
      into_.timeout = parse_seconds(timeout->text).value;
      if (*into_.timeout == Seconds{})
        refuse(timeout->pos, "timeout: expected more than 0 s, found 0: no point could be done",
               "leave it out for none");
    }
  }

 private:
  void refuse(const SourcePos& pos, std::string message, std::string hint = "") {
    problems_.push_back({pos, std::move(message), std::move(hint)});
  }

  template <class Read>
  void each(std::string_view key, Read read) {
    const Node* map = root_.find(key);
    if (map == nullptr || map->kind != NodeKind::map) return;
    if (map->entries.empty())
      refuse(map->pos, fmt::format("{}: expected axes, found an empty map", key));
    for (const NodeEntry& entry : map->entries) read(entry);
  }

  void read_base() {
    const Node* base = root_.find("base");
    if (base == nullptr) return;
    if (base->kind == NodeKind::map) {
      into_.base = *base;
    } else if (base->kind == NodeKind::scalar) {
      const auto path = locate(kRuns, {base->text, base->pos, true}, problems_);
      if (path) into_.base = open_yaml(*path, base->pos, problems_);
      if (path && into_.base.pos.source && into_.base.kind != NodeKind::map) {
        refuse(base->pos,
               fmt::format("base: expected a map in {}, found {}", base->text, found(into_.base)));
      }
    }
  }

  void add_group(std::vector<SweepAxis> axes) {
    if (!axes.empty() && !axes.front().values.empty()) into_.groups.push_back({std::move(axes)});
  }

  void read_zip(const Node& map) {
    AxisGroup group;
    for (const NodeEntry& entry : map.entries) {
      SweepAxis one = axis(entry, "zip");
      if (!group.axes.empty() && !one.values.empty() && one.values.size() != group.size()) {
        refuse(one.pos, fmt::format("zip: expected {} values as {} has, found {}", group.size(),
                                    group.axes.front().name, one.values.size()));
      } else if (!one.values.empty()) {
        group.axes.push_back(std::move(one));
      }
    }
    if (map.kind == NodeKind::map && map.entries.empty())
      refuse(map.pos, "zip: expected axes, found an empty map");
    check_differ(group);
    if (!group.axes.empty()) into_.groups.push_back(std::move(group));
  }

  // A value may come again in one axis of a zip, beside another one in the others.
  void check_differ(const AxisGroup& group) {
    if (group.axes.empty()) return;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::string all;
      for (const SweepAxis& one : group.axes) all += (all.empty() ? "" : ", ") + one.values[i].text;
      if (!seen.insert(all).second)
        refuse(group.axes.back().values[i].node.pos,
               fmt::format("zip: expected values that differ in one axis at least, found a second "
                           "({})",
                           all));
    }
  }

  // The name of an axis, or problems at its key.
  void take_name(const std::string& name, const NodeEntry& entry, std::string_view in) {
    const SourcePos& pos = entry.key_pos;
    if (!is_formula_name(name)) {
      refuse(pos, fmt::format("{}: expected a name for formulas, found {}", in, in_quotes(name)),
             in == "variables" || in == "derive"
                 ? ""
                 : fmt::format("give it one: my_name: {{field: {}, values: …}}", entry.key));
    } else if (in == "variables" && run_field(name) != nullptr) {
      refuse(
          pos,
          fmt::format("variables: expected a name of your own, found {}, a field of a run", name),
          fmt::format("below axes, {} varies it", name));
    } else if (!names_.add_name(name)) {
      refuse(pos, fmt::format("{}: expected different names, found a second {}", in, name),
             fmt::format("give it another: my_{}: {{field: …, values: …}}", name));
    }
  }

  const Field* field_of(const std::string& path, const SourcePos& pos, std::string_view in,
                        std::vector<PathStep>& steps) {
    const Field* row = run_field(path);
    if (row == nullptr) {
      refuse(pos, fmt::format("{}: expected a field of a run, found {}", in, in_quotes(path)),
             nearest_run_field(path));
      return nullptr;
    }
    if (!names_.add_field(path)) {
      refuse(pos, fmt::format("{}: expected every field once, found a second {}", in, path));
    }
    check_axis_key(*row, path, pos, problems_);
    steps = path_steps(path, pos);
    return row;
  }

  SweepAxis axis(const NodeEntry& entry, std::string_view in) {
    SweepAxis out;
    out.pos = entry.key_pos;
    const bool variable = in == "variables";
    const Node* values = &entry.node;
    std::string field = entry.key;
    SourcePos field_pos = entry.key_pos;
    out.name = field.substr(field.rfind('.') + 1);
    if (entry.node.kind == NodeKind::map) {
      const Node* path = named_axis(entry, variable, in);
      values = entry.node.find("values");
      if (values == nullptr || (path == nullptr && !variable)) return out;
      out.name = entry.key;
      if (path != nullptr) {
        field = path->text;
        field_pos = path->pos;
      }
    }
    take_name(variable ? entry.key : out.name, entry, in);
    if (variable) out.name = entry.key;
    if (!variable) out.row = field_of(field, field_pos, in, out.field);
    if (!variable && out.row == nullptr) return out;
    const std::string name = fmt::format("{}.{}", in, entry.key);
    for (Node& node : axis_nodes(*values, name, in == "zip", problems_)) {
      if (out.row != nullptr) check_once(*out.row, field, node);
      AxisValue value{std::move(node), "", {}};
      value.text = value.node.kind == NodeKind::scalar ? value.node.text : flow_text(value.node);
      value.number = number_of(out.row, value.node);
      out.values.push_back(std::move(value));
    }
    return out;
  }

  // The values of a range stand in one place, and are refused for one reason: it is said of the
  // first.
  void check_once(const Field& row, const std::string& field, const Node& node) {
    std::vector<Problem> found;
    check_axis_value(row, field, node, found);
    if (found.empty() || !refused_.insert({node.pos.line, node.pos.column}).second) return;
    problems_.insert(problems_.end(), found.begin(), found.end());
  }

  // {field: …, values: …}; returns the field, if there is one.
  const Node* named_axis(const NodeEntry& entry, bool variable, std::string_view in) {
    const std::vector<std::string> keys =
        variable ? std::vector<std::string>{"values"} : std::vector<std::string>{"field", "values"};
    for (const NodeEntry& one : entry.node.entries) {
      if (std::find(keys.begin(), keys.end(), one.key) != keys.end()) continue;
      refuse(one.key_pos,
             fmt::format("unknown key {} in {}.{}; expected {}", in_quotes(one.key), in, entry.key,
                         joined_or(keys)),
             suggestion(one.key, keys));
    }
    for (const std::string& key : keys) {
      if (entry.node.find(key) == nullptr)
        refuse(entry.key_pos, fmt::format("missing key \"{}\" in {}.{}", key, in, entry.key));
    }
    const Node* field = entry.node.find("field");
    return field != nullptr && field->kind == NodeKind::scalar ? field : nullptr;
  }

  void read_derived(const NodeEntry& entry) {
    if (entry.node.kind != NodeKind::scalar) return;
    DerivedField one;
    const bool is_path = entry.key.find('.') != std::string::npos;
    if (is_path || run_field(entry.key) != nullptr)
      one.row = field_of(entry.key, entry.key_pos, "derive", one.field);
    if (is_path && one.row == nullptr) return;
    auto formula = parse_formula(placer_.placed(entry.node), problems_);
    if (formula) names_.check(*formula, into_.base, false, problems_);
    one.name = entry.key.substr(entry.key.rfind('.') + 1);
    take_name(one.name, entry, "derive");
    if (one.row == nullptr) only_names_.push_back({one.name, entry.key_pos});
    if (one.row != nullptr && !takes_numbers(*one.row)) {
      refuse(entry.key_pos,
             fmt::format("derive: expected a field that takes a number, found {}, a {}", entry.key,
                         type_row(one.row->type).text),
             "take it as an axis, beside others in zip");
    }
    if (!formula) return;
    one.formula = std::move(*formula);
    into_.derived.push_back(std::move(one));
  }

  // Derived values are computed in their order, each from those above it.
  void check_order_of_derived() {
    for (std::size_t i = 0; i < into_.derived.size(); ++i) {
      const Formula& formula = into_.derived[i].formula;
      for (const FormulaStep& step : formula.steps) {
        if (step.kind != FormulaStep::Kind::name) continue;
        for (std::size_t j = i; j < into_.derived.size(); ++j) {
          const DerivedField& other = into_.derived[j];
          if (step.name != other.name && step.name != dotted(other.field)) continue;
          refuse(
              formula.text.at(step.offset, step.length),
              fmt::format("derive: expected what is known before it, found {}, which is derived {}",
                          in_quotes(step.name), j == i ? "here" : "below"),
              j == i ? "write the number that base has" : "put that above");
        }
      }
    }
  }

  static bool takes_numbers(const Field& field) {
    constexpr std::array kTypes = {
        FieldType::count,     FieldType::large_count, FieldType::factor,   FieldType::share,
        FieldType::number,    FieldType::ratio,       FieldType::position, FieldType::bytes,
        FieldType::bandwidth, FieldType::seconds,     FieldType::mesh_axis};
    return std::find(kTypes.begin(), kTypes.end(), field.type) != kTypes.end();
  }

  std::vector<Formula> conditions(const Node* node, bool of_results) {
    std::vector<Formula> all;
    if (node == nullptr) return all;
    std::vector<const Node*> texts;
    if (node->kind == NodeKind::scalar) texts.push_back(node);
    for (const NodeEntry& entry : node->entries) texts.push_back(&entry.node);
    for (const Node* text : texts) {
      if (text->kind != NodeKind::scalar) continue;  // reported
      auto formula = parse_formula(placer_.placed(*text), problems_);
      if (!formula) continue;
      names_.check(*formula, into_.base, of_results, problems_);
      all.push_back(std::move(*formula));
    }
    return all;
  }

  void check_used_names() {
    for (const auto& [name, pos] : only_names_) {
      if (names_.is_read(name)) continue;
      refuse(
          pos,
          fmt::format("derive: expected a field of a run or a name that a formula uses, found {}",
                      in_quotes(name)),
          nearest_run_field(name));
    }
  }

  void read_sample() {
    const Node* sample = root_.find("sample");
    if (sample == nullptr || sample->kind != NodeKind::map) return;
    const Node* points = sample->find("points");
    const Node* seed = sample->find("seed");
    if (points == nullptr || seed == nullptr) return;  // reported
    constexpr int kMost = std::numeric_limits<int>::max();
    into_.sample = SampleSpec{parse_count(points->text, 1, kMost).value,
                              static_cast<std::uint64_t>(parse_count(seed->text, 0, kMost).value)};
  }

  void read_search() {
    const Node* search = root_.find("search");
    if (search == nullptr || search->kind != NodeKind::map) return;
    SearchSpec& out = into_.search.emplace();
    out.objective_pos = search->pos;
    if (const Node* objective = search->find("objective")) {
      const auto at = std::find(kObjectives.begin(), kObjectives.end(), objective->text);
      if (at != kObjectives.end()) out.objective = static_cast<Objective>(at - kObjectives.begin());
      out.objective_pos = objective->pos;
    }
    out.constraints = conditions(search->find("constraints"), true);
    if (const Node* prices = search->find("prices")) {
      for (const NodeEntry& entry : prices->entries) {
        require_chip(entry);
        out.prices.emplace_back(entry.key, parse_factor(entry.node.text, 0, 1e6).value);
      }
    }
    if (out.objective == Objective::cost_per_token && out.prices.empty()) {
      refuse(out.objective_pos, "cost_per_token: expected prices in search, found none",
             "prices: {h100-sxm: 2.5}, of an hour of one chip");
    }
    if (const Node* top = search->find("top"))
      out.top = parse_count(top->text, 1, std::numeric_limits<int>::max()).value;
    if (const Node* screen = search->find("screen")) out.screen = screen->text == "true";
    if (const Node* keep = search->find("keep")) read_keep(*keep, out);
  }

  // A price is of a chip of the library, unless chips come from files of the user's.
  void require_chip(const NodeEntry& price) {
    const std::vector<std::string> chips = chip_names();
    const auto known = [&](const std::string& name) {
      return std::find(chips.begin(), chips.end(), name) != chips.end();
    };
    const Node* own = node_at(into_.base, "cluster.chip");
    if (own == nullptr || !known(own->text) || names_.has_field("cluster.chip")) return;
    if (known(price.key)) return;
    const std::string near = suggestion(price.key, chips);
    refuse(price.key_pos, fmt::format("search.prices: expected a chip, found {}", price.key),
           near.empty() ? "shardsim list chips names them" : near);
  }

  void read_keep(const Node& node, SearchSpec& out) {
    if (node.kind != NodeKind::scalar) return;
    std::string_view text = trimmed(node.text);
    const bool percent = text.ends_with('%');
    if (percent) text = trimmed(text.substr(0, text.size() - 1));
    const Parsed<double> share = parse_factor(text, 0, 100);
    if (!share || !percent) {
      refuse(node.pos,
             fmt::format("search.keep: expected a share such as 5 %, found {}", found(node)));
      return;
    }
    out.keep = share.value / 100;
    if (!out.screen) refuse(node.pos, "search.keep: expected no keep without screening, found one");
  }

  const Node& root_;
  Placer placer_;
  SweepSpec& into_;
  Problems& problems_;
  FormulaNames names_;
  std::set<std::pair<int, int>> refused_;  // line and column of values
  std::vector<std::pair<std::string, SourcePos>> only_names_;
};

// What decides results: everything but what is for people, and how long a point may take.
std::string fingerprint_of(Node root, const Node& base) {
  std::erase_if(root.entries, [](const NodeEntry& entry) {
    return entry.key == "name" || entry.key == "notes" || entry.key == "timeout" ||
           entry.key == "base";
  });
  return hash_of(yaml_text(root) + yaml_text(base));
}

// Keys and values of the base, with the first value of every axis in its place.
void check_base(const SweepSpec& spec, Problems& problems) {
  Node run = spec.base;
  for (const SweepAxis* axis : spec.axes())
    if (!axis->field.empty()) assign(axis->field, axis->values.front().node, run, problems);
  for (const DerivedField& derived : spec.derived) {
    if (derived.row == nullptr) continue;
    const std::string any = text_of(*derived.row, 1).value();  // its own comes with the point
    assign(derived.field, {NodeKind::scalar, any, false, {}, derived.field.front().pos}, run,
           problems);
  }
  if (!problems.empty()) return;
  RunSpec none;
  read_fields("run", run, none, problems);
}

}  // namespace

std::string_view to_text(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}

std::vector<const SweepAxis*> SweepSpec::axes() const {
  std::vector<const SweepAxis*> all;
  for (const AxisGroup& group : groups)
    for (const SweepAxis& axis : group.axes) all.push_back(&axis);
  return all;
}

SweepSpec read_sweep(const std::string& path) {
  Problems problems;
  SweepSpec spec;
  const Node root = open_argument(kSweeps, path, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  require_kind(kSweeps, root, path);
  RunSpec none;
  read_fields("sweep", root, none, problems);
  if (root.kind == NodeKind::map) SweepReader(root, spec, problems).read();
  if (problems.empty()) check_base(spec, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  const Node* name = root.find("name");
  spec.name = name != nullptr ? name->text : std::filesystem::path(path).stem().string();
  spec.fingerprint = fingerprint_of(root, spec.base);
  return spec;
}

}  // namespace shardsim
