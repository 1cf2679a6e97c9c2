// The bound of a step that its plan gives, against the ideal engine: never above it, equal to it
// where nothing overlaps.
#include "plan/step_floor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "plan/lower.h"
#include "plan/memory_limit.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/memory.h"
#include "report/run.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

struct Bounds {
  double floor = 0, ideal = 0;
  double memory_floor = 0, memory = 0;
};

Bounds bounds_of(const std::string& text, const std::vector<std::string>& changes,
                 AloneTimes& alone, const LowerOptions& options = {}) {
  const auto path = std::filesystem::temp_directory_path() / "shardsim_step_floor_test.yaml";
  std::ofstream(path) << text;
  std::vector<Override> overrides;
  for (const std::string& change : changes) overrides.push_back({change});
  const RunSpec spec = load_run(path.string(), overrides);
  const Prepared run = prepare(spec);
  const Lowered lowered = lower(spec, run, options);
  PlanMemo memo;
  Run done;
  done.plan = lowered.plan;
  done.graph = lowered.graph;
  done.timeline = replay_ideal(lowered.graph);
  return {step_floor(run, options, alone).v, done.timeline.makespan().v, memory_floor(run, memo).v,
          total(highest(measure(done).memory).split).v};
}

const std::string kBase =
    "model: llama3-8b\nlayers: 8\nbatch: {global: 32, micro: 1, length: 1024}\n";

std::string levels(int nodes) {
  return "cluster: {chip: h100-sxm, topology: {levels: [{name: in, kind: switch, size: 4, "
         "bandwidth: 450 GB/s, latency: 1 us}, {name: out, kind: rails, size: " +
         std::to_string(nodes) + ", bandwidth: 50 GB/s, latency: 5 us}]}}\n" + kBase;
}

const std::string kTorus =
    "cluster: {chip: tpu-v5p, topology: {kind: torus, axes: {x: 4, y: 4}, link: {bandwidth: 90 "
    "GB/s, latency: 1 us}}}\n" +
    kBase;

}  // namespace

TEST_CASE("where nothing overlaps the bound of a plan is the ideal engine's step") {
  AloneTimes alone(replay_ideal);
  int runs = 0;
  for (const Grain grain : {Grain::flow, Grain::fluid}) {
    for (const std::string sharding :
         {"{dp: 16}", "{tp: 4, dp: 4}", "{tp: 4, fsdp: 4, sp: true}", "{fsdp: 16}",
          "{tp: 2, pp: 2, dp: 4}", "{tp: 4, pp: 4, sp: true}", "{pp: 4, fsdp: 4}",
          "{tp: 2, pp: 4, dp: 2, sp: true, zero: 1}", "{cp: 2, tp: 2, dp: 4}"}) {
      for (const std::string recompute : {"none", "full"}) {
        CAPTURE(sharding);
        CAPTURE(recompute);
        const Bounds b = bounds_of(levels(4) + "parallel: " + sharding + "\n",
                                   {"recompute=" + recompute}, alone, {grain, false});
        CHECK(std::abs(b.floor / b.ideal - 1) < 1e-12);
        CHECK(b.memory_floor <= b.memory * (1 + 1e-12));
        CHECK(b.memory_floor > b.memory * 0.7);
        ++runs;
      }
    }
  }
  CHECK(runs == 36);
}

TEST_CASE("every schedule: the bound of a plan") {
  AloneTimes alone(replay_ideal);
  for (const std::string kind : {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zbv",
                                 "zb-1p", "v-half", "looped-bfs", "dualpipe", "dualpipev"}) {
    for (const std::string mode : {"async", "serial"}) {
      CAPTURE(kind);
      CAPTURE(mode);
      const Bounds b = bounds_of(levels(4) + "parallel: {tp: 4, pp: 4, sp: true}\n",
                                 {"schedule.kind=" + kind, "schedule.p2p=" + mode}, alone);
      CHECK(b.floor <= b.ideal * (1 + 1e-12));
      CHECK(b.memory_floor <= b.memory * (1 + 1e-12));
      CHECK(b.memory_floor > b.memory * 0.6);
      CHECK(b.floor > b.ideal * (kind.starts_with("dual") ? 0.8 : 0.97));
      if (mode == "async" && !kind.starts_with("dual")) CHECK(b.floor > b.ideal * (1 - 1e-12));
    }
  }
}

TEST_CASE("whatever overlaps, the bound of a plan is not above the ideal engine's step") {
  AloneTimes alone(replay_ideal);
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  int done = 0;
  double least = 1;
  for (int i = 0; i < 400; ++i) {
    std::string text = random() % 3 == 0 ? kTorus : levels(4);
    const std::string sharding =
        one_of({"{dp: 16}", "{tp: 4, fsdp: 4, sp: true}", "{fsdp: 16}", "{pp: 4, fsdp: 4}",
                "{cp: 4, tp: 4}", "{tp: 2, pp: 2, fsdp: 4}", "{tp: 4, pp: 2, dp: 2}",
                "{zero: 1, dp: 16}", "{dp: 4, fsdp: 4}", "{tp: 2, pp: 4, dp: 2, zero: 1}"});
    text += "parallel: " + sharding + "\n";
    std::vector<std::string> changes = {
        "recompute=" + one_of({"none", "selective", "full"}),
        "batch.micro=" + one_of({"1", "2"}),
        "overlap.gradients=" + one_of({"true", "false"}),
        "overlap.updates=" + one_of({"true", "false"}),
    };
    if (sharding.find("fsdp") != std::string::npos) {
      changes.push_back("overlap.fsdp_prefetch=" + one_of({"0", "1", "2"}));
      changes.push_back("overlap.fsdp=" + one_of({"fsdp1", "fsdp2"}));
    }
    if (random() % 2 == 0) changes.push_back("overlap.bucket=" + one_of({"100 MB", "1 GB"}));
    if (random() % 3 == 0) changes.push_back("layers=4");
    if (random() % 4 == 0) changes.push_back("overlap.backward_prefetch=false");
    if (sharding.find("tp") != std::string::npos) {
      if (random() % 2 == 0) changes.push_back("overlap.collective_matmul=4");
      if (random() % 2 == 0)
        changes.push_back("overlap.collective_matmul_form=" +
                          one_of({"two-stage", "ring", "ring-two-way"}));
    }
    if (sharding.find("cp") != std::string::npos) changes.push_back("overlap.ring_attention=true");
    if (sharding.find("pp") != std::string::npos) {
      changes.push_back("schedule.kind=" + one_of({"1f1b", "zbv", "gpipe", "dualpipe", "zb-h1"}));
      changes.push_back("schedule.p2p=" + one_of({"async", "serial"}));
    }
    std::string said;
    for (const std::string& change : changes) said += change + " ";
    CAPTURE(text);
    CAPTURE(said);
    try {
      const Bounds b = bounds_of(text, changes, alone);
      CHECK(b.floor <= b.ideal * (1 + 1e-12));
      CHECK(b.memory_floor <= b.memory * (1 + 1e-12));
      least = std::min(least, b.floor / b.ideal);
      ++done;
    } catch (const ConfigError&) {  // options that do not go together
    }
  }
  MESSAGE("bound over ideal, the least of ", done, ": ", least);
  CHECK(done > 60);
  CHECK(least > 0.9);
}

TEST_CASE("where a chip is slow the ideal engine is no bound, and only computing counts") {
  const auto path = std::filesystem::temp_directory_path() / "shardsim_step_floor_test.yaml";
  std::ofstream(path) << "cluster: {chip: tpu-v5e, topology: {kind: ring, axes: {x: 4}, link: "
                         "{bandwidth: 50 GB/s, latency: 1 us}, overrides: [{at: {x: 0}, speed: "
                         "0.5}]}}\nmodel: llama3-8b\nlayers: 4\nparallel: {tp: 2, dp: 2}\nbatch: "
                         "{global: 16, micro: 1, length: 2048}\n";
  const RunSpec spec = load_run(path.string());
  const Prepared run = prepare(spec);
  CHECK(!ideal_is_bound(run.cluster));
  const Lowered lowered = lower(spec, run, {});
  const Seconds step = replay_simgrid(lowered.graph).makespan();
  CHECK(replay_ideal(lowered.graph).makespan() > step);
  AloneTimes alone(replay_ideal);
  const Seconds floor = step_floor(run, {}, alone);
  CHECK(floor < step);
  CHECK(floor > 0.2 * step);
}
