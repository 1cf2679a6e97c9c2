// Where memory comes from: mimalloc in place of malloc and new, unless addresses are sanitized.
#pragma once

namespace shardsim {

// What one stage frees the next one takes, instead of new pages from the system; and the system is
// asked for large pages, for what is new is first touched page by page. At the start.
void set_up_memory();

}  // namespace shardsim
