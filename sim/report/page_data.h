// What a page shows, as the JSON of its data block (reports/template/ reads it):
//
//   {"schema": "shardsim-page-1", "page": "timeline" | "compare", "title", "command", "runs":
//   [Run]} Run = {name, kind: "run" | "schedule", command, summary, step_s, tick_s,
//   slices_left_out, texts,
//     kinds[] {name, group}, ranks[] {label, devices}, tracks[] {rank, label, stream},
//     origins {name, kind, layer, bytes, links},
//     slices {track, begin, length, origin, microbatch, stage, chunk, cause, critical},
//     arrows {from, to}, bubbles {rank, begin, length, text, cause},
//     cells {rank, begin, length, code, microbatch, stage, chunk, second_…},
//     memory[] {rank, label, limit_bytes, kinds, at, bytes[]},
//     links[] {name, bandwidth_bytes_per_s, at, rate}, links_left_out}
//
// Tables are columns (report/columns.h) with their count; begin, at, from, to, origin and cause
// hold differences. Times are ticks: rounded where they are, so what abuts still abuts. Names are
// indices into texts; what may be absent is 0 and counts from 1: links, microbatch, cause,
// second_code.
#pragma once

#include <span>
#include <string>

#include "report/json.h"
#include "report/run.h"
#include "report/schedule_run.h"
#include "report/slices.h"

namespace shardsim {

inline constexpr const char* kPageSchema = "shardsim-page-1";
inline constexpr std::size_t kMostCollectivesShown = 50;

// One element of "runs". `summary`: of a run its summary.json, of which the first collectives are
// kept; of a schedule its element of `schedule --format json`, without the order of every rank.
Object page_run(const Run& run, const Metrics& metrics, Json summary, const std::string& command);
Object page_run(const ScheduleRun& run, Json summary, const std::string& command);

struct PageData {
  std::string page;  // "timeline" or "compare"
  std::string title;
  std::string command;  // that makes it again
  Array runs;
};
// For a data block: no `<` in it, so that no tag ends or begins there.
std::string data_block(const Json& json);
std::string page_json(const PageData& data);

}  // namespace shardsim
