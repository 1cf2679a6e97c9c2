// Plan: what a run decided before anything was simulated, and what every report explains.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/collective_plan.h"
#include "ir/op_graph.h"
#include "ir/sharded_layer.h"

namespace shardsim {

// Once that a collective happens: all groups of the mesh, or those of one rank of the pipeline, at
// once.
struct Occurrence {
  int layer = 0;
  int microbatch = 0;
  int stage = 0;
  std::vector<OpId> begin, end;  // joins around it, one pair per class of groups
};

// One collective of the run, as often as layers and micro-batches repeat it.
struct CollectiveInstance {
  Collective kind = Collective::all_gather;
  std::string algorithm;          // row of the algorithm table
  std::vector<std::string> axes;  // mesh axes (or hardware axes for `collective`)
  std::string tensor;             // "Wq"; empty for `collective`
  std::string case_text;
  std::string reason;
  Pass pass = Pass::forward;
  bool moves_weights = false;             // gathers weights or reduces their gradients
  int devices = 1;                        // in one group
  Bytes bytes;                            // V
  Seconds analytic;                       // closed form, as if alone
  bool exact = true;                      // false: its latency term is an estimate
  std::string formula;                    // "(N-1)/(2N) * V/W1 + (N-1)*latency"
  std::string terms;                      // what its symbols stand for, but V and W1
  bool laid_over_links = false;           // no closed form: the plan's sends on each link
  Seconds textbook;                       // the asymptotic V/W figure; 0: there is none
  std::string textbook_formula;           // or why there is none
  std::vector<std::string> alternatives;  // not taken, each with its price
  std::string convention;  // "W1 = 100 GB/s each way, W = 2*W1 = 200 GB/s per wrapped axis"
  std::vector<Occurrence> times;
  // [device classes] which pair of an occurrence on its rank is a class's; empty: all pairs are.
  std::vector<std::uint32_t> group_of;
};

struct Plan {
  Cluster cluster;
  Fold fold;
  Mesh mesh;
  ShardedLayer layer;  // empty for `collective`
  std::vector<CollectiveInstance> collectives;
  std::vector<std::vector<std::uint32_t>> ranks;  // of the pipeline: their device classes; one
                                                  // rank of all without; empty for `collective`
  std::vector<std::pair<std::string, std::string>>
      facts;  // label and text, for the head of a table
  std::vector<std::string> assumptions;
};

struct Lowered {
  Plan plan;
  OpGraph graph;
};

}  // namespace shardsim
