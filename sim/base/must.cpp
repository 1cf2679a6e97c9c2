#include "base/must.h"

#include <cstdio>
#include <cstdlib>

namespace shardsim {

void must_fail(std::string_view why, std::source_location where) {
  std::fprintf(stderr, "%s:%u: internal error in %s: %.*s\n", where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name(),
               static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace shardsim
