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

// What the metrics need beyond plan and timeline; absent for `collective`.
struct Workload {
  int layers = 1;         // simulated
  int model_layers = 1;   // of the whole model
  double tokens = 0;      // in the step, over all devices
  Flops model_flops;      // of the step, whole machine, no redundancy
  FlopsPerSec peak;       // of one device, nominal, in the run's activation precision
  std::string peak_name;  // "bf16"
  Bytes memory;           // of one device
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

struct Metrics {
  Seconds step;
  Seconds compute, comm,
      exposed;   // of the device class that finishes last; comm counts overlaps once
  Seconds rest;  // step - compute - exposed: nothing ran
  std::vector<Seconds> collective_time;  // [Plan::collectives], first begin to last end, of all its
                                         // occurrences together
  std::vector<LinkLoad> links;           // that carried anything, busiest first, ties by index
  std::optional<double> mfu;             // model FLOPs / (step * devices * peak)
  std::optional<double> tokens_per_s;    // absent without a batch of sequences
  std::vector<MemoryPeak> memory;        // [Plan::ranks]
  std::optional<Bytes> memory_left;      // of the device with the highest peak; below 0: lacking
};

// REQUIRES: timeline belongs to graph.
Metrics measure(const Run& run);

}  // namespace shardsim
