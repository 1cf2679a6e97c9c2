// Values that are equal share a number, for memos whose keys would be long with the values
// themselves. Only so many are kept; a number is never given again, so that what was remembered
// under one that is forgotten is never found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shardsim {

template <class T>
class Numbered {
 public:
  explicit Numbered(std::size_t most) : most_(most) {}

  std::size_t number(const T& value) {
    const auto known = std::find(values_.begin(), values_.end(), value);
    if (known != values_.end())
      return forgotten_ + static_cast<std::size_t>(known - values_.begin());
    if (values_.size() >= most_) {
      forgotten_ += values_.size();
      values_.clear();
    }
    values_.push_back(value);
    return forgotten_ + values_.size() - 1;
  }
  // REQUIRES: the last that number() has returned.
  const T& at(std::size_t number) const { return values_[number - forgotten_]; }

 private:
  std::size_t most_;
  std::size_t forgotten_ = 0;
  std::vector<T> values_;
};

}  // namespace shardsim
