// Where memory comes from: mimalloc in place of malloc and new, unless addresses are sanitized.
#pragma once

namespace shardsim {

// What one stage frees the next one takes, instead of new pages from the system. At the start.
void keep_freed_memory();

}  // namespace shardsim
