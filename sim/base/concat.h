// Texts put together from pieces, for those that are made by the thousand and seldom read.
//
//   concat({"cuts ", dim, " of ", name})
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace shardsim {

inline std::string concat(std::initializer_list<std::string_view> pieces) {
  std::size_t length = 0;
  for (const std::string_view piece : pieces) length += piece.size();
  std::string text;
  text.reserve(length);
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace shardsim
