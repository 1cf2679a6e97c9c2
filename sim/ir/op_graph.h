// OpGraph: everything a run does, as plain operations with dependencies. The second waist: whatever
// a user can say is lowered to this, and the engines read nothing else.
//
//   Compute   occupies nothing shared; takes `seconds` on a device's stream
//   Transfer  waits `latency`, then moves `bytes` over `route` at a max-min fair rate; it counts as
//             `flows` flows in the sharing; a link listed n times in the route is consumed n times
//   Delay     takes `seconds` on no stream
//   Join      takes no time
//
// Links are *orbits* of physical links under the run's fold (architecture D3): with nothing folded,
// one orbit per link. Dependencies are CSR: op i starts when all of waits_for(i) have ended. Stream
// order is expressed by dependencies, too; no engine keeps a queue.
//
// Beside the ops stand what they change of memory, and collectives whose kernels take a share of a
// device's compute away while they run. An op graph without either is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "ir/schedule.h"

namespace shardsim {

enum class OpId : std::uint32_t {};
enum class RouteId : std::uint32_t {};
inline constexpr RouteId kNoRoute{0xffffffffu};

enum class OpKind : std::uint8_t { compute, transfer, delay, join };
enum class Pass : std::uint8_t { forward, backward };
std::string_view to_text(Pass);
// flow: every send of a plan is a transfer. fluid: the sends of a collective merge into one
// transfer per port (architecture D4).
enum class Grain : std::uint8_t { flow, fluid };
std::string_view to_text(Grain);
std::string_view assumption(Grain);  // "flow grain: every message is ...", and when it is exact

struct Op {
  OpKind kind = OpKind::join;
  std::uint32_t device = 0;  // class (index of the representative) that the op belongs to
  std::uint32_t origin = 0;  // index into origins
  std::uint32_t phase = 0;   // transfers of one phase start together; ids are dense per graph
  RouteId route = kNoRoute;  // Transfer
  Seconds seconds = {};      // Compute, Delay: duration; Transfer: latency before the flow
  Bytes bytes = {};          // Transfer; counted once however long the route
  double flows = 1;          // Transfer
};

// What work is done for.
enum class Purpose : std::uint8_t { pass, again, optimizer };  // again: recomputation

// Where an op comes from. One per statement or collective instance of the run.
struct Origin {
  std::string name = {};    // "Q = In * Wq", "all-gather Wq over X"
  std::string stream = {};  // "compute", or the communicator: "X", "Y"
  int layer = 0;
  int microbatch = 0;
  Pass pass = Pass::forward;
  int collective = -1;  // index into Plan::collectives, or -1
  int stage = 0;        // of a pipeline
  int to_rank = -1;  // of a pipeline, that a transfer goes to; from each of the sender's classes to
                     // the one at its place
  Purpose purpose = Purpose::pass;
  bool memory_bound = false;          // a compute that takes as long as its memory traffic
  std::optional<WorkKind> work = {};  // of the pipeline's schedule that it is part of, or ships
};

// What lies in the memory of a device.
enum class MemoryKind : std::uint8_t {
  weights,      // parameters as they are held
  gradients,    // of parameters, as they are held between micro-batches
  optimizer,    // its state: moments, master weights
  gathered,     // whole weights while they are used, and their whole gradients
  activations,  // kept for the backward pass, and its gradients
  logits,       // of the head
  count         // how many kinds there are
};
std::string_view to_text(MemoryKind);

// At the start or the end of an op, memory of a device of this class is taken (bytes above 0) or
// given back.
struct MemoryDelta {
  OpId op = {};
  bool at_end = false;
  MemoryKind kind = MemoryKind::activations;
  std::uint32_t device = 0;  // class
  Bytes bytes = {};
};

// From the end of `first` to the end of `last`, kernels of a communicator occupy this share of the
// compute of devices of the class, whether or not bytes flow; computes run slower by it. However
// many of its kernels run at once, a communicator has its share once.
struct Hold {
  std::uint32_t device = 0;  // class
  std::uint32_t communicator = 0;
  double share = 0;  // in (0, 1)
  OpId first = {}, last = {};
};

// One orbit of links.
struct NetLink {
  std::string name = {};       // "x+", or "x+ of device 3" when nothing is folded
  BytesPerSec bandwidth = {};  // of each physical link in it
  std::uint32_t owner = 0;     // class of the device that it leaves; nodes of a graph by number
};

struct OpGraph {
  std::vector<Op> ops;
  std::vector<std::uint32_t> dep_offset = {0};
  std::vector<OpId> deps;
  std::vector<NetLink> links;
  std::vector<std::uint32_t> route_offset = {0};
  std::vector<std::uint32_t> route_links;  // indices into links, sorted, repeated per load
  std::vector<Origin> origins;
  std::vector<MemoryDelta> memory;  // in any order
  std::vector<Hold> holds;
  std::uint32_t phases = 0;  // number of phase ids used
  std::uint32_t device_classes = 1;

  std::size_t size() const { return ops.size(); }
  std::span<const OpId> waits_for(OpId op) const;
  std::span<const std::uint32_t> route(RouteId route) const;
};

// What makes a graph unfit to replay: a dangling or self dependency, a cycle (printed as a path of
// op descriptions), NaN, infinite or negative amounts, a transfer without a route, a link without
// bandwidth, an unsorted route. Empty: fit. At most `limit` lines.
std::vector<std::string> check(const OpGraph& graph, std::size_t limit = 20);

// "op 17: transfer 8 MiB, all-gather Wq over X, forward, layer 0".
std::string describe(const OpGraph& graph, OpId op);

}  // namespace shardsim
