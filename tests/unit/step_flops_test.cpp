#include "plan/step_flops.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "plan/prepare.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

// A run of a repository file with keys set.
StepFlops flops_with(const std::string& file, const std::vector<std::string>& sets) {
  std::vector<Override> overrides;
  for (const std::string& text : sets) overrides.push_back({text});
  return flops_of(prepare(load_run(data_dir() + "/configs/runs/" + file + ".yaml", overrides)));
}

}  // namespace

// Korthikanti et al. 2022, equation 3: 72 B L s h^2 (1 + s/(6h) + V/(12hL)), all scores counted.
TEST_CASE("FLOPs of GPT-3 with all scores are Korthikanti's") {
  const StepFlops flops = flops_with("dp-ring8", {"model=gpt3-175b", "layers=96", "ends=true",
                                                  "batch={global: 16, micro: 1, length: 2048}"});
  const double B = 16, L = 96, s = 2048, h = 12288, V = 50257;
  const double expected = 72 * B * L * s * h * h * (1 + s / (6 * h) + V / (12 * h * L));
  CHECK(flops.model_all_scores.v == doctest::Approx(expected).epsilon(1e-12));
  const double scores = 72 * B * L * s * h * h * s / (6 * h);
  CHECK(flops.model.v == doctest::Approx(expected - scores / 2).epsilon(1e-12));
  CHECK(flops.head.v == doctest::Approx(6 * B * s * h * V).epsilon(1e-12));
  CHECK(flops.executed.v == doctest::Approx(flops.model.v).epsilon(1e-12));
  CHECK(flops.executed_all_scores.v == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("executed FLOPs count what is recomputed, and what several devices do alike") {
  const StepFlops none = flops_with("megatron-ring8", {});
  CHECK(none.head.v == 0);
  CHECK(none.executed.v == doctest::Approx(none.model.v).epsilon(1e-12));
  const StepFlops full = flops_with("megatron-ring8", {"recompute=full"});
  CHECK(full.model.v == none.model.v);
  CHECK(full.executed.v == doctest::Approx(none.model.v * 4 / 3).epsilon(1e-12));
  const StepFlops selective = flops_with("megatron-ring8", {"recompute=selective"});
  // Attention forward with half of its scores: 2 T^2 N H of one sequence.
  const double attention = 2.0 * 8192 * 8192 * 4096;
  CHECK(selective.executed.v == doctest::Approx(none.model.v + attention).epsilon(1e-12));
  CHECK(selective.executed_all_scores.v ==
        doctest::Approx(none.model_all_scores.v + 2 * attention).epsilon(1e-12));
  // Nothing is cut over X: all 8 devices do everything.
  const StepFlops alike = flops_with("megatron-ring8", {"sharding={}"});
  CHECK(alike.model.v == none.model.v);
  CHECK(alike.executed.v == doctest::Approx(8 * none.model.v).epsilon(1e-12));
}
