// What results are printed on.
#pragma once

#include "report/picture_text.h"

namespace shardsim {

bool output_is_terminal();

// Of a terminal its width ($COLUMNS, or what the terminal says), colours unless $NO_COLOR is set or
// $TERM is dumb, and UTF-8 where $LC_ALL, $LC_CTYPE or $LANG has it. Of anything else 100 columns
// of ASCII, so that files do not depend on where they were made.
TextLook look_of_output();

}  // namespace shardsim
