// The version of the program, as --version prints it and databases record it.
#pragma once

namespace shardsim {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace shardsim
