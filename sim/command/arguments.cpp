#include "command/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "report/reports.h"

namespace shardsim {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output: cannot be written");
  }
}

const EngineRow* engine_named(const std::string& name, std::vector<Problem>& problems) {
  for (const EngineRow& row : engines()) {
    if (row.name == name) return &row;
  }
  problems.push_back({argument_pos("--engine", name),
                      fmt::format("expected an engine, found \"{}\"", name),
                      suggestion(name, names_of(engines()))});
  return nullptr;
}

Grain grain_named(const std::string& name, std::vector<Problem>& problems) {
  for (const Grain grain : {Grain::flow, Grain::fluid}) {
    if (to_text(grain) == name) return grain;
  }
  const std::vector<std::string> names = {"flow", "fluid"};
  problems.push_back({argument_pos("--grain", name),
                      fmt::format("expected a grain, found \"{}\"", name),
                      suggestion(name, names)});
  return Grain::flow;
}

std::optional<int> count_of(const char* option, const std::optional<std::string>& given, int most,
                            std::vector<Problem>& problems) {
  if (!given) return std::nullopt;
  const Parsed<int> parsed = parse_count(*given, 1, most);
  if (!parsed) problems.push_back({argument_pos(option, *given), parsed.error, ""});
  return parsed.value;
}

std::optional<int> whole_number_of(const char* option, const std::optional<std::string>& given,
                                   int most, std::vector<Problem>& problems) {
  if (!given) return std::nullopt;
  const bool negative = given->starts_with('-');
  const Parsed<int> parsed = parse_count(std::string_view(*given).substr(negative), 0, most);
  if (!parsed) problems.push_back({argument_pos(option, *given), parsed.error, ""});
  return negative ? -parsed.value : parsed.value;
}

void require_format(const std::string& format, std::vector<Problem>& problems,
                    const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), format) != names.end()) return;
  problems.push_back({argument_pos("--format", format),
                      fmt::format("expected a format, found \"{}\"", format),
                      suggestion(format, names)});
}

void throw_if_any(std::vector<Problem>& problems) {
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace shardsim
