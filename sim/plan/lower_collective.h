// Collectives into ops. A plan is instantiated once per kind, algorithm and axes as a scale-free
// template (routes looked up, identical orbits merged, classes of groups enumerated), then stamped
// into the graph for every collective of the run with its bytes.
//
// A collective begins when all ranks of its group have arrived and ends for all of them at once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/op_graph.h"
#include "ir/sharded_layer.h"
#include "plan/algorithms.h"
#include "plan/collective_template.h"
#include "plan/graph_builder.h"

namespace shardsim {

struct CollectiveCall {
  CollectiveAsk ask;
  const AlgorithmRow* algorithm = nullptr;
  std::vector<int> axes;  // cluster axes that the group spans, major first
};

// The call of one planned collective on the cluster, without its algorithm.
CollectiveCall call_of(const ShardedCollective& collective, const Mesh& mesh);

// The largest group of translations that maps all of the calls onto themselves, as their rows say
// (AlgorithmRow::fold). In the fluid grain all of them, whatever the plans: there every link of an
// orbit carries what its busiest one does.
Fold common_fold(const Cluster& cluster, std::span<const CollectiveCall> calls, Grain grain);

class CollectiveLowering {
 public:
  // How a collective shares ports with others: by messages, each of which is a flow; or, as kernels
  // with a fixed number of channels do, as one flow on every port however many messages are under
  // way.
  enum class Sharing : std::uint8_t { by_messages, by_collectives };

  CollectiveLowering(GraphBuilder& builder, Grain grain, Sharing sharing = Sharing::by_messages)
      : builder_(builder), grain_(grain), sharing_(sharing) {}

  struct Bracket {
    std::vector<OpId> begin, end;  // one pair per class of groups
  };
  // Where a collective stands: all classes of devices, or those of `classes` alone; each after
  // `latest` and, where it is given, after `stream`, the last op of the same communicator.
  // REQUIRES: groups lie within `classes` or outside.
  struct Where {
    std::vector<OpId>& latest;                    // [device classes] moved to the end
    std::span<const std::uint32_t> classes = {};  // empty: all
    std::vector<OpId>* stream = nullptr;          // [device classes] moved to the end
  };
  // Appends the collective. A group of one rank, or no bytes, appends a bare join.
  Bracket lower(const CollectiveCall& call, std::uint32_t origin, Where where);

 private:
  // Bytes: of plans that depend on them, otherwise 0.
  using Key = std::tuple<std::string_view, Collective, std::vector<int>, int, std::vector<int>, int,
                         int, int, Bytes>;
  const CollectiveTemplate& find(const CollectiveCall& call);
  // In the fluid grain the parts of a composite one by one: each flows as it would alone.
  Bracket lower_parts(const CollectiveCall& call, std::uint32_t origin, Where where);

  GraphBuilder& builder_;
  Grain grain_;
  Sharing sharing_;
  std::map<Key, CollectiveTemplate> templates_;
};

// The work of lowering and replaying a call for all classes of groups, in ops, before anything is
// allocated: its messages, on a graph once for each of the equal paths that they are split over, a
// routed one counting once more for every ten links; a tenth in the fluid grain, which adds up
// messages without keeping them, but at least the links of a graph in each round of an all-to-all.
// `of_links`: what the links that are not folded count, 0 where they have been.
double estimated_ops(const CollectiveCall& call, const Cluster& cluster, const Fold& fold,
                     Grain grain, double of_links);
double link_ops(const Cluster& cluster, const Fold& fold, Grain grain);
inline double estimated_ops(const CollectiveCall& call, const Cluster& cluster, const Fold& fold,
                            Grain grain) {
  return estimated_ops(call, cluster, fold, grain, link_ops(cluster, fold, grain));
}

}  // namespace shardsim
