#include "base/place.h"

#include <fmt/format.h>

namespace shardsim {

std::string place(const SourcePos& pos) {
  return pos.source ? fmt::format("{}:{}:{}", pos.source->name, pos.line, pos.column) : "elsewhere";
}

}  // namespace shardsim
