// Shards of a sweep joined into one database.
#pragma once

#include <span>
#include <string>

#include "sweep/store.h"

namespace shardsim {

// Every point once, however often a shard is given or was merged before; a replayed row goes before
// one that is not, anything before a failed one. Once all points are there, they are settled as one
// sweep would have. Throws ConfigError when the databases are of different sweeps, and CheckFailed,
// before anything is written, when two of them have different results for one point.
Store merge_shards(const std::string& into, std::span<const std::string> shards);

}  // namespace shardsim
