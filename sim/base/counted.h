// A number in a sentence: "1 stage", "2 stages".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardsim {

inline std::string counted(std::size_t count, std::string_view one, std::string_view more) {
  std::string text = std::to_string(count) + " ";
  text += count == 1 ? one : more;
  return text;
}

inline std::string counted(int count, std::string_view one, std::string_view more) {
  return counted(static_cast<std::size_t>(count), one, more);
}

}  // namespace shardsim
