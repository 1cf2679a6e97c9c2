#include <fmt/format.h>

#include <cmath>

#include "report/reports.h"

namespace shardsim {

std::string fine_text(Seconds seconds) {
  if (seconds > Seconds{0} && seconds < Seconds{1e-7}) {
    return fmt::format("{:.4g} ns", seconds / Seconds{1e-9});
  }
  if (seconds < Seconds{1}) return fmt::format("{:.4f} us", seconds / Seconds{1e-6});
  if (seconds < Seconds{1e6}) return fmt::format("{:.6f} s", seconds / Seconds{1});
  return fmt::format("{:.6g} s", seconds / Seconds{1});
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string result;
  std::size_t line = static_cast<std::size_t>(indent);
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(at, end - at);
    if (line + word.size() + 1 > static_cast<std::size_t>(width) && !result.empty()) {
      result += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      line = static_cast<std::size_t>(indent);
    } else if (!result.empty()) {
      result += ' ';
      ++line;
    }
    result += word;
    line += word.size();
    at = end + 1;
  }
  return result;
}

}  // namespace shardsim
