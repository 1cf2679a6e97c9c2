// Texts of a file as formulas need them: with the place of every character.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/expression.h"
#include "spec/fields.h"

namespace shardsim {

// Where the texts of one file stand.
class Placer {
 public:
  explicit Placer(std::shared_ptr<const Source> source);
  PlacedText placed(const Node& node) const;

 private:
  std::shared_ptr<const Source> source_;
  std::vector<std::size_t> starts_;  // byte of each line's first character
};

}  // namespace shardsim
