// The values of a row in a file: formulas, quantities, tolerances, texts, and the keys that a row
// and each of its points may have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ledger/rows.h"
#include "spec/fields.h"
#include "spec/placer.h"

namespace shardsim {

// Reads values at one place of a file; each reader appends a problem and returns nothing where a
// value is not as it must be.
struct Reader {
  const Placer& placer;
  std::vector<Problem>& problems;
  std::string in;  // "row C25"

  void refuse(const SourcePos& pos, std::string message, std::string hint = {}) const;
  bool scalar(const NodeEntry& entry) const;
  std::string text(const NodeEntry& entry) const;
  std::optional<Formula> formula(const NodeEntry& entry) const;   // or a quantity
  std::optional<double> tolerance(const NodeEntry& entry) const;  // 5 % or 0.05
  // The entries of a map whose keys are names for formulas.
  std::vector<const NodeEntry*> named(const NodeEntry& entry) const;
};

// A key that a row and each of its points may have.
struct SettingKey {
  std::string_view name;
  void (*read)(const NodeEntry&, const Reader&, LedgerSettings&);
};
// Each setting of `own` that is written goes before the one that is there.
void take_over(LedgerSettings& into, const LedgerSettings& own);
const SettingKey* setting_key(std::string_view name);  // nullptr when there is none
std::vector<std::string> setting_names();

}  // namespace shardsim
