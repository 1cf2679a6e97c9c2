// A sweep: one run with some of its fields varied. What the file says, checked and expanded.
//
//   base: llama3-70b-fsdp-h100-256
//   axes: {parallel.tp: 1..8 step x2, parallel.fsdp: 8..256 step x2}
//   variables: {chips: [64, 128]}
//   where: tp * fsdp == chips
//
// Every combination of values is a candidate with a number, counted with the first axis outermost;
// those of which all conditions hold are the points. A point keeps its number whatever else runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expression.h"
#include "base/problem.h"
#include "base/units.h"
#include "ir/op_graph.h"
#include "spec/field_path.h"
#include "spec/fields.h"
#include "spec/override.h"

namespace shardsim {

struct AxisValue {
  Node node;                     // as it goes into the run
  std::string text;              // of it, on one line
  std::optional<double> number;  // for formulas: quantities in their base unit
};

struct SweepAxis {
  std::string name;             // in formulas and columns
  std::vector<PathStep> field;  // of the run; empty: a variable
  const Field* row = nullptr;   // of the field
  std::vector<AxisValue> values;
  SourcePos pos;
};

// Axes whose values are taken in step: one digit of a candidate's number.
struct AxisGroup {
  std::vector<SweepAxis> axes;
  std::size_t size() const { return axes.front().values.size(); }
};

// A field, or only a name for later formulas, that follows from the others.
struct DerivedField {
  std::string name;
  std::vector<PathStep> field;
  const Field* row = nullptr;  // nullptr: only a name
  Formula formula;
};

struct SampleSpec {
  int points = 0;
  std::uint64_t seed = 0;
};

enum class Objective : std::uint8_t { step_time, tokens_per_s_per_chip, cost_per_token };
std::string_view to_text(Objective);

struct SearchSpec {
  Objective objective = Objective::step_time;
  SourcePos objective_pos;
  std::vector<Formula> constraints;                    // over results, axes and variables
  std::vector<std::pair<std::string, double>> prices;  // of an hour of one chip, by its name
  int top = 10;                                        // best points sought
  std::optional<double> keep;                          // share of the screened points
  bool screen = true;
};

struct SweepSpec {
  std::string name;
  Node base;                      // the run
  std::vector<AxisGroup> groups;  // the last varies fastest
  std::vector<DerivedField> derived;
  std::vector<Formula> where;
  std::optional<SampleSpec> sample;
  Grain grain = Grain::flow;
  std::optional<Seconds> timeout;  // of a point
  std::optional<SearchSpec> search;
  std::string fingerprint;  // of all that decides which points there are and what they come to

  std::vector<const SweepAxis*> axes() const;
};

// The most candidates that are gone through one by one.
inline constexpr double kMostCandidates = 1e9;
inline constexpr double kMostToDrawFrom = 1e15;  // numbers that a double holds
// Of what is left of them, all numbers are kept in memory, 8 bytes each.
inline constexpr std::size_t kMostPoints = 50'000'000;

// Reads a sweep file. Throws ConfigError with every problem: unknown keys, axes that name no field,
// values that the field does not take, empty lists and ranges, formulas that cannot be read or name
// something unknown, two axes of one name or field, no axis at all.
SweepSpec read_sweep(const std::string& path);

}  // namespace shardsim
