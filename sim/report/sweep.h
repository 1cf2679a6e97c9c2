// One collective over many sizes: its time, its closed form and its rates by the convention of
// nccl-tests (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md):
//
//   algbw = size / time       in GB/s, 1e9 bytes per second
//   busbw = algbw * factor    what one device sends, comparable with W1 of a switch
//
//   all-reduce 2(N-1)/N; all-gather, reduce-scatter, all-to-all (N-1)/N; the others 1
//
// The size of nccl-tests is V, but for an all-to-all (and a permute) the buffer of one rank, V/N.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "ir/collective_plan.h"
#include "ir/op_graph.h"
#include "report/json.h"

namespace shardsim {

struct SweepPoint {
  Bytes bytes;  // V
  Seconds time, analytic;
  std::string algorithm;  // row of the algorithm table
  Seconds textbook;       // the asymptotic figure; 0: no book states one
};

struct Sweep {
  Collective kind = Collective::all_gather;
  std::vector<std::string> axes;
  int ranks = 1;  // N, of one group
  std::string topology;
  int devices = 1;
  std::string engine;
  Grain grain = Grain::flow;
  std::string convention;          // of W1
  std::vector<SweepPoint> points;  // ascending sizes; at least one
  std::vector<std::string> assumptions;
};

// The size that nccl-tests prints for V.
Bytes nccl_size(Collective kind, Bytes v, int ranks);
// busbw / algbw.
double bus_factor(Collective kind, int ranks);
// "algbw = V/time, busbw = algbw * (N-1)/N, in GB/s …": how the two columns were computed.
std::string rate_convention(Collective kind);

// A crossover is where another algorithm takes over: "ring instead of ring-whole".
std::string sweep_table(const Sweep& sweep);
// bytes,time_s,analytic_s,algorithm,algbw,busbw,crossover,nccl_bytes,textbook_s
std::string sweep_csv(const Sweep& sweep);
Json sweep_summary(const Sweep& sweep);

}  // namespace shardsim
