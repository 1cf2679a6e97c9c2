// One replayed schedule: what it cost and how it looks.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "ir/peak_activations.h"
#include "ir/schedule.h"
#include "ir/schedule_form.h"
#include "ir/timeline.h"
#include "report/json.h"
#include "report/text_look.h"

namespace shardsim {

struct RankUse {
  Seconds first = {}, last = {};  // start of its first cell; end of its last, or of its last
                                  // transfers if they stop it
  Seconds busy = {};              // of its cells
  PeakActivations peak = {};

  Seconds span() const { return last - first; }
};

struct ScheduleMetrics {
  Seconds makespan;
  Seconds max_span;  // largest span of a rank: the "cost" of the zero-bubble papers
  // 1 - busy / makespan and 1 - busy / max_span, busy the mean over ranks; NaN where nothing takes
  // time.
  double makespan_bubble = std::numeric_limits<double>::quiet_NaN();
  double span_bubble = std::numeric_limits<double>::quiet_NaN();
  int parameter_copies = 1;  // of the whole model
  int transfers = 0;         // activations and gradients sent between ranks
  std::vector<RankUse> ranks;
};

// REQUIRES: `graph` is the schedule lowered (its first ops are the cells, rank by rank), `timeline`
// its replay.
ScheduleMetrics measure_schedule(const Schedule& schedule, const OpGraph& graph,
                                 const Timeline& timeline);

struct ScheduleRun {
  std::string kind;  // row of the table of schedules, or file:PATH
  Schedule schedule;
  CellCosts costs;  // of one cell
  OpGraph graph;
  Timeline timeline;
  ScheduleMetrics metrics;
  std::vector<ScheduleForm> forms;
};

// Schedules side by side: of one pipeline under one set of costs.
struct ScheduleComparison {
  std::string p2p_mode;
  std::vector<ScheduleRun> runs;  // at least one
  std::vector<std::string> assumptions;
};

// For the terminal, tables of at most 100 columns: of each run its figures, closed forms, ranks and
// picture; then all of them in one table.
std::string schedule_text(const ScheduleComparison& comparison, const TextLook& look);

// One row per rank: cells where they run, "F3" for a forward of micro-batch 3 (lower case on later
// chunks or in the second direction), dots where the rank is idle. What is too wide shows its
// beginning and its end.
std::string schedule_picture(const ScheduleRun& run, const TextLook& look);

// Of one run its figures.
Object schedule_object(const ScheduleRun& run, const std::string& p2p_mode);
// Of one run its object; of several {"schedules": […]}.
Json schedule_json(const ScheduleComparison& comparison);

// Chrome trace events: process = kind and rank; one slice per cell, one async event per transfer
// that takes time.
std::string schedule_trace(const ScheduleComparison& comparison);

}  // namespace shardsim
