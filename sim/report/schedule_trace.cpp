#include <fmt/format.h>

#include <string>

#include "report/schedule_run.h"
#include "report/trace_events.h"

namespace shardsim {

std::string schedule_trace(const ScheduleComparison& comparison) {
  TraceEvents events;
  std::int64_t first = 0, ids = 0;  // process of the kind's rank 0; of transfers and arrows
  for (const ScheduleRun& run : comparison.runs) {
    const Slices made = slices_of(run);
    const auto args = [&](const Slice& slice) {
      const Origin& origin =
          run.graph.origins[run.graph.ops[static_cast<std::size_t>(slice.first)].origin];
      return Object{{"pass", std::string(to_text(origin.pass))},
                    {"microbatch", origin.microbatch},
                    {"stage", origin.stage}};
    };
    ids += add_slices(made,
                      {.first_process = first,
                       .first_id = ids,
                       .category = "p2p",
                       .process_name =
                           [&](const SliceTrack& track) {
                             return fmt::format("{} rank {}", run.kind, track.rank);
                           },
                       .args = args},
                      events);
    first += run.schedule.ranks();
  }
  return events.take();
}

}  // namespace shardsim
