// How long it takes to plan one layer, forward and backward, once its files are read; and one
// reshard between random layouts.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "plan/prepare.h"
#include "plan/reshard.h"
#include "spec/load.h"

namespace shardsim {

namespace {

const std::string kRoot = SHARDSIM_SOURCE_DIR;

void prepare_run(benchmark::State& state, const std::string& file,
                 const std::vector<std::string>& changes) {
  std::vector<Override> overrides;
  for (const std::string& change : changes) overrides.push_back({change});
  const RunSpec spec = load_run(kRoot + file, overrides);
  for (auto _ : state) benchmark::DoNotOptimize(prepare(spec).choices.size());
}

// Llama 3.1 405B on 2,048 chips, a mesh of three axes.
void plan_405b(benchmark::State& state) {
  prepare_run(state, "/configs/runs/llama3-70b-v5p-64.yaml",
              {"model=llama3-405b", "cluster.topology={kind: torus, axes: {x: 16, y: 16, z: 8}}",
               "mesh={X: [x], Y: [y], Z: [z]}", "sharding={fsdp: [X, Y], tp: Z, sp: true}",
               "batch={global: 2048, length: 8192}"});
}
void plan_70b(benchmark::State& state) {
  prepare_run(state, "/configs/runs/llama3-70b-v5p-64.yaml", {});
}
void plan_hostile(benchmark::State& state) {
  prepare_run(state, "/bench/hostile.yaml", {});
}

// An array A[I, J, K, L, M], and a mesh of four axes on a torus.
struct Setting {
  Layer layer;
  PriceBook pricing;
};
Setting five_dims() {
  Cluster cluster;
  Mesh mesh;
  for (const auto& [name, size] : {std::pair{"X", 4}, {"Y", 4}, {"Z", 4}, {"P", 2}}) {
    const int axis = static_cast<int>(cluster.axes.size());
    cluster.axes.push_back({name, size, size == 2 ? Wiring::pair : Wiring::ring});
    cluster.ports.push_back({std::string(name) + "+", axis, BytesPerSec{100e9}, {}});
    if (size > 2) cluster.ports.push_back({std::string(name) + "-", axis, BytesPerSec{100e9}, {}});
    mesh.axes.push_back({name, size, {axis}});
  }
  Layer layer;
  for (const char* dim : {"I", "J", "K", "L", "M"}) layer.dims.push_back({dim, 64});
  return {layer, {cluster, mesh, ChipRates{FlopsPerSec{1e15}, BytesPerSec{3e12}, Seconds{}}}};
}
Sharding random_layout(const Layer& layer, const Mesh& mesh, std::mt19937& random) {
  Sharding result;
  for (const NamedDim& dim : layer.dims) result.dims.push_back({dim.name, {}});
  for (const MeshAxis& axis : mesh.axes) {
    const std::size_t d = random() % (layer.dims.size() + 1);
    if (d < layer.dims.size()) result.dims[d].axes.push_back(axis.name);
  }
  return result;
}

// The worst of 300 pairs that have nothing in common, each with a new book of prices; CPU time.
void worst_reshard(benchmark::State& state) {
  const Setting setting = five_dims();
  for (auto _ : state) {
    std::mt19937 random(5);
    double worst = 0;
    for (int pair = 0; pair < 300; ++pair) {
      PriceBook pricing = setting.pricing;
      const Sharding from = random_layout(setting.layer, pricing.mesh(), random);
      const Sharding to = random_layout(setting.layer, pricing.mesh(), random);
      const std::clock_t start = std::clock();
      benchmark::DoNotOptimize(
          reshard(setting.layer, pricing, {"A", 2}, from, to, ReshardFreedom::any).bytes);
      worst = std::max(worst, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    state.SetIterationTime(worst);
  }
}

BENCHMARK(plan_405b)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_70b)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_hostile)->Unit(benchmark::kMillisecond);
BENCHMARK(worst_reshard)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace shardsim
