#include <fmt/format.h>

#include <string>
#include <utility>

#include "report/reports.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

double us(Seconds s) {
  return s / Seconds{1e-6};
}

// Events in their order, as text: as a tree, millions of them would take ten times the room.
struct Events {
  std::string text = {};

  void push_back(const Json& event) {
    if (!text.empty()) text += ",";
    text += to_json(event, -1);
    text.pop_back();  // the end of the line
  }
};

void add_name(const char* what, int process, const std::string& name, Events& events) {
  events.push_back(Object{
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", 0}, {"args", Object{{"name", name}}}});
}

void add_cell(const Origin& origin, int process, Seconds start, Seconds end, Events& events) {
  events.push_back(
      Object{{"ph", "X"},
             {"name", origin.name},
             {"cat", std::string(to_text(origin.pass))},
             {"pid", process},
             {"tid", 0},
             {"ts", us(start)},
             {"dur", us(end - start)},
             {"args", Object{{"microbatch", origin.microbatch}, {"stage", origin.layer}}}});
}

// Transfers may overlap, which slices of one thread must not.
void add_transfer(const Origin& origin, std::size_t id, int process, Seconds start, Seconds end,
                  Events& events) {
  for (const auto& [phase, time] : {std::pair("b", start), std::pair("e", end)}) {
    events.push_back(Object{{"ph", phase},
                            {"name", origin.name},
                            {"cat", "p2p"},
                            {"id", static_cast<std::int64_t>(id)},
                            {"pid", process},
                            {"tid", 0},
                            {"ts", us(time)}});
  }
}

}  // namespace

std::string schedule_trace(const ScheduleComparison& comparison) {
  Events events;
  int first = 0;        // process of the kind's rank 0
  std::size_t ids = 0;  // of transfers
  for (const ScheduleRun& run : comparison.runs) {
    for (int rank = 0; rank < run.schedule.ranks(); ++rank) {
      add_name("process_name", first + rank, fmt::format("{} rank {}", run.kind, rank), events);
      add_name("thread_name", first + rank, "compute", events);
    }
    for (std::size_t i = 0; i < run.graph.size(); ++i) {
      const Op& op = run.graph.ops[i];
      const Origin& origin = run.graph.origins[op.origin];
      const int process = first + static_cast<int>(op.device);
      const Seconds start = run.timeline.start[i], end = run.timeline.end[i];
      if (op.kind == OpKind::compute) add_cell(origin, process, start, end, events);
      if (op.kind == OpKind::delay && end > start)
        add_transfer(origin, ids++, process, start, end, events);
    }
    first += run.schedule.ranks();
  }
  return R"({"displayTimeUnit":"ns","traceEvents":[)" + events.text + "]}\n";
}

}  // namespace shardsim
