// Which links a collective or a transfer takes, in words.
#pragma once

#include <string>

#include "ir/op_graph.h"

namespace shardsim {

// Of the transfers among the ops first … last that come from where `first` does: "x+ x-, 100 GB/s";
// links of all devices alike have one name. At most six names.
std::string links_text(const OpGraph& graph, OpId first, OpId last);

}  // namespace shardsim
