#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "report/device_use.h"
#include "report/link_rates.h"
#include "report/memory_report.h"
#include "report/reports.h"
#include "report/trace_events.h"

namespace shardsim {

namespace {

// What PyTorch's FSDP calls the gather of a layer's weights and the reduction of their gradients;
// "" for what it has no name for.
std::string fsdp_name(const CollectiveInstance& c, int layer) {
  if (c.moves_weights && c.kind == Collective::all_gather)
    return fmt::format("FSDP::all_gather (layers.{})", layer);
  if (c.moves_weights && c.kind == Collective::reduce_scatter)
    return fmt::format("FSDP::post_backward_reduce (layers.{})", layer);
  return "";
}

// "PP:0F3": what PyTorch's pipelines call micro-batch 3's forward on stage 0.
std::string action_name(const PipelineWork& work) {
  if (work.letter == 'O') return "optimizer";
  return fmt::format("PP:{}{}{}", work.stage, work.letter, work.microbatch);
}

std::string action_name(const PipelineCell& cell) {
  const std::string name = action_name(cell.work);
  return cell.second ? name + " " + action_name(*cell.second) : name;
}

Object args_of(const Run& run, const Slices& made, const Slice& slice) {
  const Op& op = run.graph.ops[static_cast<std::size_t>(slice.first)];
  const Origin& origin = run.graph.origins[op.origin];
  Object args;
  if (origin.collective < 0) {
    args = {{"pass", std::string(to_text(origin.pass))},
            {"layer", origin.layer},
            {"microbatch", origin.microbatch}};
  } else {
    const CollectiveInstance& c = run.plan.collectives[static_cast<std::size_t>(origin.collective)];
    args = {{"pass", std::string(to_text(c.pass))},
            {"layer", origin.layer},
            {"microbatch", origin.microbatch},
            {"algorithm", c.algorithm},
            {"bytes", c.bytes / Bytes{1}},
            {"closed_form_us", us(c.analytic)},
            {"why", c.reason}};
    const std::string known = fsdp_name(c, origin.layer);
    if (!known.empty()) args.emplace_back("known_as", known);
  }
  if (slice.cause != kNoSlice)
    args.emplace_back("waited_for", made.origins[made.slices[slice.cause].origin].name);
  return args;
}

// The pipeline's schedule on a thread of its own, of the device that stands for the rank.
void add_actions(const Slices& made, TraceEvents& events) {
  std::vector<std::int64_t> threads(made.ranks.size());
  for (const SliceTrack& track : made.tracks) {
    const auto rank = static_cast<std::size_t>(track.rank);
    if (track.device == made.ranks[rank].shown && track.lane == 0) ++threads[rank];
  }
  int named = -1;
  for (const PipelineCell& cell : made.cells) {
    const auto rank = static_cast<std::size_t>(cell.rank);
    const std::int64_t process = made.ranks[rank].shown;
    if (std::exchange(named, cell.rank) != cell.rank)
      events.add_name("thread_name", process, threads[rank], "schedule");
    events.add(to_event({action_name(cell), process, threads[rank], cell.begin, cell.end}));
  }
}

void add_link_counters(const Run& run, TraceEvents& events) {
  std::vector<std::uint32_t> links(run.graph.links.size());
  std::iota(links.begin(), links.end(), 0u);
  const std::vector<std::vector<RatePoint>> rates = link_rates(run, links);
  for (std::size_t link = 0; link < rates.size(); ++link) {
    const NetLink& is = run.graph.links[link];
    const std::string name = "link " + is.name;
    for (const RatePoint& point : rates[link]) {
      events.add({{"ph", "C"},
                  {"name", name},
                  {"pid", static_cast<std::int64_t>(is.owner)},
                  {"ts", us(point.at)},
                  {"args", Object{{"GB/s", point.rate / BytesPerSec{1e9}}}}});
    }
  }
}

}  // namespace

std::string trace_json(const Run& run, const Metrics&) {
  TraceEvents events;
  const Slices made = slices_of(run);
  add_slices(made,
             {.category = kPipeline,
              .process_name = [](const SliceTrack& track) { return track.label; },
              .args = [&](const Slice& slice) { return args_of(run, made, slice); }},
             events);
  add_actions(made, events);
  add_link_counters(run, events);
  memory_counters(run, [&](const Object& event) { events.add(event); });
  return events.take();
}

}  // namespace shardsim
