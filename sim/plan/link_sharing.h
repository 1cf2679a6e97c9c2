// When the last message of a collective has arrived, without a replay.
//
// A message leaves after what it waits for and its latency. While it is under way every link of its
// way allots it a fair share, one part of its bandwidth for each message on it, and it moves at the
// least of its shares. What it cannot use of the others is left unused, which is all that this
// lacks of the replay: there it goes to the other messages (max-min fairness: Bertsekas, Gallager
// 1992, section 6.5.2), and every rate depends on all links together. The two agree where on no
// link messages that are held up elsewhere meet others that are not.
#pragma once

#include "base/units.h"
#include "ir/op_graph.h"
#include "plan/collective_template.h"

namespace shardsim {

// Of the template's ops for V = `bytes`; `network` has their links and routes.
Seconds time_on_shared_links(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes);

}  // namespace shardsim
