#include "spec/table.h"

#include <array>

#include "base/must.h"
#include "spec/load.h"

namespace shardsim {
namespace {

constexpr std::array kTypes{
    TypeRow{FieldType::map, "map", "object"},
    TypeRow{FieldType::text, "text", "string"},
    TypeRow{FieldType::name, "name", "string"},
    TypeRow{FieldType::choice, "name", "string"},
    TypeRow{FieldType::count, "count", "integer"},
    TypeRow{FieldType::large_count, "count", "integer"},
    TypeRow{FieldType::factor, "factor from 0 to 1", "number"},
    TypeRow{FieldType::share, "share above 0 and below 1", "number"},
    TypeRow{FieldType::number, "number above 0", "number"},
    TypeRow{FieldType::ratio, "number, 1 or more", "number"},
    TypeRow{FieldType::position, "position from 0", "integer"},
    TypeRow{FieldType::bytes, "size (80 GiB)", "string"},
    TypeRow{FieldType::bandwidth, "bandwidth (90 GB/s)", "string"},
    TypeRow{FieldType::seconds, "time (1 us)", "string integer"},
    TypeRow{FieldType::flop_rate, "rate (989 TFLOP/s)", "string"},
    TypeRow{FieldType::texts, "list of texts", "array"},
    TypeRow{FieldType::names, "list of names", "array"},
    TypeRow{FieldType::numbers, "list of numbers", "array"},
    TypeRow{FieldType::nodes, "node or list of nodes", "string integer array"},
    TypeRow{FieldType::maps, "list of maps", "array"},
    TypeRow{FieldType::name_or_map, "name or map", "string object"},
    TypeRow{FieldType::mesh_axis, "name, list of names or count", "string array integer"},
    TypeRow{FieldType::preset, "name, list of names or true/false", "string array boolean"},
    TypeRow{FieldType::flag, "flag (true or false)", "boolean"},
    TypeRow{FieldType::run, "name or run", "string object"},
    TypeRow{FieldType::values, "list, range or value", "array string number boolean object"},
    TypeRow{FieldType::conditions, "condition or list of them", "string array"},
};

constexpr std::array<std::string_view, 3> kLater{"moe", "inference", "objective"};

std::vector<Field> all_fields() {
  std::vector<Field> rows;
  for (const auto& part : {run_fields(), topology_fields("topology", ""), chip_fields(),
                           model_fields(), sweep_fields()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

const TypeRow& type_row(FieldType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row;
  }
  must(false, "every field type has a row");
  return kTypes.front();
}

std::span<const Field> fields() {
  static const std::vector<Field> kRows = all_fields();
  return kRows;
}

std::span<const std::string_view> later_fields() {
  return kLater;
}

std::string axis_name(std::string_view kind, std::size_t index) {
  constexpr std::array<std::string_view, 4> kNames{"x", "y", "z", "w"};
  if (index == 0 && (kind == "switch" || kind == "nvlink")) return "n";
  if (index < kNames.size()) return std::string(kNames[index]);
  std::string name = "a";
  name += std::to_string(index);
  return name;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = text.find(' ');
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

std::vector<FieldRow> field_rows() {
  std::vector<FieldRow> rows;
  for (const Field& field : fields()) {
    const TypeRow& type = type_row(field.type);
    rows.push_back({std::string(field.file), field.path, std::string(type.text), field.required,
                    std::string(field.default_text), std::string(field.help),
                    split_words(type.shapes), field.choices, split_words(field.unless)});
  }
  return rows;
}

}  // namespace shardsim
