// Where memory comes from: mimalloc in place of malloc and new, unless addresses are sanitized.
#pragma once

namespace shardsim {

// Large arrays in large pages, where the system has them: fewer page faults. Once, at the start.
void use_large_pages();

}  // namespace shardsim
