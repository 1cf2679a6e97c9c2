// How what is shown over time looks, by what it does: the colours of reports/template/palette.js (a
// test compares the two) and letters for the terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/slices.h"

namespace shardsim {

struct Ink {
  std::string_view name;    // of a SliceKind
  std::string_view colour;  // "#136fec"
  char letter = 0;          // of computes that of the schedule's works where there is one
};
std::span<const Ink> inks();

// Kinds that have no row of their own look like others of their group.
const Ink& ink_of(const SliceKind& kind);
const Ink& ink_of_work(char letter);  // F B I W O

// Of later chunks: 60 % of the way to white.
std::string lighter(std::string_view colour);
// White where it reaches a contrast of 4.5 (WCAG 2), else black.
std::string_view text_on(std::string_view colour);
// Red, green and blue, 0 to 255.
struct Rgb {
  int red = 0, green = 0, blue = 0;
};
Rgb rgb_of(std::string_view colour);

}  // namespace shardsim
