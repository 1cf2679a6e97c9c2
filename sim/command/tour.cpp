#include "command/tour.h"

#include <fmt/format.h>

#include <algorithm>
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

struct Tour {
  Cluster cluster;
  CollectiveInstance instance;
  Seconds time;
};

Tour collective_tour(const char* topology_text, Collective kind) {
  std::vector<Problem> problems;
  const TopologySpec spec =
      parse_topology(topology_text, argument_pos("tour", topology_text), problems);
  CollectiveRequest request;
  request.cluster = make_cluster(spec, {BytesPerSec{100e9}, 1.0, Seconds{0}}, problems);
  CollectiveCall call;
  call.ask.kind = kind;
  call.ask.bytes = Bytes{64.0 * 1024 * 1024};
  call.axes = all_axes(request.cluster);
  call.algorithm = pick_algorithm("auto", call, request.cluster, {}, problems).row;
  throw_if_any(problems);
  request.calls.push_back(call);
  request.full = true;
  const Lowered lowered = lower_collectives(request);
  return {request.cluster, lowered.plan.collectives.front(),
          replay_simgrid(lowered.graph).makespan()};
}

// V/(4W) as it is quoted, whatever the network: W = 2*W1 of a two-way ring, W1 otherwise; on a
// torus V*max(A)/(4*N*W) (Scaling Book ch. 3).
Seconds quoted(const Cluster& cluster, const CollectiveInstance& c) {
  const bool two_way = cluster.axes[0].wiring == Wiring::ring;
  const BytesPerSec w = cluster.ports[0].bandwidth * (two_way ? 2 : 1);
  int longest = cluster.axes[0].size;
  for (const Axis& axis : cluster.axes) longest = std::max(longest, axis.size);
  const double share = cluster.axes.size() == 1 ? 1.0 : static_cast<double>(longest) / c.devices;
  return c.bytes * (share / 4) / w;
}

std::string tour_all_to_all() {
  Rows rows = {{"topology", "W", "simulated", "V/(4W)", "ratio", "exact"}};
  for (const char* topology : {"ring:8", "ring:7", "ring-oneway:8", "switch:8", "torus:4x4"}) {
    const Tour tour = collective_tour(topology, Collective::all_to_all);
    const bool two_way = tour.cluster.axes[0].wiring == Wiring::ring;
    const Seconds textbook = quoted(tour.cluster, tour.instance);
    rows.push_back({topology, two_way ? "200 GB/s" : "100 GB/s", fine_text(tour.time),
                    fine_text(textbook), fmt::format("{:.4f}", tour.time / textbook),
                    tour.instance.formula});
  }
  return "1. What does AllToAll cost? V = 64 MiB over links of W1 = 100 GB/s in one direction, "
         "every\n"
         "   message replayed. The textbook says V/(4W), on a torus V*max(A)/(4*N*W), with W = "
         "2*W1 on\n"
         "   two-way rings. On a one-way ring and on a switch that is not the formula:\n\n" +
         rows_text(rows);
}

Run tour_run(const std::string& name) {
  const RunSpec spec = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
  return simulate(spec, prepare(spec), {{}, &engines().front(), {}});
}

std::string tour_fsdp_against_dp() {
  Rows rows = {{"sharding", "collectives of weights", "V moved", "communication", "step"}};
  std::vector<double> bytes, seconds;
  for (const char* name : {"dp-ring8", "fsdp-ring8"}) {
    const Run run = tour_run(name);
    const Metrics metrics = measure(run);
    Bytes moved;
    for (const CollectiveInstance& c : run.plan.collectives) {
      const auto count = static_cast<double>(c.times.size());
      moved += c.bytes * (count * (c.kind == Collective::all_reduce ? 2.0 : 1.0));
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
