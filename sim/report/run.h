// Run: everything that reports read, and the metrics measured from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "ir/plan.h"
#include "ir/timeline.h"
#include "report/memory.h"

namespace shardsim {

// What the metrics need beyond plan and timeline; absent for `collective`. FLOPs are of the step
// and the whole machine, nothing padded; causal attention at half of its scores unless it says all.
struct Workload {
  int layers = 1;        // simulated
  int model_layers = 1;  // of the whole model
  double tokens = 0;     // in the step, over all devices
  Flops model;           // forward and backward, nothing repeated
  Flops model_all_scores;
  Flops head;      // the part of `model` that the product with the vocabulary is; 0: not run
  Flops executed;  // with what is recomputed, or done alike on several devices
  Flops executed_all_scores;
  FlopsPerSec peak;       // of one device, nominal, in the run's activation precision
  std::string peak_name;  // "bf16"
  Bytes memory = {};      // of one device
  std::optional<double> training_tokens;  // of a whole training, if that is asked for
};

struct Run {
  std::string name;
  std::string engine;  // row of the engine table
  Grain grain = Grain::flow;
  Plan plan;
  OpGraph graph;
  Timeline timeline;
  std::optional<Workload> workload;
};

struct LinkLoad {
  std::string name;
  BytesPerSec bandwidth;
  Bytes bytes;             // that one physical link carried
  double utilisation = 0;  // of its bandwidth over the step
};

// One communicator on a device.
struct CommunicatorTime {
  std::string name;  // mesh axes, "T" or "X,Y"; "pipeline": what ranks send each other
  int count = 0;     // collectives or transfers
  Seconds time;      // in which one of them runs
  Seconds exposed;   // its part of the exposed time; where several are exposed, in equal parts

  double overlapped() const { return time == Seconds{} ? 0 : 1 - exposed / time; }
};

// One rank of a pipeline, on the device of it that ends last.
struct RankTimes {
  Seconds compute, exposed;  // exposed: collectives and transfers without compute
  Seconds busy;              // compute or collectives
  Seconds first, last;       // begin and end of what keeps it busy

  Seconds span() const { return last - first; }
};

// What a cost of a run is called wherever it is summed up: computes by pass, "recomputation",
// "optimizer", "collectives over T", "pipeline", "waiting".
struct KindTime {
  std::string kind;
  Seconds time;
};

// The pass over all devices: its first compute or collective begins, its last ends.
struct PassTime {
  std::string pass;  // "forward", "backward", "optimizer"
  Seconds start, end;
};

struct Metrics {
  Seconds step;
  // Of a device of the rank that ends last; comm counts collectives that run at once, once. step =
  // compute + exposed + bubble + rest, each measured.
  Seconds compute, comm, exposed;
  Seconds bubble;  // the rank waits for another: nothing runs on any device of it; 0: no pipeline
  Seconds rest;    // nothing runs on this device
  std::vector<CommunicatorTime> communicators;  // of the same device
  std::vector<KindTime> computes;               // of the same device, by kind
  std::vector<KindTime> critical_path;          // by kind, longest first; sums to step
  std::vector<KindTime> what_if;                // the step if a kind were free; filled by `run`
  std::vector<PassTime> passes;                 // those that there are
  std::vector<RankTimes> ranks;
  double makespan_bubble = 0;  // share of step * ranks in which ranks are not busy; 0: no pipeline
  double span_bubble = 0;      // the same of the longest span of a rank
  std::vector<Seconds> collective_time;  // [Plan::collectives], first begin to last end, of all its
                                         // occurrences together
  std::vector<LinkLoad> links;           // that carried anything, busiest first, ties by index
  // Model or executed FLOPs / (step * devices * peak); absent without a workload.
  std::optional<double> mfu, mfu_all_scores, hfu, hfu_all_scores;
  std::optional<double> mfu_without_head;  // where a head is run
  std::optional<double> tokens_per_s;      // absent without a batch of sequences
  std::optional<Seconds> training;         // time of Workload::training_tokens
  Seconds longest_communicator;            // most time of one communicator on any rank
  std::vector<MemoryPeak> memory;          // [Plan::ranks]
  std::optional<Bytes> memory_left;        // of the device with the highest peak; below 0: lacking

  double overlapped() const { return comm == Seconds{} ? 0 : 1 - exposed / comm; }
};

// REQUIRES: timeline belongs to graph.
Metrics measure(const Run& run);

}  // namespace shardsim
