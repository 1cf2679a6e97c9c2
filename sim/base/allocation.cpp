// The door to mimalloc, whose library takes the place of malloc where it is linked.
#include "base/allocation.h"

#ifndef SHARDSIM_SANITIZE
#include <mimalloc.h>
#endif

namespace shardsim {

void set_up_memory() {
#ifndef SHARDSIM_SANITIZE
  mi_option_disable(mi_option_allow_decommit);
  mi_option_enable(mi_option_large_os_pages);
#endif
}

}  // namespace shardsim
