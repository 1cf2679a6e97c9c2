// For tests of the tests: a row of the algorithm table that is wrong on purpose.
#pragma once

#include "plan/algorithms.h"

namespace shardsim {

// While it lives, `row` stands in the table in place of the row of the same name. REQUIRES: there
// is one, and no other thread uses the table.
class AlgorithmOverride {
 public:
  explicit AlgorithmOverride(const AlgorithmRow& row);
  ~AlgorithmOverride();
  AlgorithmOverride(const AlgorithmOverride&) = delete;
  AlgorithmOverride& operator=(const AlgorithmOverride&) = delete;

 private:
  AlgorithmRow before_;
};

}  // namespace shardsim
