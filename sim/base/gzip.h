// gzip (gzip.cpp is the door to zlib).
#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// The content of a .gz file; no time and no name in it: same input, same bytes.
std::string gzip(std::string_view content);

}  // namespace shardsim
