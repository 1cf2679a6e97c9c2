// A result as bytes, from a worker to its parent.
#pragma once

#include <string>
#include <string_view>

#include "sweep/result_columns.h"

namespace shardsim {

std::string to_bytes(const PointResult& result);
// REQUIRES: to_bytes made them.
PointResult from_bytes(std::string_view bytes);

}  // namespace shardsim
