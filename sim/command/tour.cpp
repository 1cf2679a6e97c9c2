#include "command/tour.h"

#include <fmt/format.h>

#include <utility>

#include "base/file.h"
#include "base/problem.h"
#include "command/arguments.h"
#include "command/run.h"
#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "report/reports.h"
#include "spec/load.h"

namespace shardsim {

namespace {

std::vector<int> all_axes(const Cluster& cluster) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) axes.push_back(static_cast<int>(i));
  return axes;
}

Metrics collective_metrics(const char* topology_text, Collective kind,
                           CollectiveInstance& instance) {
  std::vector<Problem> problems;
  const TopologySpec spec =
      parse_topology(topology_text, argument_pos("tour", topology_text), problems);
  CollectiveRequest request;
  request.cluster = make_cluster(spec, {BytesPerSec{100e9}, 1.0, Seconds{0}}, problems);
  CollectiveCall call{{kind, Bytes{64.0 * 1024 * 1024}, 1}, nullptr, all_axes(request.cluster)};
  call.algorithm =
      pick_algorithm("auto", call.ask, group_net(request.cluster, call.axes), {}, problems).row;
  throw_if_any(problems);
  request.calls.push_back(call);
  request.full = true;
  Lowered lowered = lower_collectives(request);
  Run run;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.timeline = replay_simgrid(run.graph);
  instance = run.plan.collectives.front();
  return measure(run);
}

std::string tour_all_to_all() {
  Rows rows = {{"topology", "simulated", "V/(4W) etc.", "ratio", "exact form; what W is"}};
  for (const char* topology : {"ring:8", "ring:7", "ring-oneway:8", "switch:8", "torus:4x4"}) {
    CollectiveInstance c;
    const Metrics metrics = collective_metrics(topology, Collective::all_to_all, c);
    rows.push_back({topology, fine_text(metrics.step), fine_text(c.textbook),
                    fmt::format("{:.4f}", metrics.step / c.textbook),
                    fmt::format("{}; textbook {}", c.formula, c.textbook_formula)});
  }
  return "1. What does AllToAll cost? 64 MiB over links of 100 GB/s each way, every message "
         "replayed.\n"
         "   The textbook says V/(4W), W = 2 x 100 GB/s on a two-way ring, 100 GB/s "
         "otherwise.\n\n" +
         rows_text(rows);
}

Run tour_run(const std::string& name) {
  const RunSpec spec = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
  return simulate(spec, prepare(spec), {}, engines().front());
}

std::string tour_fsdp_against_dp() {
  Rows rows = {{"sharding", "collectives of weights", "V moved", "communication", "step"}};
  std::vector<double> bytes, seconds;
  for (const char* name : {"dp-ring8", "fsdp-ring8"}) {
    const Run run = tour_run(name);
    const Metrics metrics = measure(run);
    Bytes moved;
    for (const CollectiveInstance& c : run.plan.collectives) {
      moved += c.bytes * (c.kind == Collective::all_reduce ? 2.0 : 1.0);
    }
    rows.push_back({run.name, fmt::format("{}", run.plan.collectives.size()), to_text(moved),
                    to_text(metrics.comm), to_text(metrics.step)});
    bytes.push_back(moved / Bytes{1});
    seconds.push_back(metrics.comm / Seconds{1});
  }
  return "\n2. What does FSDP cost over data parallelism? One Llama-3 8B layer on a one-way ring "
         "of 8.\n"
         "   An all-reduce counts 2 V, an all-gather or reduce-scatter V.\n\n" +
         rows_text(rows) +
         fmt::format("FSDP / DP = {:.6f} in bytes, {:.6f} in communication time\n",
                     bytes[1] / bytes[0], seconds[1] / seconds[0]);
}

}  // namespace

void tour_command() {
  print(tour_all_to_all());
  print(tour_fsdp_against_dp());
  const Run run = tour_run("llama3-70b-v5p-64");
  print("\n3. One Llama-3 70B layer, forward and backward.\n\n" + run_table(run, measure(run)));
  print(
      "\nTry next\n"
      "  ./run_sim.sh collective all-gather --topology torus:8x4 --bandwidth 100GB/s --bytes "
      "64MiB\n"
      "  ./run_sim.sh example > my.yaml     a run file to change; then ./run_sim.sh run my.yaml\n"
      "  ./run_sim.sh list fields           every key of a run file\n"
      "  ./run_sim.sh run my.yaml --set sharding.sp=false\n");
}

}  // namespace shardsim
