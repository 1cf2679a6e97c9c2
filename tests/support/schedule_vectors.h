// Reading tests/theory/data/pipeline (sources in its README.md).
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/schedule_parser.h"
#include "plan/lower_schedule.h"
#include "plan/schedules.h"

namespace shardsim {

inline std::ifstream open_vectors(const std::string& name) {
  return std::ifstream(std::string(SHARDSIM_SOURCE_DIR) + "/tests/theory/data/pipeline/" + name);
}

// Fields between separators; those in quotes keep theirs.
inline std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

using VectorRow = std::map<std::string, std::string>;

// The rows of a CSV file, by the names of its first line.
inline std::vector<VectorRow> vector_rows(const std::string& name) {
  std::ifstream in = open_vectors(name);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = split(line, ',');
  std::vector<VectorRow> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = split(line, ',');
    VectorRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
  }
  return rows;
}

// "1|2|3"
inline std::vector<double> numbers(const std::string& list) {
  std::vector<double> values;
  for (const std::string& one : split(list, '|')) values.push_back(std::stod(one));
  return values;
}

inline double number(const VectorRow& row, const std::string& name) {
  return row.at(name).empty() ? 0 : std::stod(row.at(name));
}

inline CellCosts costs_of(const VectorRow& row) {
  const Seconds f{number(row, "tF")}, i{number(row, "tI")}, w{number(row, "tW")};
  const Seconds x{number(row, "tFB")};
  return {f, i, w, i + w, x > Seconds{0} ? x : f + i + w, {number(row, "tC")}};
}

inline ScheduleAsk ask_of(const VectorRow& row) {
  ScheduleAsk ask;
  ask.ranks = std::stoi(row.at("p"));
  ask.microbatches = std::stoi(row.at("m"));
  ask.chunks = std::stoi(row.at("v"));
  return ask;
}

// "interleaved_1f1b" is listed as interleaved-1f1b.
inline const ScheduleRow* row_named(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : c;
  return find_schedule(name);
}

// "1f1b-p4-m8-v1"
inline Schedule generated(const std::string& id) {
  const std::vector<std::string> parts = split(id, '-');
  ScheduleAsk ask;
  ask.ranks = std::stoi(parts.at(1).substr(1));
  ask.microbatches = std::stoi(parts.at(2).substr(1));
  ask.chunks = std::stoi(parts.at(3).substr(1));
  return row_named(parts.at(0))->generate(ask);
}

inline Schedule parse_lines(const std::vector<std::string>& lines, std::vector<Problem>& problems) {
  std::vector<RankText> ranks;
  for (const std::string& line : lines) ranks.push_back({argument_pos("rank", line), line});
  return parse_schedule(ranks, nullptr, problems).schedule;
}

// The orders that the searched kinds' authors found, by id.
inline std::map<std::string, std::vector<std::string>> searched_orders() {
  std::map<std::string, std::vector<std::string>> orders;
  std::ifstream in = open_vectors("searched_orders.txt");
  std::vector<std::string>* at = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("= ", 0) == 0) {
      at = &orders[line.substr(2)];
    } else {
      at->push_back(line);
    }
  }
  return orders;
}

// Every schedule of orders.csv: made by its generator, or read where it was searched for.
inline std::map<std::string, Schedule> vector_schedules() {
  std::map<std::string, Schedule> all;
  const auto searched = searched_orders();
  for (const VectorRow& row : vector_rows("orders.csv")) {
    const std::string& id = row.at("id");
    if (const auto found = searched.find(id); found != searched.end()) {
      std::vector<Problem> problems;
      all[id] = parse_lines(found->second, problems);
      continue;
    }
    ScheduleAsk ask = ask_of(row);
    ask.group = std::stoi(row.at("group"));
    all[id] = row_named(row.at("schedule"))->generate(ask);
  }
  return all;
}

}  // namespace shardsim
