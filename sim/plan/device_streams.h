// The streams of every class of devices while a step is lowered: one of compute, and one for each
// communicator, each in order. What is put on a stream waits for the last op there and for what it
// needs itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_graph.h"
#include "ir/plan.h"
#include "plan/graph_builder.h"
#include "plan/lower_collective.h"
#include "plan/overlap.h"

namespace shardsim {

using ClassOps = std::vector<OpId>;              // [device classes]
using Classes = std::span<const std::uint32_t>;  // those of one rank of the pipeline

// Where in the step something stands.
struct StepPlace {
  int layer = 0, microbatch = 0, stage = 0;
  Pass pass = Pass::forward;
  Purpose purpose = Purpose::pass;
  bool memory_bound = false;  // of a compute
  std::optional<WorkKind> work = {};
};

class DeviceStreams {
 public:
  DeviceStreams(GraphBuilder& builder, Plan& plan, const Mesh& mesh, const Overlap& overlap,
                Grain grain);

  GraphBuilder& builder() { return builder_; }
  const ClassOps& start() const { return start_; }
  ClassOps& compute_tail() { return compute_; }

  std::uint32_t origin(std::string name, std::string stream, const StepPlace& place,
                       int to_rank = -1);

  // Computes so long on each of the classes, after `at`, which moves to its end.
  void compute(Classes classes, Seconds seconds, std::uint32_t origin, ClassOps& at);

  // A collective of the classes after `at`, which moves to its end. `stream`: added to the name of
  // its communicator, the axes, where collectives need not wait for each other. Collectives with
  // one `what` are occurrences of one description, so it must live as long as the lowering.
  struct Move {
    const ShardedCollective* what = nullptr;
    const AlgorithmRow* algorithm = nullptr;
    int shift = 1;            // of a collective-permute
    bool of_weights = false;  // gathers them or reduces their gradients
  };
  // Returned is where it stands among those of its description, until the next one.
  const Occurrence& communicate(Classes classes, const Move& move, const StepPlace& place,
                                ClassOps& at, std::string_view stream = "");

  // One op for each class that ends when both have. Without `and_also` of its own: `at` alone.
  void join(Classes classes, std::uint32_t origin, ClassOps& at, const ClassOps& and_also);
  // All that the class has been given to do so far.
  ClassOps all_done(Classes classes, std::uint32_t origin);

 private:
  CollectiveCall call_of_move(const Move& move) const;
  // Which of the bracket's groups each class is in, the first time.
  void remember_groups(Classes classes, const CollectiveLowering::Bracket& bracket,
                       const ClassOps& ends, std::vector<std::uint32_t>& group_of) const;
  std::size_t description(const Move& move, const CollectiveCall& call, Pass pass);

  GraphBuilder& builder_;
  Plan& plan_;
  const Mesh& mesh_;
  const Overlap& overlap_;
  CollectiveLowering collectives_;
  std::vector<double> speed_;  // [device classes] of compute
  ClassOps start_, compute_;
  std::map<std::string, ClassOps, std::less<>> tails_;  // by stream
  std::map<std::pair<const ShardedCollective*, int>, std::size_t> described_;
};

}  // namespace shardsim
