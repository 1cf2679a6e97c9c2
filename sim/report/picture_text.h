// Pictures for the terminal: a letter per column, coloured where that can be seen.
//
//   compute   FFFFFFFFFFFF...BBBBBBBBBBBBBBBBBBBBBB....OOOO
//   X         ggg...ggg..........ggg..sss...
//             0         10 ms         20 ms         30 ms
#pragma once

#include <string>

#include "report/picture.h"
#include "report/text_look.h"

namespace shardsim {

// The whole time in the width. A letter is what takes most of its column, a dot an idle one.
std::string picture_text(const Picture& picture, const TextLook& look);

// Columns [from, from + columns) of a row, each `column` long. Numbers of boxes stand behind their
// letters where `numbered` and the box has room; else the letter is repeated.
struct TextWindow {
  Seconds column;
  int from = 0, columns = 0;
  bool numbered = false;
};
std::string row_text(const Picture& picture, const PictureRow& row, const TextWindow& window,
                     const TextLook& look);

}  // namespace shardsim
