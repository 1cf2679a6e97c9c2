// One collective plan on the cluster as ops, for V = 1 byte: routes looked up, identical orbits
// merged, classes of groups enumerated. Lowering stamps it into the graph for every collective like
// it (plan/lower_collective.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "ir/collective_plan.h"
#include "ir/op_graph.h"
#include "plan/algorithms.h"
#include "plan/graph_builder.h"

namespace shardsim {

inline constexpr Bytes kTemplateBytes{1};  // V in a template

// Ops with bytes as if V were one byte, waits as indices into the template. Most are alike but for
// the phase, so each is the number of one like it and a phase: a sixth of the memory.
struct CollectiveTemplate {
  struct Stamped {
    std::uint32_t like = 0;  // index into `like`
    std::uint32_t phase = 0;
  };
  struct Group {
    std::uint32_t first = 0, last = 0;   // ops of this class of groups: [first, last)
    std::vector<std::uint32_t> members;  // device classes
  };
  std::vector<Op> like;  // phase 0
  std::vector<Stamped> ops;
  std::vector<std::uint32_t> wait_offset = {0};
  std::vector<std::uint32_t> waits;
  std::vector<bool> awaited;  // [ops] some op of the template waits for it
  std::vector<Group> groups;
  std::uint32_t phases = 0;

  Op op(std::size_t index) const;
};

// REQUIRES: the plan was made for the net; plan.fold is a multiple of the builder's; for
// flow_template, equal to it.
CollectiveTemplate flow_template(GraphBuilder& builder, const CollectivePlan& plan,
                                 const GroupNet& net);

// Per class of groups, stage and link orbit one transfer with the load of the orbit's busiest link,
// each after the latency of the stage's longest chain of sends. With `alone`, the time of the whole
// collective by itself for V = `bytes`, all stages are one, and what that time is beyond the load
// of the busiest link comes before: latency, filling a pipeline, ranks that wait for others.
CollectiveTemplate fluid_template(GraphBuilder& builder, const CollectivePlan& plan,
                                  const GroupNet& net, std::optional<Seconds> alone, Bytes bytes);

}  // namespace shardsim
