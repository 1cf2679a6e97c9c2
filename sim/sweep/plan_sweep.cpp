#include "sweep/plan_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/progress.h"
#include "replay/engine_process.h"
#include "report/reports.h"
#include "sweep/board.h"
#include "sweep/result_bytes.h"
#include "sweep/workers.h"

namespace shardsim {
namespace {

constexpr std::size_t kTimed = 8;  // points replayed for the estimate
constexpr double kEnough_s = 3;    // spent on screening, and on replays; then no other is begun
constexpr double kLongest_s = 10;  // that one replay may take

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

// All of 0 to count - 1; the first of them are spread over the whole already.
std::vector<std::size_t> strides(std::size_t count) {
  constexpr std::size_t kStride = 16;
  std::vector<std::size_t> order;
  for (std::size_t first = 0; first < kStride; ++first)
    for (std::size_t i = first; i < count; i += kStride) order.push_back(i);
  return order;
}

double seconds_since(double start_s) {
  return now_s() - start_s;
}

std::size_t refused_points(const SweepPlan& plan) {
  std::size_t refused = 0;
  for (const auto& [problem, count] : plan.invalid) refused += count;
  return refused;
}

// Of all points; seconds on `jobs` cores.
double estimate_s(const SweepPlan& plan, int jobs) {
  return (plan.screens * plan.screen_s + plan.replays * plan.point_s) / jobs;
}

std::string duration_text(double time_s) {
  if (time_s < 100) return fmt::format("{:.2g} s", time_s);
  if (time_s < 6000) return fmt::format("{:.0f} min", time_s / 60);
  return fmt::format("{:.1f} h", time_s / 3600);
}

// Of an estimate: "1,189,000".
std::string whole_text(double count) {
  return grouped(static_cast<std::uint64_t>(std::llround(count)));
}

// A point of the sample, by what is known of it.
struct Sampled {
  std::uint64_t point = 0;
  std::optional<double> floor, score;  // as the objective compares
};

class Planner {
 public:
  Planner(const SweepSpec& spec, const Candidates& candidates, const Simulate& simulate, bool quiet)
      : spec_(spec), evaluator_(spec, candidates, simulate), quiet_(quiet) {
    plan_.list = list_points(spec, candidates, quiet);
    plan_.rules = candidates.rules();
  }

  SweepPlan made() {
    look();
    const bool screens = spec_.search && spec_.search->screen;
    std::vector<Sampled> sample = screens ? screened() : unscreened();
    replay(sample);
    estimate(sample, screens);
    return std::move(plan_);
  }

 private:
  void look() {
    const std::vector<std::uint64_t> points = spread(plan_.list.points, kLookedAt);
    Progress progress("points looked at", points.size(), quiet_);
    for (const std::uint64_t point : points) {
      throw_if_interrupted();
      const PointResult result = evaluator_.evaluate(point, Depth::check);
      progress.at(++plan_.looked_at);
      if (result.status == PointStatus::ok) {
        valid_.push_back(point);
      } else {
        ++plan_.invalid[result.reason];
      }
    }
  }

  std::vector<Sampled> unscreened() const {
    std::vector<Sampled> sample;
    for (const std::uint64_t point : spread(valid_, kTimed)) sample.push_back({point, {}, {}});
    return sample;
  }

  // Those that may be replayed, the lowest floor first.
  std::vector<Sampled> screened() {
    std::vector<Sampled> sample;
    const std::vector<std::uint64_t>& points = valid_;
    const std::vector<std::size_t> order = strides(points.size());
    Progress progress("points screened", points.size(), quiet_);
    const double began = now_s();
    for (std::size_t i = 0; i < points.size(); ++i) {
      throw_if_interrupted();
      if (i > 1 && seconds_since(began) > kEnough_s) break;
      // In strides, so that a sample that is cut short is spread, too.
      const std::uint64_t point = points[order[i]];
      const PointResult result = evaluator_.evaluate(point, Depth::screen);
      progress.at(++plan_.screened);
      const auto floor = score_of(spec_.search->objective, result, ResultFigure::floor);
      if (floor) {
        sample.push_back({point, floor, {}});
      } else {
        ++plan_.unfit;
      }
    }
    if (plan_.screened > 0)
      plan_.screen_s = seconds_since(began) / static_cast<double>(plan_.screened);
    std::sort(sample.begin(), sample.end(),
              [](const Sampled& a, const Sampled& b) { return a.floor < b.floor; });
    return sample;
  }

  // How many points of the sweep one of the sample stands for.
  double of_one() const {
    const double all = static_cast<double>(plan_.list.points.size() * valid_.size()) /
                       static_cast<double>(plan_.looked_at);
    return plan_.screened == 0 ? 1 : all / static_cast<double>(plan_.screened);
  }

  // A few of those that will surely be replayed, in a process of their own, which can be stopped.
  void replay(std::vector<Sampled>& sample) {
    const std::size_t most = std::min(kTimed, sample.size());
    if (most == 0) return;
    const auto sure = static_cast<std::size_t>(spec_.search ? spec_.search->top / of_one() : 0);
    const std::size_t among = std::min(std::max(most, sure), sample.size());
    Workers workers(
        1,
        [&](const PointTask& task) {
          return to_bytes(evaluator_.evaluate(task.point, Depth::replay));
        },
        Seconds{kLongest_s}, with_engine_ready);
    Progress progress("points replayed", most, quiet_);
    const double began = now_s();
    for (std::size_t i = 0; i < most && seconds_since(began) < kEnough_s; ++i) {
      const double start = now_s();
      Sampled& one = sample[most == 1 ? 0 : i * (among - 1) / (most - 1)];
      workers.give({one.point, 0, 0});
      std::vector<PointDone> done;
      while (done.empty()) done = workers.wait();
      PointResult result;
      if (done.front().answer) result = from_bytes(*done.front().answer);
      if (result.status == PointStatus::invalid) {  // by what is seen only when it is replayed
        ++plan_.invalid[result.reason];
        continue;
      }
      plan_.point_s += seconds_since(start);
      progress.at(++plan_.timed);
      plan_.gave_up = !done.front().answer;
      if (plan_.gave_up) break;
      one.score = score_of(objective(), result, ResultFigure::step_time);
    }
    if (plan_.timed > 0) plan_.point_s /= static_cast<double>(plan_.timed);
  }

  void estimate(const std::vector<Sampled>& sample, bool screens) {
    const double valid = static_cast<double>(plan_.list.points.size() * valid_.size()) /
                         static_cast<double>(plan_.looked_at);
    plan_.replays = valid;
    if (!screens || plan_.screened == 0) return;
    plan_.screens = valid;
    plan_.replays = of_one() * static_cast<double>(sample.size());
    if (spec_.search->keep) plan_.replays *= *spec_.search->keep;
    // Replays are above their floors by so much, and end above the last of the best.
    double above = 1;
    for (const Sampled& one : sample)
      if (one.score && *one.floor > 0) above = std::max(above, *one.score / *one.floor);
    const double top = spec_.search->top;
    const auto last = static_cast<std::size_t>(top / of_one());
    if (last >= sample.size()) return;
    const double end = *sample[last].floor * above;
    const auto below = std::count_if(sample.begin(), sample.end(),
                                     [&](const Sampled& one) { return *one.floor <= end; });
    plan_.replays = std::min(plan_.replays, std::max(top, of_one() * static_cast<double>(below)));
  }

  Objective objective() const {
    return spec_.search ? spec_.search->objective : Objective::step_time;
  }

  const SweepSpec& spec_;
  Evaluator evaluator_;
  bool quiet_;
  SweepPlan plan_;
  std::vector<std::uint64_t> valid_;
};

}  // namespace

SweepPlan plan_sweep(const SweepSpec& spec, const Candidates& candidates, const Simulate& simulate,
                     bool quiet) {
  return Planner(spec, candidates, simulate, quiet).made();
}

std::string plan_text(const SweepSpec& spec, const SweepPlan& plan, int jobs) {
  std::string text = fmt::format(
      "{}: {} of {}{}\n", spec.name, counted(plan.list.points.size(), "point", "points"),
      counted(static_cast<std::size_t>(plan.list.candidates), "candidate", "candidates"),
      spec.sample ? " drawn" : "");
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    if (plan.list.left_out[i] > 0)
      text += fmt::format("  left out {:>13}  {}\n", grouped(plan.list.left_out[i]), plan.rules[i]);
  }
  text +=
      fmt::format("of {} looked at, {} can be run\n", counted(plan.looked_at, "point", "points"),
                  plan.looked_at - refused_points(plan));
  for (const auto& [problem, count] : plan.invalid)
    text += fmt::format("  invalid  {:>13}  {}\n", grouped(count), problem);
  if (plan.screened > 0 && plan.unfit > 0)
    text += fmt::format("of {} screened, {} cannot meet the constraints\n",
                        counted(plan.screened, "point", "points"), plan.unfit);
  if (plan.timed == 0) return text + "no estimate of the time: none of them can be replayed\n";
  text += fmt::format("{} {} with {}: ", plan.gave_up ? "more than" : "about",
                      duration_text(estimate_s(plan, jobs)), counted(jobs, "job", "jobs"));
  if (plan.screens > 0)
    text += fmt::format("{} screened, {} each; ", whole_text(plan.screens),
                        duration_text(plan.screen_s));
  return text + fmt::format("{}{} replayed, {} each\n", plan.screens > 0 ? "about " : "",
                            whole_text(plan.replays),
                            (plan.gave_up ? "more than " : "") + duration_text(plan.point_s));
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
                {"screened", static_cast<std::int64_t>(plan.screened)},
                {"unfit", static_cast<std::int64_t>(plan.unfit)},
                {"replays", plan.timed > 0 ? Json(std::round(plan.replays)) : Json()},
                {"estimate_s", plan.timed > 0 ? Json(estimate_s(plan, jobs)) : Json()},
                {"estimate_is_least", plan.gave_up}};
}

}  // namespace shardsim
