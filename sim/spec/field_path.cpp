#include "spec/field_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "spec/read.h"

namespace shardsim {
namespace {

const Field* row_of(const std::string& path) {
  for (const Field& field : fields())
    if (field.file == "run" && field.path == path) return &field;
  return nullptr;
}

bool whole(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end && std::isfinite(value);
}

template <class T>
std::optional<double> base_units(const Parsed<T>& parsed) {
  if (!parsed) return std::nullopt;
  return parsed.value / T{1};
}

}  // namespace

const Field* run_field(std::string_view path) {
  const Field* at = nullptr;
  std::string reached;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string key(path.substr(from, dot - from));
    const std::string before = reached.empty() ? "" : reached + ".";
    if (at != nullptr && at->type == FieldType::maps) {
      reached = before + "[]";
    } else {
      reached = before + (row_of(before + key) != nullptr ? key : "*");
    }
    at = key.empty() ? nullptr : row_of(reached);
    if (at == nullptr) return nullptr;
    from = dot + 1;
  }
  const bool names = at->type == FieldType::map || at->path.ends_with("[]");
  return names ? nullptr : at;
}

std::string nearest_run_field(std::string_view path) {
  std::vector<std::string> paths, last;
  for (const Field& field : fields()) {
    if (field.file != "run" || field.type == FieldType::map) continue;
    if (field.path.find_first_of("*[") != std::string::npos) continue;
    paths.push_back(field.path);
    last.push_back(field.path.substr(field.path.rfind('.') + 1));
  }
  std::string close = nearest(path, paths);
  if (close.empty()) {
    const std::string name = nearest(path.substr(path.rfind('.') + 1), last);
    const auto at = std::find(last.begin(), last.end(), name);
    if (at != last.end()) close = paths[static_cast<std::size_t>(at - last.begin())];
  }
  return close.empty() ? "see: shardsim list fields" : fmt::format("did you mean \"{}\"?", close);
}

void check_value(const Field& field, const std::string& name, const Node& value,
                 Problems& problems) {
  const bool either = field.type == FieldType::name_or_map;
  if (field.type == FieldType::maps || (either && value.kind == NodeKind::map)) {
    RunSpec none;
    const std::string key = name.substr(name.rfind('.') + 1);
    read_maps(field, {key, value.pos, value}, name, none, problems);
  } else if (!either) {
    read_value(field, {name, value.pos, value}, name, problems);
  }
}

std::optional<double> number_of(const Field* field, const Node& value) {
  if (value.kind != NodeKind::scalar) return std::nullopt;
  if (field != nullptr) {
    if (field->type == FieldType::bytes) return base_units(parse_bytes(value.text));
    if (field->type == FieldType::bandwidth) return base_units(parse_bandwidth(value.text));
    if (field->type == FieldType::seconds) return base_units(parse_seconds(value.text));
  }
  double number = 0;
  if (whole(value.text, number)) return number;
  if (!value.quoted && (value.text == "true" || value.text == "false")) return value.text == "true";
  return std::nullopt;
}

}  // namespace shardsim
