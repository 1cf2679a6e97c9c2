// How text is laid out for whoever reads it.
#pragma once

namespace shardsim {

struct TextLook {
  int width = 100;       // columns of a line
  bool colour = false;   // escapes of 256 colours
  bool unicode = false;  // else ASCII
};

}  // namespace shardsim
