// must(condition, "why"): an error of ours, never of the user's. Prints file:line and aborts.
#pragma once

#include <source_location>
#include <string_view>

namespace shardsim {

[[noreturn]] void must_fail(std::string_view why, std::source_location where);

inline void must(bool condition, std::string_view why,
                 std::source_location where = std::source_location::current()) {
  if (!condition) must_fail(why, where);
}

}  // namespace shardsim
