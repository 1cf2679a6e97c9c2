// The strips below a timeline: memory of every rank, rates on the busiest links.
#pragma once

#include "report/json.h"
#include "report/page_ticks.h"
#include "report/run.h"
#include "report/slices.h"

namespace shardsim {

// "memory" and "links" (with "links_left_out") of an element of a page's "runs": step functions of
// at most about 2,000 points, of which the highest are kept; at most 24 links.
void add_memory(const Run& run, const Metrics& metrics, const Slices& made, const Ticks& ticks,
                Object& page);
void add_links(const Run& run, const Slices& made, const Ticks& ticks, Object& page);

}  // namespace shardsim
