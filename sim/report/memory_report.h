// What reports say of the memory of a run.
#pragma once

#include <functional>
#include <string>

#include "report/json.h"
#include "report/run.h"

namespace shardsim {

// "peak 52.5 GiB of 74.5 GiB (22 GiB left), at …": of the rank that needs most. Empty: not counted.
std::string memory_text(const Run& run, const Metrics& metrics);

// With a pipeline, a table of every rank's peak.
std::string memory_rows(const Metrics& metrics);

// Of one rank, at its peak: bytes by what they are, and whose task took the last of them.
Object memory_fields(const Run& run, const MemoryPeak& peak);

// Chrome trace counters of each class of devices, in GiB by kind, from each change on.
void memory_counters(const Run& run, const std::function<void(Object)>& add);

}  // namespace shardsim
