// Whether two names are equal. Names of dims, mesh axes and arrays are short and mostly differ in
// length or in their last letter, and lists of them are searched by the thousand: most of them are
// told apart without a call of memcmp.
#pragma once

#include <cstring>
#include <string_view>

namespace shardsim {

inline bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.empty()) return true;
  if (a.back() != b.back()) return false;
  return a.size() == 1 || std::memcmp(a.data(), b.data(), a.size() - 1) == 0;
}

}  // namespace shardsim
