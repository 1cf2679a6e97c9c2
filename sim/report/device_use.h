// What runs on one device when: the computes of its class, the collectives of its groups and what
// it sends or receives as a rank of a pipeline, each communicator for itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/run.h"

namespace shardsim {

struct Interval {
  Seconds from, to;
};

struct DeviceUse {
  std::uint32_t device = 0;  // class
  std::vector<Interval> compute;
  struct Communicator {
    std::string name;  // mesh axes, "T" or "X,Y"; "pipeline"
    std::vector<Interval> times;
  };
  std::vector<Communicator> communicators;  // in the order of Plan::collectives, pipeline last
  std::vector<Interval> neighbours;         // other devices of its rank
};

inline constexpr const char* kPipeline = "pipeline";
inline constexpr const char* kRecompute = "recomputation";
inline constexpr const char* kOptimizer = "optimizer";
inline constexpr const char* kMemoryBound = "memory-bound computes";

// The name of a collective's communicator, and of what its collectives cost.
std::string communicator_of(const CollectiveInstance& collective);
std::string collectives_over(std::string_view communicator);

// The device classes of every rank of the pipeline; without ranks, one of all classes.
std::vector<std::vector<std::uint32_t>> ranks_or_one(const OpGraph& graph,
                                                     std::vector<std::vector<std::uint32_t>> ranks);
// [device classes] its rank.
std::vector<std::size_t> rank_of_class(const OpGraph& graph,
                                       const std::vector<std::vector<std::uint32_t>>& ranks);
// The device class of each rank that ends last, the first of several.
std::vector<std::uint32_t> last_devices(const OpGraph& graph, const Timeline& timeline,
                                        const std::vector<std::vector<std::uint32_t>>& ranks);

// Of the device of each rank that ends last, one entry per rank; of one rank where the plan has
// none. A collective occupies a device from the end of its begin to the end of its end.
std::vector<DeviceUse> device_uses(const Run& run);

// The measured sums of a use from 0 to `step`. A moment without compute in which several
// communicators run is exposed time of each in equal parts.
struct UseTimes {
  Seconds compute, comm, exposed;  // comm: some communicator runs; exposed: and nothing computes
  Seconds busy;                    // compute or a collective, what moves between ranks left out
  Seconds idle;                    // nothing runs on any device of the rank
  Seconds waiting;                 // nothing runs on this device, but on others of its rank
  Seconds first, last;             // begin and end of what keeps it busy
  std::vector<CommunicatorTime> communicators;  // as in the use
};
UseTimes times_of(const DeviceUse& use, Seconds step);

}  // namespace shardsim
