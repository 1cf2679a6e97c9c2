#include "report/phase_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "report/reports.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostWaits = 12;

double us(Seconds s) {
  return s / Seconds{1e-6};
}
double seconds(Seconds s) {
  return s / Seconds{1};
}

const Origin& origin(const PhaseRun& run, std::size_t phase) {
  return run.graph.origins[run.graph.ops[phase].origin];
}

std::string percent(Seconds part, Seconds whole) {
  return whole == Seconds{} ? "-" : fmt::format("{:.1f} %", 100 * (part / whole));
}

}  // namespace

std::vector<StreamUse> stream_uses(const PhaseRun& run) {
  std::vector<StreamUse> uses;
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const std::string& stream = origin(run, i).stream;
    auto at = std::find_if(uses.begin(), uses.end(),
                           [&](const StreamUse& use) { return use.stream == stream; });
    if (at == uses.end()) {
      uses.push_back({stream, {}, {}, run.timeline.start[i], {}});
      at = uses.end() - 1;
    }
    at->busy += run.timeline.end[i] - run.timeline.start[i];
    at->last = run.timeline.end[i];
  }
  for (StreamUse& use : uses) use.waiting = use.last - use.first - use.busy;
  return uses;
}

std::vector<PhaseWait> phase_waits(const PhaseRun& run) {
  std::vector<PhaseWait> waits;
  std::map<std::string, Seconds> free;  // by stream
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const auto [since, first] = free.try_emplace(origin(run, i).stream);
    const Seconds waited = run.timeline.start[i] - since->second;
    since->second = run.timeline.end[i];
    if (waited <= Seconds{}) continue;
    PhaseWait wait{i, i, waited};
    for (const OpId op : run.graph.waits_for(OpId{static_cast<std::uint32_t>(i)})) {
      const auto other = static_cast<std::size_t>(op);
      if (wait.waited_for == i || run.timeline.end[other] > run.timeline.end[wait.waited_for])
        wait.waited_for = other;
    }
    waits.push_back(wait);
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const PhaseWait& a, const PhaseWait& b) { return a.time > b.time; });
  return waits;
}

std::string phase_text(const PhaseRun& run) {
  const Seconds makespan = run.timeline.makespan();
  std::string text =
      fmt::format("{}: {} after {}\n\n", printable(run.name),
                  counted(run.graph.size(), "phase ends", "phases end"), to_text(makespan));
  Rows rows = {{"stream", "busy", "of all", "waiting", "first", "last"}};
  for (const StreamUse& use : stream_uses(run)) {
    rows.push_back({printable(use.stream), to_text(use.busy), percent(use.busy, makespan),
                    to_text(use.waiting), to_text(use.first), to_text(use.last)});
  }
  text += rows_text(rows);
  const std::vector<PhaseWait> waits = phase_waits(run);
  if (!waits.empty()) {
    text += "\nwaits, the longest first\n";
    Rows list = {{"phase", "on", "waits", "for"}};
    for (std::size_t i = 0; i < std::min(kMostWaits, waits.size()); ++i) {
      list.push_back({printable(origin(run, waits[i].phase).name),
                      printable(origin(run, waits[i].phase).stream), to_text(waits[i].time),
                      printable(origin(run, waits[i].waited_for).name)});
    }
    text += rows_text(list);
    if (waits.size() > kMostWaits)
      text += fmt::format("… and {} more\n", waits.size() - kMostWaits);
  }
  const std::string assumed[] = {
      "a phase begins when the one before it on its stream and all that it is after have ended",
      "streams do not slow each other: times are taken as written"};
  return text + assumption_lines(assumed);
}

Json phase_json(const PhaseRun& run) {
  Array streams, phases;
  for (const StreamUse& use : stream_uses(run)) {
    streams.push_back(Object{{"stream", use.stream},
                             {"busy_s", seconds(use.busy)},
                             {"waiting_s", seconds(use.waiting)},
                             {"first_s", seconds(use.first)},
                             {"last_s", seconds(use.last)}});
  }
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    phases.push_back(Object{{"phase", origin(run, i).name},
                            {"stream", origin(run, i).stream},
                            {"start_s", seconds(run.timeline.start[i])},
                            {"end_s", seconds(run.timeline.end[i])}});
  }
  return Object{{"schema", kSchema},
                {"name", run.name},
                {"makespan_s", seconds(run.timeline.makespan())},
                {"streams", std::move(streams)},
                {"phases", std::move(phases)}};
}

std::string phase_trace(const PhaseRun& run) {
  Array events;
  std::map<std::string, int> threads;
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Origin& from = origin(run, i);
    const auto [thread, fresh] = threads.try_emplace(from.stream, static_cast<int>(threads.size()));
    if (fresh) {
      events.push_back(Object{{"ph", "M"},
                              {"name", "thread_name"},
                              {"pid", 0},
                              {"tid", thread->second},
                              {"args", Object{{"name", from.stream}}}});
    }
    events.push_back(Object{{"ph", "X"},
                            {"name", from.name},
                            {"pid", 0},
                            {"tid", thread->second},
                            {"ts", us(run.timeline.start[i])},
                            {"dur", us(run.timeline.end[i] - run.timeline.start[i])}});
  }
  return to_json(Object{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}, -1);
}

}  // namespace shardsim
