// When the last message of a collective has arrived, with every link looked at by itself.
//
// Each link divides its bandwidth fairly among the messages that are under way on it (generalized
// processor sharing, by its virtual time: Parekh, Gallager 1993). A message leaves after what it
// waits for and its latency, moves on all links of its way at once, and has arrived when the last
// of them has passed it. So every link is busy as long as it has something to do, which the replay
// is not: there a message held up on one link moves slowly on the others, too, and what it leaves
// free there goes to the rest (max-min fairness), all links together. Where every message has one
// busiest link of its way the two agree.
#pragma once

#include "base/units.h"
#include "ir/op_graph.h"
#include "plan/collective_template.h"

namespace shardsim {

// Of the template's ops for V = `bytes`; `network` has their links and routes.
Seconds time_on_shared_links(const CollectiveTemplate& made, const OpGraph& network, Bytes bytes);

}  // namespace shardsim
