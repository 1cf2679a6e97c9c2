// The points of a sweep: which candidates are points, and what run each is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweep/sweep_spec.h"

namespace shardsim {

// The text that a field of a number has for this one; nothing when it takes no such number (a count
// of 2.5).
std::optional<std::string> text_of(const Field& field, double number);

// One candidate with all that formulas may ask for.
struct Candidate {
  std::uint64_t number = 0;
  std::vector<const AxisValue*> values;  // [SweepSpec::axes()]
  std::vector<double> derived;           // [SweepSpec::derived]
  int left_out = -1;                     // by this rule; -1: a point
};

// Goes through candidates; keeps what it needs to be quick about it.
class Candidates {
 public:
  explicit Candidates(const SweepSpec& spec);

  double count() const { return count_; }
  // Conditions in their order, then derived fields that do not take their value.
  const std::vector<std::string>& rules() const { return rules_; }

  // REQUIRES: number < count(). Throws ConfigError when a formula has no value there (a division by
  // zero), naming the candidate.
  Candidate at(std::uint64_t number) const;

  // Evaluates the constraints that name no result, as far as one of them does not hold. Throws
  // ConfigError as `at`.
  void check_constraints(const Candidate& candidate) const;

  // The value of a name: an axis, a variable, a derived name or a field of base; nothing: unknown.
  std::optional<FormulaValue> value_of(const Candidate& candidate, const std::string& name) const;

 private:
  struct Name {
    std::string name;
    std::size_t index = 0;
    bool derived = false;
  };
  std::optional<double> evaluated(const Formula& formula, const Candidate& candidate) const;

  const SweepSpec& spec_;
  double count_ = 1;
  std::vector<const SweepAxis*> axes_;
  std::vector<std::string> rules_;
  std::vector<Name> names_;
  std::vector<std::pair<std::string, double>> of_base_;
  std::vector<const Formula*> early_;  // constraints that name no result
};

// A field as formulas name it: "cluster.topology.axes.x".
std::string dotted(const std::vector<PathStep>& field);

// "tp = 8, chip = h100-sxm".
std::string candidate_text(const SweepSpec& spec, const Candidate& candidate);

// The run of a point as a tree; its name is the sweep's and the point's number.
Node run_of(const SweepSpec& spec, const Candidate& candidate);

struct PointList {
  std::vector<std::uint64_t> points;  // ascending numbers
  std::vector<std::uint64_t>
      left_out;           // [Candidates::rules()] candidates that a rule left out first
  double candidates = 0;  // gone through
};
// All points, or those of the sample; says how far it is, unless quiet. Throws ConfigError when
// there is none, when there are too many candidates to go through or too many points to keep, and
// what Candidates::at and check_constraints throw.
PointList list_points(const SweepSpec& spec, const Candidates& candidates, bool quiet = false);

}  // namespace shardsim
