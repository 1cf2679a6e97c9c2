// How many ops a second the engines replay. A replay forks, so the CPU time of the children is what
// is measured; wall time is Google Benchmark's own column.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <random>
#include <string>

#include "replay/replay.h"

namespace shardsim {

namespace {

double cpu_seconds(int who) {
  rusage use{};
  getrusage(who, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

double cpu_seconds() {
  return cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
}

// `count` links of 100 GB/s; route i is link i alone.
OpGraph network(std::uint32_t count) {
  OpGraph graph;
  for (std::uint32_t link = 0; link < count; ++link) {
    graph.links.push_back({.name = std::to_string(link), .bandwidth = {100e9}});
    graph.route_links.push_back(link);
    graph.route_offset.push_back(link + 1);
  }
  return graph;
}

// `alive` chains of `steps` transfers each, chain c always on route c mod the number of links.
OpGraph chains(std::uint32_t links, std::uint32_t alive, std::uint32_t steps, bool same_bytes) {
  OpGraph graph = network(links);
  graph.phases = steps;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> bytes(1e6, 2e6);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t chain = 0; chain < alive; ++chain) {
      if (step > 0) graph.deps.push_back(OpId{(step - 1) * alive + chain});
      graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
      graph.ops.push_back({.kind = OpKind::transfer,
                           .phase = step,
                           .route = RouteId{chain % links},
                           .bytes = {same_bytes ? 1e6 : bytes(random)}});
    }
  }
  return graph;
}

void replay(benchmark::State& state, const OpGraph& graph, Timeline (*engine)(const OpGraph&)) {
  for (auto _ : state) {
    const double before = cpu_seconds();
    benchmark::DoNotOptimize(engine(graph).makespan());
    state.SetIterationTime(cpu_seconds() - before);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.size()));
}

constexpr std::uint32_t kAlive = 1024;

void lockstep(benchmark::State& state) {
  replay(state, chains(kAlive, kAlive, 1000, true), replay_simgrid);
}
void unsynchronised(benchmark::State& state) {
  replay(state, chains(kAlive, kAlive, 1000, false), replay_simgrid);
}
void ten_thousand_routes(benchmark::State& state) {
  replay(state, chains(10000, 10000, 100, true), replay_simgrid);
}
void ideal(benchmark::State& state) {
  replay(state, chains(kAlive, kAlive, 4000, true), replay_ideal);
}

BENCHMARK(lockstep)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(unsynchronised)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ten_thousand_routes)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ideal)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace shardsim

BENCHMARK_MAIN();
