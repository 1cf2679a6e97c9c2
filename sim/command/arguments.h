// What several commands take and print. Each reader appends a problem that points at the argument.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/op_graph.h"
#include "replay/replay.h"
#include "report/reports.h"

namespace shardsim {

// Standard output, or an exception: a full disk must not look like success.
void print(const std::string& text);

template <class Row>
std::vector<std::string> names_of(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

const EngineRow* engine_named(const std::string& name, std::vector<Problem>& problems);
Grain grain_named(const std::string& name, std::vector<Problem>& problems);
// From 1 to `most`; from -most to `most`. Absent: not given.
std::optional<int> count_of(const char* option, const std::optional<std::string>& given, int most,
                            std::vector<Problem>& problems);
std::optional<int> whole_number_of(const char* option, const std::optional<std::string>& given,
                                   int most, std::vector<Problem>& problems);
void require_format(const std::string& format, std::vector<Problem>& problems,
                    const std::vector<std::string>& names = {"text", "json"});

template <class T>
T quantity(const char* option, const std::string& text, Parsed<T> (*parse)(std::string_view),
           std::vector<Problem>& problems) {
  const Parsed<T> parsed = parse(text);
  if (!parsed) problems.push_back({argument_pos(option, text), parsed.error, ""});
  return parsed.value;
}

void throw_if_any(std::vector<Problem>& problems);

}  // namespace shardsim
