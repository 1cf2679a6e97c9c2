#include "command/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/units.h"

namespace shardsim {

namespace {

constexpr int kNarrowest = 40, kWidest = 400;

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int terminal_width() {
  const Parsed<int> stated = parse_count(variable("COLUMNS"), 1, 1'000'000);
  if (stated) return std::clamp(stated.value, kNarrowest, kWidest);
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return std::clamp(known ? int{size.ws_col} : TextLook{}.width, kNarrowest, kWidest);
}

// The first of the three that says anything decides (POSIX, 8.2).
bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale;
    for (const char c : variable(name))
      if (c != '-') locale += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!locale.empty()) return locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

bool output_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

TextLook look_of_output() {
  if (!output_is_terminal()) return {};
  const bool colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return {.width = terminal_width(), .colour = colour, .unicode = has_utf8()};
}

}  // namespace shardsim
