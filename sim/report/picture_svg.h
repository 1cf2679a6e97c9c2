// Pictures for papers and slides: SVG with nothing but shapes and text, one file that every viewer
// draws. Names are text in it, whatever they are.
#pragma once

#include <string>

#include "report/picture.h"

namespace shardsim {

// What is narrower than a pixel is drawn together with what begins in the same pixel, and a note
// says so; so the size is bounded by the pixels, not by the run.
std::string picture_svg(const Picture& picture);

}  // namespace shardsim
