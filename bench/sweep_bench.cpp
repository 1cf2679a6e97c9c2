// How many points of a sweep are screened in a second: each loaded, prepared and bounded by its
// plan, as a worker does it, with what the points share.
#include <benchmark/benchmark.h>

#include <string>

#include "base/allocation.h"
#include "base/must.h"
#include "sweep/evaluate.h"

namespace shardsim {

namespace {

void screen(benchmark::State& state, const std::string& file) {
  set_up_memory();  // as the program does
  const SweepSpec spec = read_sweep(std::string(SHARDSIM_SOURCE_DIR) + file);
  const Candidates candidates(spec);
  const PointList list = list_points(spec, candidates);
  std::int64_t points = 0;
  for (auto _ : state) {
    Evaluator evaluator(spec, candidates, {});
    for (const std::uint64_t point : list.points) {
      const PointResult result = evaluator.evaluate(point, Depth::screen);
      must(result.status != PointStatus::failed, "points are screened");
      points += result.status == PointStatus::screened;
    }
  }
  state.SetItemsProcessed(points);
}

}  // namespace

BENCHMARK_CAPTURE(screen, every_layer_another, "/bench/screening.yaml")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(screen, schedules, "/bench/screening-schedules.yaml")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(screen, llama3_70b_v5p, "/configs/sweeps/llama3-70b-v5p.yaml")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(screen, llama3_70b_h100, "/configs/sweeps/llama3-70b-h100.yaml")
    ->Unit(benchmark::kMillisecond);

}  // namespace shardsim
