// Where something stands, inside a message about something else.
#pragma once

#include <string>

#include "base/problem.h"

namespace shardsim {

// "file:line:column", or "elsewhere" without a source.
std::string place(const SourcePos& pos);

}  // namespace shardsim
