// The whole step: stages and their order, what overlaps, and what that is worth, against numbers
// worked out by hand and against schedules alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/layer_tasks.h"
#include "plan/lower.h"
#include "plan/lower_schedule.h"
#include "plan/overlap_needs.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

struct Step {
  RunSpec spec;
  Prepared run;
  Lowered lowered;
  Timeline timeline;

  Seconds time() const { return timeline.makespan(); }
};

struct TemporaryFile {
  std::filesystem::path path;
  TemporaryFile(const std::string& name, const std::string& text)
      : path(std::filesystem::temp_directory_path() / name) {
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

// 1 TFLOP/s, and memory that costs nothing.
const std::string kChip =
    "peak: {bf16: 1 TFLOP/s}\nmemory_capacity: 80 GB\nmemory_bandwidth: 1000000 TB/s\n"
    "link_bandwidth: 7 GB/s\n";

RunSpec spec_of(const std::string& text, const std::vector<std::string>& changes = {}) {
  const TemporaryFile chip("shardsim_step_chip.yaml", kChip);
  const TemporaryFile file("shardsim_step_test.yaml", text);
  std::vector<Override> overrides;
  for (const std::string& change : changes) overrides.push_back({change});
  return load_run(file.path.string(), overrides);
}

Step step_of(const std::string& text, const std::vector<std::string>& changes = {},
             LowerOptions options = {}) {
  Step step;
  step.spec = spec_of(text, changes);
  step.run = prepare(step.spec);
  step.lowered = lower(step.spec, step.run, options);
  CHECK(check(step.lowered.graph) == std::vector<std::string>{});
  step.timeline = replay_simgrid(step.lowered.graph);
  return step;
}

std::string chip_path() {
  return (std::filesystem::temp_directory_path() / "shardsim_step_chip.yaml").string();
}

// Stages of an 8-layer model on 4 ranks of a switch; a transfer takes 65536 ns.
std::string pipeline() {
  return "cluster: {chip: " + chip_path() +
         ", topology: {kind: switch, axes: {x: 4}, link: {bandwidth: 1024 GB/s, latency: 0}}}\n"
         "mesh: {P: [x]}\nmodel: llama3-8b\nlayers: 8\n"
         "batch: {global: 16, micro: 1, length: 8192}\nsharding: {}\n"
         "schedule: {kind: 1f1b, axis: P}\n";
}

double off(Seconds a, Seconds b) {
  return std::abs(a / b - 1);
}

Seconds compute_of(const Step& step, Pass pass) {
  Seconds last;
  for (std::size_t i = 0; i < step.lowered.graph.size(); ++i) {
    const Op& op = step.lowered.graph.ops[i];
    if (op.kind == OpKind::compute && step.lowered.graph.origins[op.origin].pass == pass)
      last = std::max(last, step.timeline.end[i]);
  }
  return last;
}

}  // namespace

TEST_CASE("a pipeline takes as long as its schedule alone with the same costs") {
  struct Row {
    std::string kind;
    std::vector<std::string> modes;
  };
  for (const Row& row :
       {Row{"gpipe", {"async", "serial"}}, Row{"1f1b", {"async", "serial", "blocking"}},
        Row{"interleaved-1f1b", {"async", "serial"}}, Row{"zb-h1", {"async"}},
        Row{"zb-h2", {"async"}}, Row{"zbv", {"async"}}, Row{"zb-1p", {"async"}},
        Row{"v-half", {"async"}}, Row{"looped-bfs", {"async"}}}) {
    for (const std::string& mode : row.modes) {
      CAPTURE(row.kind);
      CAPTURE(mode);
      const Step step = step_of(pipeline(), {"schedule.kind=" + row.kind, "schedule.p2p=" + mode});
      const LayerTasks tasks = tasks_of(step.run, step.run.rates);
      const LayerTimes times = layer_times(tasks, step.run.cluster, step.run.mesh);
      const Schedule& schedule = step.run.step.schedule;
      const double layers = 8.0 / schedule.stages();
      CellCosts costs;
      costs.forward = times.forward * layers;
      costs.backward_input = times.backward_input * layers;
      costs.backward_weight = times.backward_weight * layers;
      costs.backward = costs.backward_input + costs.backward_weight;
      costs.p2p = step.run.boundary.bytes / BytesPerSec{1024e9};
      CHECK(costs.p2p.v == doctest::Approx(65.536e-6));
      const Timeline alone = replay_ideal(lower_schedule(schedule, costs, step.run.step.mode));
      CHECK(off(step.time(), alone.makespan()) < 1e-9);
    }
  }
}

// Four copies of 64 MiB on either rank; 65,536 ns whole from node to node, or a quarter of that and
// a gather of three quarters in the node at four times the rate.
TEST_CASE("copies of what stages hand over send a piece each") {
  const std::string text =
      "cluster: {chip: " + chip_path() +
      ", topology: {levels: [{name: node, kind: switch, size: 4, bandwidth: 4096 GB/s}, "
      "{name: net, kind: rails, size: 2, bandwidth: 1024 GB/s}]}}\n"
      "mesh: {P: net, T: node}\nmodel: llama3-8b\nlayers: 2\n"
      "batch: {global: 1, length: 8192}\nsharding: {tp: T}\nschedule: {kind: 1f1b, axis: P}\n";
  for (const std::string mode : {"async", "blocking"}) {
    CAPTURE(mode);
    const Seconds whole = step_of(text, {"schedule.p2p=" + mode}).time();
    const Seconds pieces =
        step_of(text, {"schedule.p2p=" + mode, "schedule.scatter_gather=true"}).time();
    const double saved = 2 * (65536 - 65536.0 / 4 - 65536 * 0.75 / 4) * 1e-9;
    CHECK((whole - pieces).v == doctest::Approx(saved).epsilon(1e-9));
  }
}

TEST_CASE("uneven stages: the list says how many layers each has") {
  const Step even = step_of(pipeline());
  const Step uneven = step_of(pipeline(), {"schedule.layers=[1, 2, 2, 3]"});
  CHECK(uneven.run.step.stages[0].size() == 1);
  CHECK(uneven.run.step.stages[3].size() == 3);
  CHECK(uneven.run.step.stages[3][0].layer == 5);
  CHECK(uneven.time().v > even.time().v);
}

TEST_CASE(
    "every schedule of the table runs a step with data and tensor parallelism, folded as full") {
  const std::string text =
      "cluster: {chip: h100-sxm, topology: {levels: [{name: nvlink, kind: switch, size: 2, "
      "bandwidth: 450 GB/s, latency: 1 us}, {name: ib, kind: rails, size: 8, bandwidth: 50 GB/s, "
      "latency: 5 us}]}}\n"
      "mesh: {P: 4, D: 2, T: 2, order: row-major}\nmodel: llama3-8b\nlayers: 16\n"
      "batch: {global: 16, micro: 1, length: 2048}\nsharding: {zero1: D, tp: T, sp: true}\n"
      "schedule: {kind: 1f1b, axis: P}\noverlap: {gradients: true, updates: true}\n"
      "optimizer: {kind: adam}\n";
  for (const char* kind : {"1f1b", "interleaved-1f1b", "zbv", "dualpipe", "dualpipev", "chimera"}) {
    CAPTURE(kind);
    const std::vector<std::string> changes = {std::string("schedule.kind=") + kind};
    const Step folded = step_of(text, changes);
    const Step full = step_of(text, changes, {Grain::flow, true});
    CHECK(folded.lowered.graph.device_classes == 4);
    CHECK(full.lowered.graph.device_classes == 16);
    CHECK(off(folded.time(), full.time()) < 1e-9);
    CHECK(replay_ideal(folded.lowered.graph).makespan().v <= folded.time().v * (1 + 1e-9));
  }
}

namespace {

// Four layers of 1 ms forward and 2 ms backward on a one-way ring of 8; at 7 GB/s their weights
// take 0.5 ms to gather, their gradients as long to scatter.
struct FourLayers {
  TemporaryFile model{"shardsim_step_model.yaml",
                      "layers: 4\ndims: {D: 1000, F: 1000}\nstatements:\n"
                      "  - \"G[B,T,F] = In[B,T,D] * Win[D,F]\"\n"
                      "  - \"Out[B,T,D] = G[B,T,F] * Wout[F,D]\"\n"};

  std::string run(const std::string& bandwidth, const std::string& preset) const {
    return "cluster: {chip: " + chip_path() +
           ", topology: {kind: ring-oneway, axes: {x: 8}, link: {bandwidth: " + bandwidth +
           ", latency: 0}}}\nmesh: {X: [x]}\nmodel: " + model.path.string() +
           "\nbatch: {global: 8, length: 250}\nsharding: {" + preset + ": X}\n";
  }
};

}  // namespace

TEST_CASE("weights gathered ahead: exposed are the first gather of a pass and the last scatter") {
  const FourLayers layers;
  const std::string text = layers.run("7 GB/s", "fsdp");
  const std::string ahead = "overlap={fsdp_prefetch: 1, gradients: true}";
  const std::string slow = "cluster.topology.link.bandwidth=1.75 GB/s";
  struct Row {
    std::vector<std::string> changes;
    double forward, step;  // milliseconds
  };
  for (const Row& row :
       {Row{{}, 4 * 1.5, 4 * 1.5 + 4 * 3.0},
        Row{{"overlap={fsdp_prefetch: 1}"}, 4.5, 4.5 + 0.5 + 4 * 2.5},
        Row{{ahead}, 4.5, 4.5 + 0.5 + 4 * 2 + 0.5},
        Row{{"overlap={fsdp_prefetch: 1, fsdp: fsdp1, gradients: true}"}, 4.5, 13.5},
        Row{{"overlap={fsdp_prefetch: 2, gradients: true}"}, 4.5, 13.5},
        // afterwards the gather shares the ring with the scatter: 1 ms between layers
        Row{{"overlap={fsdp_prefetch: 1, fsdp: fsdp1, backward_prefetch: post, gradients: true}"},
            4.5,
            4.5 + 0.5 + 4 * 2 + 3 * 1.0 + 0.5},
        // gathers of 2 ms follow each other; the last layer computes after them
        Row{{ahead, slow}, 4 * 2 + 1, -1},
        Row{{"sharding={shard_grad_op: X}", ahead}, 4.5, 4.5 + 4 * 2 + 0.5}}) {
    CAPTURE(row.changes);
    const Step step = step_of(text, row.changes);
    CHECK(1e3 * compute_of(step, Pass::forward).v == doctest::Approx(row.forward).epsilon(1e-9));
    if (row.step > 0) CHECK(1e3 * step.time().v == doctest::Approx(row.step).epsilon(1e-9));
  }
}

TEST_CASE("a gather waits for room: two whole layers by fsdp1, three with forward_prefetch") {
  // Gathers of 0.5 ms, layers of 1 ms that end at 1.5, 2.5, … ms. By fsdp1 gather j waits until
  // layer j-2 is freed, or j-3 (_FreeEventQueue holds two pending frees); by fsdp2 until it began.
  const FourLayers layers;
  struct Row {
    std::string rule;
    std::string depth;
    std::vector<double> starts;  // of the forward gathers, milliseconds
  };
  for (const Row& row :
       {Row{"fsdp1", "1", {0, 0.5, 1.5, 2.5}}, Row{"fsdp1", "2", {0, 0.5, 1, 1.5}},
        Row{"fsdp2", "1", {0, 0.5, 1, 1.5}}, Row{"fsdp2", "2", {0, 0.5, 1, 1.5}}}) {
    CAPTURE(row.rule);
    CAPTURE(row.depth);
    const Step step = step_of(
        layers.run("7 GB/s", "fsdp"),
        {"overlap={fsdp_prefetch: " + row.depth + ", fsdp: " + row.rule + ", gradients: true}"});
    std::vector<double> starts(4, 1e9);
    for (std::size_t i = 0; i < step.lowered.graph.size(); ++i) {
      const Op& op = step.lowered.graph.ops[i];
      const Origin& from = step.lowered.graph.origins[op.origin];
      if (op.kind != OpKind::transfer || from.pass != Pass::forward) continue;
      double& start = starts[static_cast<std::size_t>(from.layer)];
      start = std::min(start, 1e3 * step.timeline.start[i].v);
    }
    for (std::size_t layer = 0; layer < starts.size(); ++layer)
      CHECK(starts[layer] == doctest::Approx(row.starts[layer]).epsilon(1e-9));
  }
}

TEST_CASE("one reduce-scatter outstanding by the rule of fsdp2, any number by that of fsdp1") {
  // Gathers and scatters of 4 ms; weights are kept, so that the backward pass of 2 ms
  // a layer has scatters alone. They follow each other either way; computing waits by fsdp2.
  const FourLayers layers;
  const std::string text =
      layers.run("0.875 GB/s", "shard_grad_op") + "overlap: {fsdp_prefetch: 1, gradients: true}\n";
  for (const auto& [rule, computed] : {std::pair("fsdp1", 25.0), std::pair("fsdp2", 29.0)}) {
    CAPTURE(rule);
    const Step step = step_of(text, {std::string("overlap.fsdp=") + rule});
    CHECK(1e3 * compute_of(step, Pass::backward).v == doctest::Approx(computed).epsilon(1e-9));
    CHECK(1e3 * step.time().v == doctest::Approx(4 * 4 + 1 + 2 + 4 * 4).epsilon(1e-9));
  }
}

TEST_CASE("a collective beside its product: tiles, and hops round a ring") {
  // 1 ms of product and 1 ms of reduce-scatter forward; backward an all-gather beside one product
  // of 1 ms and another product alone.
  const std::string text =
      "cluster: {chip: " + chip_path() +
      ", topology: {kind: ring-oneway, axes: {x: 8}, link: {bandwidth: 1.75 GB/s, latency: 0}}}\n"
      "mesh: {X: [x]}\nlayer:\n  - \"C[I_X, K] = A[I, J_X] * W[J_X, K]\"\n"
      "dims: {I: 1000, J: 4000, K: 1000}\n";
  struct Row {
    std::vector<std::string> changes;
    double forward, step;  // seconds
  };
  const double h = 1e-3 / 7, g = 1e-3 / 8;  // one hop, one tile of eight
  const std::string tiles = "overlap.collective_matmul=";
  const std::string form = "overlap.collective_matmul_form=";
  const std::string ring = "cluster.topology.kind=ring";
  for (const Row& row :
       {Row{{}, 2e-3, 5e-3}, Row{{tiles + "2"}, 1.5e-3, 4e-3},
        Row{{tiles + "8"}, 1.125e-3, 3.25e-3},
        Row{{tiles + "8", form + "ring"}, g + 7 * h, 1e-3 + 2 * (g + 7 * h)},
        // both ways: hops are hidden, but for the end of the last
        Row{{ring, tiles + "8", form + "ring-two-way"}, 7 * g + h, 1e-3 + 2 * (7 * g + h)}}) {
    CAPTURE(row.changes);
    const Step step = step_of(text, row.changes);
    Seconds forward;
    for (const CollectiveInstance& c : step.lowered.plan.collectives) {
      if (c.pass != Pass::forward) continue;
      for (const Occurrence& once : c.times)
        forward = std::max(forward, step.timeline.end[static_cast<std::size_t>(once.end[0])]);
    }
    forward = std::max(forward, compute_of(step, Pass::forward));
    CHECK(forward.v == doctest::Approx(row.forward).epsilon(1e-9));
    CHECK(step.time().v == doctest::Approx(row.step).epsilon(1e-9));
  }
}

TEST_CASE("attention over a cut sequence: keys and values gathered, or round a ring") {
  // Four devices; each has 4 ms / 4 of scores and values, and half of that when it is causal. A
  // block of keys or values is 0.5 MB, a hop of both 0.5 ms, a gather of both three such hops.
  const auto text = [](const std::string& causal) {
    return "cluster: {chip: " + chip_path() +
           ", topology: {kind: ring-oneway, axes: {x: 4}, link: {bandwidth: 2 GB/s, latency: 0}}}\n"
           "mesh: {X: [x]}\nlayer:\n  - \"O[B, T_X, N, H] = attention(Q[B, T_X, N, H], "
           "K[B, T_X, N, H], V[B, T_X, N, H]" +
           causal + ")\"\ndims: {B: 1, T: 1000, N: 1, H: 1000}\n";
  };
  const std::string ring = "overlap.ring_attention=true";
  const std::string fast = "cluster.topology.link.bandwidth=8 GB/s";
  struct Row {
    std::vector<std::string> changes;
    double forward, step;  // ms
    std::string causal = "";
  };
  // Forward: a block at hand first, 1/4 of the math; then three hops. Backward: as much for dQ,
  // half for dK and for dV, of which every block but the own goes round: the last hop is exposed.
  // In order, the last device has 7/4 of the mean of the causal scores.
  for (const Row& row : {Row{{}, 1.5 + 1, 1.5 + 1 + 2 + 2 * 0.75},
                         Row{{ring}, 3 * 0.5 + 0.25, 1.75 + 1 + 2 * (0.125 + 3 * 0.25)},
                         Row{{ring, fast}, 4 * 0.25, 1 + 1 + 2 * (4 * 0.125)},
                         Row{{}, 1.5 + 0.875, 1.5 + 0.875 + 2 * 0.875 + 2 * 0.75, ", causal"}}) {
    CAPTURE(row.changes);
    CAPTURE(row.causal);
    const Step step = step_of(text(row.causal), row.changes);
    CHECK(1e3 * compute_of(step, Pass::forward).v == doctest::Approx(row.forward).epsilon(1e-9));
    CHECK(1e3 * step.time().v == doctest::Approx(row.step).epsilon(1e-9));
  }
}

TEST_CASE("context parallelism: zigzag evens the scores out, and the ring hides their gathers") {
  const std::string text =
      "cluster: {chip: h100-sxm, topology: {kind: switch, axes: {x: 4}, link: {bandwidth: 50 GB/s, "
      "latency: 0}}}\nmodel: llama3-8b\nlayers: 2\nparallel: {cp: 4}\n"
      "batch: {global: 1, length: 131072}\n";
  const Step plain = step_of(text);
  const Step even = step_of(text, {"sharding={zigzag: true}"});
  const Step ring = step_of(text, {"sharding={zigzag: true}", "overlap.ring_attention=true"});
  Seconds attention;
  for (const ShardedStatement& step : even.run.sharded.steps) {
    if (step.kind == StatementKind::attention) attention += cost(step, even.run.rates);
  }
  // In order the last of four devices computes 7/4 of the mean.
  CHECK(off(plain.time() - even.time(), attention * (2 * 0.75)) < 1e-9);
  Seconds gathers;  // of keys and values, both passes
  for (const CollectiveInstance& c : even.lowered.plan.collectives) {
    if (c.tensor != "K" && c.tensor != "V") continue;
    for (const Occurrence& once : c.times) {
      gathers += even.timeline.end[static_cast<std::size_t>(once.end[0])] -
                 even.timeline.end[static_cast<std::size_t>(once.begin[0])];
    }
  }
  CHECK(even.time() - ring.time() > gathers * 0.99);
}

TEST_CASE("kernels of a collective take a share of compute while they run") {
  // Compute of 3 ms beside a collective of 2 ms that takes a quarter: for 2 ms at 3/4, the rest at
  // full rate.
  OpGraph graph;
  graph.device_classes = 1;
  graph.origins = {{.name = "o", .stream = "s"}};
  const auto add = [&](OpKind kind, double seconds, std::vector<OpId> waits) {
    graph.ops.push_back({.kind = kind, .seconds = Seconds{seconds}});
    graph.deps.insert(graph.deps.end(), waits.begin(), waits.end());
    graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
    return OpId{static_cast<std::uint32_t>(graph.size() - 1)};
  };
  const OpId begin = add(OpKind::join, 0, {});
  const OpId end = add(OpKind::delay, 2e-3, {begin});
  const OpId work = add(OpKind::compute, 3e-3, {});
  add(OpKind::compute, 1e-3, {work});
  graph.holds = {{0, 0, 0.25, begin, end}};
  const Timeline slowed = replay_simgrid(graph);
  CHECK(slowed.end[2].v == doctest::Approx(3.5e-3).epsilon(1e-12));
  CHECK(slowed.makespan().v == doctest::Approx(4.5e-3).epsilon(1e-12));
  // Two at once add up; what comes later slows what is left.
  const OpId later = add(OpKind::delay, 1e-3, {});
  const OpId last = add(OpKind::delay, 1e-3, {later});
  graph.holds.push_back({0, 1, 0.25, later, last});
  const Timeline both = replay_simgrid(graph);
  // 1 ms at 3/4, 1 ms at 1/2, then 1.75 ms alone.
  CHECK(both.end[2].v == doctest::Approx(3.75e-3).epsilon(1e-12));
  CHECK(replay_ideal(graph).makespan().v <= both.makespan().v);
  // Kernels of one communicator have its share once, however many there are.
  for (int more = 0; more < 8; ++more) graph.holds.push_back({0, 0, 0.25, begin, end});
  CHECK(replay_simgrid(graph).end[2].v == doctest::Approx(3.75e-3).epsilon(1e-12));
}

TEST_CASE("mesh axes of one device change nothing") {
  const std::string text =
      "cluster: {chip: h100-sxm, topology: {kind: switch, axes: {x: 8}, link: {bandwidth: 450 "
      "GB/s, "
      "latency: 1 us}}}\nmodel: llama3-8b\nlayers: 4\nbatch: {global: 8, micro: 1, length: 512}\n";
  struct Row {
    std::string with, without;
  };
  for (const Row& row :
       {Row{"{tp: 4, pp: 2, fsdp: 1}", "{tp: 4, pp: 2}"}, Row{"{dp: 8, fsdp: 1}", "{dp: 8}"},
        Row{"{tp: 2, dp: 4, fsdp: 1}", "{tp: 2, dp: 4}"},
        Row{"{tp: 1, pp: 2, dp: 4, sp: true}", "{pp: 2, dp: 4}"}}) {
    CAPTURE(row.with);
    const Step with = step_of(text + "parallel: " + row.with + "\n");
    const Step without = step_of(text + "parallel: " + row.without + "\n");
    CHECK(off(with.time(), without.time()) < 1e-9);
  }
  // An axis of one device that only one of two layouts of an array has: blocks still change places.
  const std::string torus =
      "cluster: {chip: tpu-v5p, topology: {kind: torus, axes: {x: 4, y: 4, z: 4}}}\n"
      "model: llama3-8b\nlayers: 2\nbatch: {global: 64, micro: 1, length: 512}\n";
  const Step with = step_of(torus + "parallel: {tp: 1, fsdp: 16, dp: 4, sp: true}\n");
  const Step without = step_of(torus + "parallel: {fsdp: 16, dp: 4}\n");
  CHECK(off(with.time(), without.time()) < 1e-9);
}

TEST_CASE("shares of compute that come and go at one moment do not stop the replay") {
  const std::string text =
      "cluster: {chip: h100-sxm, topology: {levels: [{name: nvlink, kind: switch, size: 8, "
      "bandwidth: "
      "450 GB/s, latency: 1 us}, {name: ib, kind: rails, size: 4, bandwidth: 50 GB/s, latency: 5 "
      "us}]}}\nparallel: {tp: 4, pp: 4, dp: 2}\nmodel: llama3-8b\nlayers: 4\n"
      "batch: {global: 32, micro: 1, length: 4096}\n";
  Seconds before;
  for (const char* share : {"0.1", "0.2", "0.3", "0.5", "0.9"}) {
    CAPTURE(share);
    const Step step = step_of(text, {std::string("overlap.sm_share={pipeline: ") + share + "}"});
    CHECK(step.time().v > before.v);  // the more is taken, the longer it takes
    before = step.time();
  }
}

TEST_CASE("a share of compute beside which nothing is computed is said to change nothing") {
  const std::string text =
      "cluster: {chip: h100-sxm, topology: {kind: switch, axes: {x: 8}, "
      "link: {bandwidth: 450 GB/s, latency: 1 us}}}\nmodel: llama3-8b\nlayers: 4\n"
      "batch: {global: 16, micro: 1, length: 32768}\n";
  struct Row {
    std::string parallel, overlap;
    bool idle = false;
  };
  for (const Row& row :
       {Row{"{tp: 2, dp: 4, sp: true}", "sm_share: {dp: 0.2}", true},
        Row{"{tp: 2, dp: 4, sp: true}", "sm_share: {dp: 0.2}, gradients: true", false},
        Row{"{tp: 2, dp: 4, sp: true}", "sm_share: {tp: 0.2}, gradients: true", true},
        Row{"{tp: 2, dp: 4, sp: true}", "sm_share: {tp: 0.2}, collective_matmul: 4", false},
        Row{"{fsdp: 8}", "sm_share: {fsdp: 0.2}", true},
        Row{"{fsdp: 8}", "sm_share: {fsdp: 0.2}, fsdp_prefetch: 1", false},
        Row{"{cp: 8}", "sm_share: {cp: 0.2}, ring_attention: true", false},
        Row{"{pp: 4, tp: 2}", "sm_share: {pipeline: 0.2}", false},
        Row{"{pp: 4, tp: 2}", "sm_share: {tp: 0.2}", true}}) {
    CAPTURE(row.parallel);
    CAPTURE(row.overlap);
    const Step with =
        step_of(text + "parallel: " + row.parallel + "\noverlap: {" + row.overlap + "}\n");
    RunSpec bare = with.spec;
    bare.overlap.sm_share.clear();
    const Seconds without = replay_simgrid(lower(bare, prepare(bare), {}).graph).makespan();
    CHECK((off(with.time(), without) < 1e-9) == row.idle);
    CHECK(shares_without_effect(with.run).empty() == !row.idle);
    const std::vector<std::string> said = assumptions_of(with.spec, with.run, {});
    CHECK(row.idle == std::any_of(said.begin(), said.end(), [](const std::string& line) {
            return line.find("changes nothing") != std::string::npos;
          }));
  }
}

TEST_CASE("a device computes one thing at a time") {
  const std::string text =
      "cluster: {chip: " + chip_path() +
      ", topology: {levels: [{name: in, kind: switch, size: 2, bandwidth: 64 GB/s, "
      "latency: 0 s}, {name: out, kind: rails, size: 4, bandwidth: 64 GB/s, latency: 0 s}]}}\n"
      "model: llama3-8b\nlayers: 8\nbatch: {global: 16, micro: 1, length: 1024}\n"
      "parallel: {tp: 2, pp: 4, sp: true}\n";
  for (const std::string kind : {"1f1b", "zb-h1", "zbv", "dualpipe"}) {
    CAPTURE(kind);
    const Step step = step_of(text, {"schedule.kind=" + kind});
    std::map<std::uint32_t, std::vector<std::pair<double, double>>> by_device;
    for (std::size_t i = 0; i < step.lowered.graph.size(); ++i) {
      const Op& op = step.lowered.graph.ops[i];
      if (op.kind != OpKind::compute) continue;
      const double end = step.timeline.end[i].v;
      by_device[op.device].emplace_back(end - op.seconds.v, end);
    }
    CHECK(by_device.size() == 4);
    for (auto& [device, spans] : by_device) {
      std::sort(spans.begin(), spans.end());
      double most = 0;
      for (std::size_t i = 1; i < spans.size(); ++i)
        most = std::max(most, spans[i - 1].second - spans[i].first);
      CHECK(most < 1e-9 * step.time().v);
    }
  }
}
