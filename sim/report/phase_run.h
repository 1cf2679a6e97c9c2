// Phases that were replayed: what each stream did, and who waited for whom.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "ir/timeline.h"
#include "report/json.h"

namespace shardsim {

struct PhaseRun {
  std::string name;  // of the file
  OpGraph graph;     // op i is phase i
  Timeline timeline;
};

struct StreamUse {
  std::string stream;
  Seconds busy;
  Seconds waiting;  // between the start of its first and the end of its last phase
  Seconds first, last;
};

// A phase that began after its stream was free, and the phase that it waited for longest.
struct PhaseWait {
  std::size_t phase = 0, waited_for = 0;
  Seconds time;
};

std::vector<StreamUse> stream_uses(const PhaseRun& run);  // in order of first mention
std::vector<PhaseWait> phase_waits(const PhaseRun& run);  // longest first, ties in file order

// For the terminal, at most 100 columns.
std::string phase_text(const PhaseRun& run);
// {makespan_s, streams[], phases[]}
Json phase_json(const PhaseRun& run);
// Chrome trace events: one thread for each stream.
std::string phase_trace(const PhaseRun& run);

}  // namespace shardsim
