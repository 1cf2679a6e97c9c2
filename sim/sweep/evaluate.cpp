#include "sweep/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/must.h"
#include "plan/memory_limit.h"
#include "plan/step_floor.h"
#include "spec/library.h"
#include "spec/load_tree.h"
#include "spec/yaml_text.h"
#include "sweep/board.h"
#include "sweep/constraints.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// Fields whose value may be a path that starts from the folder of its file.
constexpr std::array<std::string_view, 4> kPaths = {"cluster.chip", "cluster.topology", "model",
                                                    "schedule.file"};

double seconds(Seconds s) {
  return s / Seconds{1};
}

std::optional<double> price_of(const SweepSpec& spec, const RunSpec& run) {
  if (!spec.search) return std::nullopt;
  for (const auto& [chip, price] : spec.search->prices)
    if (chip == run.chip.value || chip == run.chip_spec.name) return price;
  return std::nullopt;
}

void take_metrics(const Run& run, const Metrics& metrics, PointResult& result) {
  using enum ResultFigure;
  const double devices = run.plan.cluster.devices();
  result[step_time] = seconds(metrics.step);
  result[compute] = seconds(metrics.compute);
  result[comm] = seconds(metrics.comm);
  result[exposed] = seconds(metrics.exposed);
  result[bubble] = seconds(metrics.bubble);
  result[rest] = seconds(metrics.rest);
  result[mfu] = metrics.mfu;
  result[hfu] = metrics.hfu;
  result[tokens_per_s] = metrics.tokens_per_s;
  if (metrics.tokens_per_s) {
    result[tokens_per_s_per_chip] = *metrics.tokens_per_s / devices;
    if (const auto price = result[price_per_chip_hour])
      result[cost_per_token] = *price * devices / 3600 / *metrics.tokens_per_s;
  }
  if (!metrics.memory.empty())
    result[peak_memory] = total(highest(metrics.memory).split) / Bytes{1};
  if (metrics.memory_left) result[fits_memory] = *metrics.memory_left >= Bytes{} ? 1 : 0;
}

}  // namespace

std::string run_yaml(const Node& run) {
  Node copy = run;
  for (const std::string_view path : kPaths) {
    Node* node = node_at(copy, path);
    if (node == nullptr || node->kind != NodeKind::scalar || !is_path(node->text)) continue;
    const fs::path folder = fs::path(node->pos.source ? node->pos.source->name : "").parent_path();
    node->text = fs::absolute(folder / node->text).lexically_normal().string();
  }
  return yaml_text(copy);
}

// A point whose objective has no value.
bool Evaluator::lacks_objective(const RunSpec& run, PointResult& result) const {
  if (!spec_.search || spec_.search->objective == Objective::step_time) return false;
  const bool cost = spec_.search->objective == Objective::cost_per_token;
  const bool price = result[ResultFigure::price_per_chip_hour].has_value();
  if (result[ResultFigure::tokens] && (price || !cost)) return false;
  result.status = PointStatus::infeasible;
  result.reason = result[ResultFigure::tokens]
                      ? fmt::format("search.prices has no price of {}", run.chip.value)
                      : "the run has no batch of sequences: its tokens are unknown";
  return true;
}

bool Evaluator::refuse(const Candidate& candidate, bool all, PointResult& result) const {
  const auto broken = broken_constraint(spec_, candidates_, candidate, result, all);
  if (!broken) return false;
  result.status = broken->no_value ? PointStatus::failed : PointStatus::infeasible;
  result.reason = broken->reason;
  return true;
}

// Whether the point is worth a replay.
bool Evaluator::take_bound(const Lowered& lowered, double limit, PointResult& result) const {
  result[ResultFigure::bound] = seconds(replay_ideal(lowered.graph).makespan());
  const auto bound = score_of(spec_.search->objective, result, ResultFigure::bound);
  return !bound || !proven_worse(*bound, limit);
}

void Evaluator::simulate(const RunSpec& run, const Candidate& candidate, Depth depth, double limit,
                         PointResult& result) {
  using enum ResultFigure;
  const Prepared prepared = prepare(run, plans_);
  result.status = PointStatus::ok;
  if (depth == Depth::check) return;
  result[chips] = prepared.cluster.devices();
  if (run.batch.global.given && run.batch.length.given)
    result[tokens] = static_cast<double>(run.batch.global.value) * run.batch.length.value;
  result[price_per_chip_hour] = price_of(spec_, run);
  const Bytes least = shardsim::memory_floor(prepared, plans_);
  const Bytes room =
      run.memory_limit.given ? run.memory_limit.value : run.chip_spec.memory_capacity;
  result[memory_floor] = least / Bytes{1};
  result[memory_limit] = room / Bytes{1};
  if (least > room) result[fits_memory] = 0;
  if (refuse(candidate, false, result) || lacks_objective(run, result)) return;
  result[fits_memory] = std::nullopt;  // as measured, or not at all
  const LowerOptions lowering{spec_.grain, false};
  const bool screens = spec_.search && spec_.search->screen;
  if (screens) {
    result[floor] = seconds(step_floor(prepared, lowering, alone_));
    result.status = PointStatus::screened;
  }
  if (depth == Depth::screen) return;
  Lowered lowered = lower(run, prepared, lowering);
  result[operations] = static_cast<double>(lowered.graph.size());
  const bool bounded = screens && ideal_is_bound(prepared.cluster);
  if (bounded && !take_bound(lowered, limit, result)) return;
  result.status = PointStatus::ok;
  const Run done = simulate_(run, prepared, std::move(lowered), spec_.grain);
  take_metrics(done, measure(done), result);
  refuse(candidate, true, result);
}

PointResult Evaluator::evaluate(std::uint64_t point, Depth depth, double limit) {
  PointResult result;
  result.point = point;
  try {
    const Candidate candidate = candidates_.at(point);
    const Node tree = run_of(spec_, candidate);
    if (depth != Depth::check) result.run_yaml = run_yaml(tree);
    simulate(load_run(tree, ""), candidate, depth, limit, result);
  } catch (const ConfigError& error) {
    result.status = PointStatus::invalid;
    result.reason = error.problems().front().message;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    result.status = PointStatus::failed;
    result.reason = error.what();
  }
  return result;
}

}  // namespace shardsim
