// Runs that share a memo of plans are planned as each would be alone.
#include "plan/plan_memo.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "plan/prepare.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

void add(const LayerPlan& plan, std::string& text) {
  text += fmt::format("{} of {} dims\n", plan.kind, plan.layer.dims.size());
  for (const Sharding& held : plan.sharded.held) text += to_text(held) + "\n";
  std::size_t choice = 0;
  for (const ShardedStatement& step : plan.sharded.steps) {
    text += fmt::format("{} {} {} {} {}\n", step.text, to_text(step.out), step.flops.v,
                        step.memory_bytes.v, step.beside_bytes.v);
    for (const auto* list : {&step.before, &step.after}) {
      for (const ShardedCollective& c : *list) {
        const AlgorithmChoice& by = plan.choices[choice++];
        text +=
            fmt::format("  {} {} over {}, {} B, {}: {}; {}\n", to_text(c.kind), c.tensor,
                        fmt::join(c.axes, ","), c.bytes.v, c.once_per_step, by.reason, c.reason);
      }
    }
  }
}

// All that was planned.
std::string plan_text(const Prepared& run) {
  std::string text = fmt::format("{}\n{}\n", fmt::join(run.sharded.padding, "\n"),
                                 fmt::join(run.sharded.warnings, "\n"));
  add(run, text);
  for (const LayerPlan& end : run.ends) add(end, text);
  return text;
}

}  // namespace

TEST_CASE("runs that share plans are planned as each alone") {
  const std::string base =
      "cluster: {chip: h100-sxm, topology: {levels: [{name: in, kind: switch, size: 4, bandwidth: "
      "450 GB/s, latency: 1 us}, {name: out, kind: rails, size: 2, bandwidth: 50 GB/s, latency: 5 "
      "us}]}}\nmodel: llama3-8b\nbatch: {global: 16, micro: 1, length: 1024}\n"
      "mesh: {X: [out], Y: [in]}\nsharding: {dp: X, tp: Y}\n";
  const auto path = std::filesystem::temp_directory_path() / "shardsim_plan_memo_test.yaml";
  std::ofstream(path) << base;
  std::vector<RunSpec> specs;
  for (const std::string change : {"name=as it is",
                                   "sharding={fsdp: X, tp: Y}",
                                   "sharding={zero1: X, tp: Y}",
                                   "sharding={dp: X, tp: Y, sp: true}",
                                   "sharding={dp: X, fsdp: Y}",
                                   "mesh={X: [in], Y: [out]}",
                                   "recompute=full",
                                   "recompute=selective",
                                   "attention=scores",
                                   "precision.weights=fp32",
                                   "precision.gradients=fp32",
                                   "batch.length=2048",
                                   "batch.micro=2",
                                   "model=llama2-7b",
                                   "cluster.chip=a100-80gb-sxm",
                                   "cluster.topology.levels.out.bandwidth=5 GB/s",
                                   "cluster.topology.levels.in.latency=100 us",
                                   "collectives={all-reduce: direct}",
                                   "idle_axes=use",
                                   "tensors=[\"Wq[D_X, N_Y, H]\", \"Wk[D_Y, K, H_X]\"]",
                                   "tensors=[\"Y2[B, T_X, D_Y]\", \"Q[B_X, T, N, H_Y]\"]",
                                   "ends=false",
                                   "layers=2"}) {
    const std::vector<Override> overrides = {{change}};
    specs.push_back(load_run(path.string(), overrides));
  }
  std::vector<std::string> alone;
  for (const RunSpec& spec : specs) alone.push_back(plan_text(prepare(spec)));
  PlanMemo memo;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      CAPTURE(round);
      CAPTURE(i);
      CHECK(plan_text(prepare(specs[i], memo)) == alone[i]);
    }
  }
}

TEST_CASE("prices that runs share are those of their network, mesh and chip") {
  const auto prepared = [](const std::string& change) {
    const std::vector<Override> overrides = {{change}};
    return prepare(load_run(data_dir() + "/configs/runs/dp-ring8.yaml", overrides));
  };
  std::vector<Prepared> runs;
  for (const std::string change :
       {"name=as it is", "cluster.topology.link.bandwidth=10 GB/s", "cluster.topology.axes.x=4",
        "cluster.chip=a100-80gb-sxm", "name=once more"})
    runs.push_back(prepared(change));
  PlanMemo memo;
  for (int round = 0; round < 300; ++round) {  // a book is given up after 200
    for (const Prepared& run : runs) {
      PriceBook& book = memo.prices(memo.cluster(run.cluster), run.cluster, run.mesh, run.rates);
      PriceBook fresh(run.cluster, run.mesh, run.rates);
      const std::uint8_t axes[] = {0};
      const Bytes bytes{1e6 * (1 + round % 3)};
      REQUIRE(book.collective(Collective::all_gather, axes, bytes) ==
              fresh.collective(Collective::all_gather, axes, bytes));
      REQUIRE(book.rates().peak == fresh.rates().peak);
      REQUIRE(book.mesh().axes[0].size == fresh.mesh().axes[0].size);
    }
  }
}

TEST_CASE("numbers are shared by equal values and never given again") {
  Numbered<int> numbered(2);
  CHECK(numbered.number(7) == 0);
  CHECK(numbered.number(8) == 1);
  CHECK(numbered.number(7) == 0);
  CHECK(numbered.number(9) == 2);  // the others are forgotten
  CHECK(numbered.number(7) == 3);
  CHECK(numbered.at(3) == 7);
}
