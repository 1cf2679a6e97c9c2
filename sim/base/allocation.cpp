// The door to mimalloc, whose library takes the place of malloc when it is linked.
#include "base/allocation.h"

#ifndef SHARDSIM_SANITIZE
#include <mimalloc.h>
#endif

namespace shardsim {

void use_large_pages() {
#ifndef SHARDSIM_SANITIZE
  mi_option_enable(mi_option_large_os_pages);
#endif
}

}  // namespace shardsim
