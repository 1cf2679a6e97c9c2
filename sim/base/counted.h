// A number in a sentence: "1 stage", "2 stages", "1,189,000 points".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim {

// Thousands apart: "1,189,000".
inline std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

inline std::string counted(std::size_t count, std::string_view one, std::string_view more) {
  std::string text = grouped(count) + " ";
  text += count == 1 ? one : more;
  return text;
}

inline std::string counted(int count, std::string_view one, std::string_view more) {
  return counted(static_cast<std::size_t>(count), one, more);
}

}  // namespace shardsim
