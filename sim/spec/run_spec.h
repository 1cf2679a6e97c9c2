// RunSpec: what the user wrote, every choice with its position, nothing derived. spec/ knows YAML
// and units; it does not know what is sensible (plan/validate.h does).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/units.h"

namespace shardsim {

// A value and where it was written; pos.source is null for a default.
template <class T>
struct Chosen {
  T value = {};
  SourcePos pos;
  bool given = false;
};

// The slices of a TPU pod that exist, and which of their axes wrap.
struct IciSpec {
  std::string chip;     // whose rule it is; empty: none
  int dims = 0;         // most axes of a slice
  int chips = 0;        // in the largest slice
  int wrap_length = 0;  // an axis of this length wraps, shorter ones do not, longer ones are none
  int wrap_cube = 0;    // or: all axes wrap when all are multiples of this, otherwise none does
  SourcePos pos;
};

struct ChipVariant {
  std::string name;    // "scaling-book"
  double compute = 1;  // factors on the nominal figures
  double memory = 1;
  double link = 1;
  int multiprocessors = 0;  // each computes one tile of a product at a time; 0: no such waves
  std::string source;
  SourcePos pos;
};

// configs/chips/NAME.yaml
struct ChipSpec {
  std::string name;
  std::vector<std::pair<std::string, FlopsPerSec>> peak;  // by dtype: bf16, fp8, int8; dense
  SourcePos peak_pos;                                     // of the key
  Bytes memory_capacity;
  BytesPerSec memory_bandwidth;
  Chosen<BytesPerSec> link_bandwidth;  // per link or per device (switch), one direction
  IciSpec ici;                         // of a TPU
  Seconds launch_overhead;             // added to every compute op
  std::vector<ChipVariant> variants;
};

struct AxisSpec {
  std::string name;
  int size = 1;
  SourcePos pos;
};

// One level of a cluster, or all of it. Axes of a short name are x, y, z, w, then a4, a5, …; a
// switch has the single axis n; the one axis of a named level has the level's name.
struct LevelSpec {
  std::string name;               // of a level
  Chosen<std::string> kind;       // row of the topology table
  std::vector<AxisSpec> axes;     // major first
  Chosen<BytesPerSec> bandwidth;  // one direction; default: the chip's, innermost only
  Chosen<Seconds> latency;        // default 0, said in the assumptions
  Chosen<double> efficiency;      // factor on bandwidth, default 1 (or the chip variant's)
  Chosen<std::vector<Chosen<std::string>>> wrap;  // axes of a grid that wrap; default: the kind's
  Chosen<bool> double_link;                       // an axis of size 2 has two cables: a ring
  Chosen<double> oversubscription;  // a switch: what enters it from below over what it carries
  Chosen<int> nics_per_device;      // a switch: ports of one device, default 1
  Chosen<int> devices_per_nic;      // a switch: devices that share one port, default 1
  Chosen<bool> in_network;          // the switch can add (NVLS, SHARP)
  SourcePos pos;
};

// {from: 0..7, to: leaf0, bandwidth: 50 GB/s}: links of an explicit graph. Nodes are device numbers
// and names of switches; 0..7 and leaf0..leaf3 are ranges of them. Two ranges of equal length are
// joined one to one; otherwise every node of `from` is joined with every one of `to`.
struct LinkSpec {
  std::vector<Chosen<std::string>> from, to;
  Chosen<BytesPerSec> bandwidth;  // of one direction; default: the chip's
  Chosen<Seconds> latency;        // default: the topology's
  Chosen<bool> both_ways;         // default true
  SourcePos pos;
};

// Position along a hardware axis.
struct PlaceSpec {
  std::string axis;
  int position = 0;
  SourcePos pos;
  SourcePos axis_pos = {};  // of its name
};

// A link or a chip that differs from the others:
//   {link: x+, at: {x: 3}, bandwidth: 10 GB/s}   that port's link, at all positions of axes left
//   out {from: [0, 0], to: [0, 1], missing: true}    the link between two nodes; or their numbers,
//   names {at: {x: 0, y: 2}, speed: 0.8}               chips
// A link is changed in both directions unless both_ways is false.
struct OverrideSpec {
  Chosen<std::string> link;  // name of a port
  std::vector<PlaceSpec> at;
  Chosen<std::vector<Chosen<std::string>>> from, to;
  Chosen<BytesPerSec> bandwidth;
  Chosen<Seconds> latency;
  Chosen<bool> missing;
  Chosen<double> speed;  // of compute, as a share of the chip's
  Chosen<bool> both_ways;
  SourcePos pos;
};

// A short name ("torus:4x4x4"), the map {kind, axes, link}, {levels: [...]}, innermost first, or an
// explicit graph {devices, switches, links}; written in the run or in a file of its own,
// configs/topologies/NAME.yaml.
struct TopologySpec : LevelSpec {
  std::vector<LevelSpec> levels;  // empty: the cluster is the one level
  Chosen<int> devices;            // of a graph
  std::vector<Chosen<std::string>> switches;
  std::vector<LinkSpec> links;
  SourcePos links_pos;
  std::vector<OverrideSpec> overrides;
  std::string text;  // as written, or rebuilt as a short name
};

// X: [x, y]  spans hardware axes;  X: 4  is a size only.
struct MeshAxisSpec {
  std::string name;
  std::vector<Chosen<std::string>> axes;
  int size = 0;  // 0: axes are given instead
  SourcePos pos;
};

struct MeshSpec {
  std::vector<MeshAxisSpec> axes;
  Chosen<std::string> order;  // row-major | innermost-first; needed with sizes alone
  SourcePos pos;
};

// models/NAME.yaml (statements may come from the `block:` file it names)
struct ModelSpec {
  std::string name;
  std::vector<AxisSpec> dims;  // D F N K H V
  int layers = 1;
  std::vector<Chosen<std::string>> statements;
  Chosen<std::string> block;  // the file they came from, when not written in the model
  double parameters = 0;      // published total, 0: unknown; a test compares
  bool inlined = false;       // written in the run file: layouts may stand in the statements
  SourcePos pos;
};

struct BatchSpec {
  Chosen<int> global;  // sequences in the step, over all devices
  Chosen<int> micro;   // sequences per device and micro-batch; default: all at once
  Chosen<int> length;  // tokens per sequence
  SourcePos pos;
  std::string global_key = "batch.global";  // that gives `global`; for a layer it may be in dims
};

struct PrecisionSpec {  // dtype names; default bf16, optimizer fp32
  Chosen<std::string> weights, gradients, activations, optimizer;
};

// One entry of `sharding:`; `fsdp: X`, `tp: [Y, Z]`, `sp: true`.
struct PresetSpec {
  std::string preset;
  std::vector<Chosen<std::string>> axes;
  Chosen<bool> flag;  // for entries that are true or false
  SourcePos pos;
};

// One entry of `collectives:`, kind: algorithm.
struct AlgorithmSpec {
  std::string kind;
  Chosen<std::string> algorithm;
  SourcePos pos;
};

// The short form of mesh, sharding and the pipeline: devices along each axis.
struct ParallelSpec {
  Chosen<int> tp, cp, pp, dp, fsdp;
  Chosen<int> zero;  // stage, of dp
  Chosen<bool> sp;
  SourcePos pos;
  bool given = false;
};

// The stages of the model, and the order in which their ranks work.
struct ScheduleSpec {
  Chosen<std::string> kind;     // row of the schedule table
  Chosen<std::string> file;     // or a schedule that somebody wrote
  Chosen<std::string> axis;     // mesh axis of the ranks
  Chosen<int> chunks;           // stages of a rank; default: the kind's fewest
  Chosen<int> group;            // interleaved kinds: micro-batches in a row on a chunk
  Chosen<double> memory_limit;  // searched kinds
  Chosen<std::string> p2p;      // async | serial | blocking
  Chosen<bool> scatter_gather;  // copies of what is handed over send a piece each
  Chosen<std::vector<Chosen<std::string>>> layers;  // of every stage; default: evenly
  SourcePos pos;
  bool given = false;
};

// What runs beside the computation; left out or 0: off.
struct OverlapSpec {
  Chosen<int> fsdp_prefetch;              // layers whose weights are gathered ahead
  Chosen<std::string> fsdp;               // whose rule: fsdp1 | fsdp2
  Chosen<std::string> backward_prefetch;  // fsdp1: pre | post
  Chosen<bool> gradients;                 // reductions of gradients run beside the backward pass
  Chosen<Bytes> bucket;                   // of reductions once per step
  Chosen<bool> updates;                   // updated weights are gathered beside the optimizer
  Chosen<int> collective_matmul;          // tiles of a product and of the collective beside it
  Chosen<std::string> collective_matmul_form;                    // row of the table of tilings
  Chosen<bool> ring_attention;                                   // keys and values go round
  std::vector<std::pair<Chosen<std::string>, double>> sm_share;  // mesh axis or "pipeline": share
  SourcePos pos;
};

struct OptimizerSpec {
  Chosen<std::string> kind;  // adam | none
  Chosen<int> bytes;         // of weights, gradients and state per parameter: 16 | 10
  SourcePos pos;
};

struct RunSpec {
  Chosen<std::string> name;
  Chosen<std::string> chip;           // the name as written
  ChipSpec chip_spec;                 // loaded from configs/chips or a path
  Chosen<std::string> variant;        // of the chip; default: nominal
  Chosen<std::string> topology_name;  // when it is written as a name or path
  TopologySpec topology;
  MeshSpec mesh;
  Chosen<std::string> model;
  ModelSpec model_spec;
  std::vector<Chosen<std::string>> layer;  // instead of a model; copied to model_spec
  SourcePos layer_pos;
  std::vector<AxisSpec> dims;  // of `layer`; B and T among them are copied to batch
  SourcePos dims_pos;
  Chosen<int> layers;  // default: the model's
  BatchSpec batch;
  PrecisionSpec precision;
  std::vector<PresetSpec> sharding;
  SourcePos sharding_pos;
  std::vector<Chosen<std::string>> tensors;
  Chosen<std::string> on_ambiguity;  // choose (default) | error
  Chosen<std::string> idle_axes;     // leave (default) | use
  std::vector<AlgorithmSpec> collectives;
  Chosen<std::string> recompute;  // default: none
  Chosen<std::string> attention;  // row of the table of attention kernels; default: flash
  ParallelSpec parallel;          // written into mesh, sharding and schedule while loading
  ScheduleSpec schedule;
  OverlapSpec overlap;
  OptimizerSpec optimizer;
  Chosen<bool> dropout;        // default: false
  Chosen<Bytes> memory_limit;  // of one device; default: all that the chip has
  Chosen<bool> ends;  // embedding, head and loss; default: when all layers of a model are run
  std::string notes;
};

// Bytes of one element: bf16 2, fp16 2, fp32 4, fp8 1, int8 1; 0 for an unknown name.
double dtype_bytes(std::string_view name);
std::vector<std::string> dtype_names();

}  // namespace shardsim
