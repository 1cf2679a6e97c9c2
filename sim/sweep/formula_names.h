// Which names the formulas of a sweep file may use, as far as the file has been read.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/problem.h"
#include "spec/fields.h"

namespace shardsim {

// The number that the base has at a dotted path, in base units; nothing: none.
std::optional<double> number_in_base(const Node& base, const std::string& name);

class FormulaNames {
 public:
  // False: it is there already. A name is of an axis, a variable or a derived value; a field is
  // named by its path, too.
  bool add_name(const std::string& name) { return names_.insert(name).second; }
  bool add_field(const std::string& path) { return fields_.insert(path).second; }
  bool has_field(const std::string& path) const { return fields_.contains(path); }
  // Whether a formula that was checked reads it.
  bool is_read(const std::string& name) const { return read_.contains(name); }

  // Refuses every name that is none of those, no field of `base` that holds a number and, where
  // formulas are `of_results`, no column of results.
  void check(const Formula& formula, const Node& base, bool of_results,
             std::vector<Problem>& problems);

 private:
  std::string nearest_name(const std::string& name, bool of_results) const;

  std::set<std::string> names_, fields_, read_;
};

}  // namespace shardsim
