#include "sweep/plan_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "report/reports.h"

namespace shardsim {
namespace {

constexpr std::size_t kTimed = 5;  // points carried out for the estimate
constexpr double kLongest_s = 5;   // spent on them

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// At most `count` of them, from first to last.
std::vector<std::uint64_t> spread(const std::vector<std::uint64_t>& points, std::size_t count) {
  if (points.size() <= count) return points;
  std::vector<std::uint64_t> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(points[i * (points.size() - 1) / (count - 1)]);
  return some;
}

// Of all points; seconds on `jobs` cores.
double estimate_s(const SweepSpec& spec, const SweepPlan& plan, int jobs) {
  const auto points = static_cast<double>(plan.list.points.size());
  std::size_t refused = 0;
  for (const auto& [problem, count] : plan.invalid) refused += count;
  const double valid =
      points * (1 - static_cast<double>(refused) / static_cast<double>(plan.looked_at));
  const bool screens = spec.search && spec.search->screen;
  const double replays = screens && spec.search->keep ? valid * *spec.search->keep : valid;
  return (screens ? valid * plan.screen_s : 0) / jobs + replays * plan.point_s / jobs;
}

std::string duration_text(double time_s) {
  if (time_s < 100) return fmt::format("{:.2g} s", time_s);
  if (time_s < 6000) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.1f} h", time_s / 3600);
}

}  // namespace

SweepPlan plan_sweep(const SweepSpec& spec, const Candidates& candidates,
                     const Simulate& simulate) {
  SweepPlan plan;
  plan.list = list_points(spec, candidates);
  plan.rules = candidates.rules();
  Evaluator evaluator(spec, candidates, simulate);
  std::vector<std::uint64_t> valid;
  for (const std::uint64_t point : spread(plan.list.points, kLookedAt)) {
    throw_if_interrupted();
    const PointResult result = evaluator.evaluate(point, Depth::check);
    ++plan.looked_at;
    if (result.status == PointStatus::ok) {
      valid.push_back(point);
    } else {
      ++plan.invalid[result.reason];
    }
  }
  const bool screens = spec.search && spec.search->screen;
  const double began = now_s();
  for (const std::uint64_t point : spread(valid, kTimed)) {
    if (plan.timed > 0 && now_s() - began > kLongest_s) break;
    const double start = now_s();
    if (screens) evaluator.evaluate(point, Depth::screen);
    const double screened = now_s();
    evaluator.evaluate(point, Depth::replay);
    plan.screen_s += screened - start;
    plan.point_s += now_s() - screened;
    ++plan.timed;
  }
  if (plan.timed > 0) {
    plan.screen_s /= static_cast<double>(plan.timed);
    plan.point_s /= static_cast<double>(plan.timed);
  }
  return plan;
}

std::string plan_text(const SweepSpec& spec, const SweepPlan& plan, int jobs) {
  std::string text =
      fmt::format("{}: {} points of {:.0f} candidates{}\n", spec.name, plan.list.points.size(),
                  plan.list.candidates, spec.sample ? " drawn" : "");
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    if (plan.list.left_out[i] > 0)
      text += fmt::format("  left out {:>10}  {}\n", plan.list.left_out[i], plan.rules[i]);
  }
  std::size_t refused = 0;
  for (const auto& [problem, count] : plan.invalid) refused += count;
  text += fmt::format("of {} points looked at, {} can be run\n", plan.looked_at,
                      plan.looked_at - refused);
  for (const auto& [problem, count] : plan.invalid)
    text += fmt::format("  invalid  {:>10}  {}\n", count, problem);
  if (plan.timed == 0) return text + "no estimate of the time: none of them can be run\n";
  return text + fmt::format("about {} with {} job{}, at most: {} points took {} each{}\n",
                            duration_text(estimate_s(spec, plan, jobs)), jobs, jobs == 1 ? "" : "s",
                            plan.timed, duration_text(plan.point_s),
                            plan.screen_s > 0
                                ? fmt::format(", their screening {}", duration_text(plan.screen_s))
                                : "");
}

Json plan_json(const SweepSpec& spec, const SweepPlan& plan, int jobs) {
  Array left_out, invalid;
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    if (plan.list.left_out[i] > 0)
      left_out.push_back(Object{{"rule", plan.rules[i]},
                                {"candidates", static_cast<std::int64_t>(plan.list.left_out[i])}});
  }
  for (const auto& [problem, count] : plan.invalid)
    invalid.push_back(Object{{"problem", problem}, {"points", static_cast<std::int64_t>(count)}});
  return Object{{"schema", kSchema},
                {"name", spec.name},
                {"points", static_cast<std::int64_t>(plan.list.points.size())},
                {"candidates", static_cast<std::int64_t>(plan.list.candidates)},
                {"left_out", std::move(left_out)},
                {"looked_at", static_cast<std::int64_t>(plan.looked_at)},
                {"invalid", std::move(invalid)},
                {"estimate_s", plan.timed > 0 ? Json(estimate_s(spec, plan, jobs)) : Json()}};
}

}  // namespace shardsim
