// The table of collective algorithms: for each, the plan, the closed form that the replay is
// checked against, and why it does not suit a group.
//
// W1 is the bandwidth of one directed link; V the bytes of the collective: the gathered array
// (all-gather), the unreduced array of one device (reduce-scatter, all-reduce), the whole array
// over the group (all-to-all, collective-permute), the array of one device (broadcast, reduce), the
// whole array at the root (gather, scatter), 0 (barrier). Bandwidth terms: JAX Scaling Book ch. 3
// and 12 in their exact finite-N form; latency terms: Hockney's alpha-beta model, a step costs
// alpha + bytes/W1 (Thakur, Rabenseifner, Gropp 2005; Chan et al. 2007).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"

namespace shardsim {

// A port of the cluster that a route climbs, and what of it a device has: when all send, only
// those of its node (below the NICs), or of each group only it.
struct Climb {
  int port = 0;
  BytesPerSec all, node, one;
  std::vector<int> block = {};  // [axes of the net] ranks that share it, as a block of coordinates

  bool operator==(const Climb&) const = default;
};

struct GroupAxis {
  int size = 1;
  Wiring wiring = Wiring::ring;  // part of a ring is a line, unless it is its major part
  // Of one directed link (ring, line, full mesh) or one device's egress (star); divided by the
  // groups or devices that share it when all groups run at once: the stride of a strided part, the
  // devices of a NIC, the oversubscription of a leaf.
  BytesPerSec w1;
  Seconds latency;  // to the neighbour along the axis; per route on a star
  // Directed links that work for a device along the axis at once: 2 on a two-way ring, N-1 in a
  // full mesh; 1 on a line, where the ends have one.
  int ports = 1;
  std::vector<int> axes =
      {};                // of the cluster, major first: several parts that make up a longer one
  int level = 0;         // of the cluster
  int nic_level = 0;     // the level whose ports a route that crosses here begins with
  bool aligned = true;   // a route that crosses here first goes to the right position inside
  bool reduces = false;  // the switch can add
  std::vector<Climb> climbs = {};  // of a star; levels with the same first one share it
  std::string name = {};           // of its level, where there are several; otherwise its own

  bool operator==(const GroupAxis&) const = default;
};

// The network as the ranks of one group see it when all groups of these axes run at once: axes of
// size 1 left out, adjacent parts of one hardware axis put together again, all those of a graph or
// of a full mesh, where any devices are a full mesh of their own.
struct GroupNet {
  std::vector<GroupAxis> axes;
  // An explicit graph, one axis of which w1 and latency are those of a step to the next rank;
  // plan/routed_load.h has the rest. Otherwise nullptr.
  const Cluster* graph = nullptr;
  bool strided = false;  // neighbours lie several links apart: groups share those between
  bool uneven = false;   // single links differ: w1 is the slowest one's
  bool meets = false;    // two axes are parts of one axis of a grid with another between them: what
                         // goes along one passes links that the other needs

  // Closed forms may be wrong; those of a graph say so themselves.
  bool irregular() const { return uneven || meets || graph != nullptr; }
  int ranks() const;
  std::vector<int> sizes() const;
};
GroupNet group_net(const Cluster& cluster, std::span<const int> axes);  // may refer to the cluster
GroupNet group_net(Cluster&& cluster, std::span<const int> axes) = delete;

struct CollectiveAsk {
  Collective kind = Collective::all_gather;
  Bytes bytes;    // V
  int shift = 1;  // collective-permute only
  // collective-permute only: the rank that each rank's block goes to (plan/permute.h); empty:
  // shift.
  std::vector<int> targets = {};
  int root = 0;    // rank, of a rooted collective
  int pieces = 0;  // per tree, of algorithms that cut the array; 0: their default
  int window = 0;  // sends of a rank under way at once, of algorithms that limit them; 0: all
  // What a rank sends over one link, in one send where the plan is long otherwise: enough for the
  // fluid grain, which adds them up.
  bool merged = false;
};

struct ClosedForm {
  Seconds time;
  std::string formula;  // in N, V, W1 and a (latency), as evaluated
  bool exact = true;    // false: the latency term is an estimate

  bool exact_on(const GroupNet& net) const { return exact && !net.uneven && !net.meets; }
};

struct Composite;  // plan/composite.h

struct AlgorithmRow {
  std::string_view name;
  std::string_view help;
  // Empty when the algorithm suits; otherwise the reason, as a clause.
  std::string (*why_not)(const CollectiveAsk&, const GroupNet&);
  // fold: per group axis, divides its size. REQUIRES: why_not is empty.
  CollectivePlan (*plan)(const CollectiveAsk&, const GroupNet&, const std::vector<int>& fold);
  ClosedForm (*closed_form)(const CollectiveAsk&, const GroupNet&);
  // Sends of one rank in the flow grain, on average, joins left out.
  double (*sends_per_rank)(const CollectiveAsk&, const GroupNet&);
  // The smallest fold that the plan admits (its symmetry as data): per group axis, the least step
  // such that translating all ranks by it maps the plan onto itself.
  std::vector<int> (*fold)(const CollectiveAsk&, const GroupNet&);
  // The number of pieces that the plan is made with; nullptr: it has none to choose.
  int (*pieces)(const CollectiveAsk&, const GroupNet&) = nullptr;
  bool windowed = false;  // heeds CollectiveAsk::window
  // What it takes for granted beyond links; empty: nothing. "auto" considers such a row only where
  // the network declares it (GroupAxis::reduces).
  std::string_view assumption = {};
  // The collectives that it is made of, one after the other; nullptr: it is none of others. They
  // are chosen by the bytes.
  Composite (*parts)(const CollectiveAsk&, const GroupNet&) = nullptr;
};
// why_not of the row, or that it has no pieces or no window when the ask names one.
std::string unsuited(const AlgorithmRow& row, const CollectiveAsk& ask, const GroupNet& net);

std::span<const AlgorithmRow> algorithms();
const AlgorithmRow* find_algorithm(std::string_view name);  // nullptr when unknown
std::vector<std::string> algorithm_names();

// The suitable row with the smallest closed form among those whose assumption holds, ties to the
// first; and the runner-up (nullptr when there is none). REQUIRES: more than one rank.
struct Choice {
  const AlgorithmRow* best = nullptr;
  const AlgorithmRow* runner_up = nullptr;
  Seconds best_time, runner_up_time;
};
Choice choose_algorithm(const CollectiveAsk& ask, const GroupNet& net);
// The two halves of it: the suitable rows whose assumption holds, and the cheapest of rows by a
// time that need not be the closed form (plan/plan_time.h).
std::vector<const AlgorithmRow*> considered(const CollectiveAsk& ask, const GroupNet& net);
Choice cheapest(std::span<const AlgorithmRow* const> rows,
                const std::function<Seconds(const AlgorithmRow&)>& time);

// "W1 = 100 GB/s each way, W = 2*W1 = 200 GB/s per wrapped axis" or "W1 = W = 450 GB/s egress per
// device": what the formula's W1 is here, of each axis or level where they differ.
std::string bandwidth_convention(const GroupNet& net);

// The textbook's asymptotic figure: V/W, 2V/W, V/(4W) with W = 2*W1 of a two-way axis, W1 otherwise
// (Scaling Book ch. 3). For the reader's comparison; not a bound. Where there is none, the time is
// 0 and the formula says why.
ClosedForm textbook(const CollectiveAsk& ask, const GroupNet& net);

std::span<const Collective> collective_kinds();

}  // namespace shardsim
