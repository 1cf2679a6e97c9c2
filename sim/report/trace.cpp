#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/reports.h"

namespace shardsim {

namespace {

double us(Seconds s) {
  return s / Seconds{1e-6};
}

// A track: device class and stream; Chrome traces number processes and threads.
class Tracks {
 public:
  int thread(std::uint32_t device, const std::string& stream) {
    const auto [at, fresh] = threads_.try_emplace({device, stream}, 0);
    if (fresh) at->second = next_[device]++;
    return at->second;
  }

  void names(const Run& run, Array& events) const {
    for (const auto& [device, count] : next_) {
      const std::string name =
          run.plan.fold.classes() == 1
              ? fmt::format("every device (one class of {})", run.plan.cluster.devices())
              : fmt::format("device class {}", device);
      events.push_back(metadata("process_name", device, 0, name));
    }
    for (const auto& [key, thread] : threads_) {
      events.push_back(metadata("thread_name", key.first, thread, key.second));
    }
  }

 private:
  static Json metadata(const char* what, std::uint32_t process, int thread,
                       const std::string& name) {
    return Object{{"ph", "M"},
                  {"name", what},
                  {"pid", static_cast<std::int64_t>(process)},
                  {"tid", thread},
                  {"args", Object{{"name", name}}}};
  }

  std::map<std::pair<std::uint32_t, std::string>, int> threads_;
  std::map<std::uint32_t, int> next_;
};

Object slice(const std::string& name, std::uint32_t device, int thread, Seconds from, Seconds to) {
  return Object{{"ph", "X"},     {"name", name},   {"pid", static_cast<std::int64_t>(device)},
                {"tid", thread}, {"ts", us(from)}, {"dur", us(to - from)}};
}

void compute_slices(const Run& run, Tracks& tracks, Array& events) {
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind != OpKind::compute) continue;
    const Origin& origin = run.graph.origins[op.origin];
    Object event = slice(origin.name, op.device, tracks.thread(op.device, origin.stream),
                         run.timeline.start[i], run.timeline.end[i]);
    event.emplace_back(
        "args", Object{{"pass", std::string(to_text(origin.pass))}, {"layer", origin.layer}});
    events.push_back(std::move(event));
  }
}

// Every occurrence and class of groups.
std::vector<std::pair<const Occurrence*, std::size_t>> pairs_of(const CollectiveInstance& c) {
  std::vector<std::pair<const Occurrence*, std::size_t>> pairs;
  for (const Occurrence& once : c.times)
    for (std::size_t g = 0; g < once.begin.size(); ++g) pairs.emplace_back(&once, g);
  return pairs;
}

void collective_slices(const Run& run, Tracks& tracks, Array& events) {
  for (const CollectiveInstance& c : run.plan.collectives) {
    for (const auto& [once, g] : pairs_of(c)) {
      const auto begin = static_cast<std::size_t>(once->begin[g]);
      const auto end = static_cast<std::size_t>(once->end[g]);
      const Op& op = run.graph.ops[begin];
      const Origin& origin = run.graph.origins[op.origin];
      Object event = slice(origin.name, op.device, tracks.thread(op.device, origin.stream),
                           run.timeline.end[begin], run.timeline.end[end]);
      event.emplace_back("args", Object{{"pass", std::string(to_text(c.pass))},
                                        {"layer", once->layer},
                                        {"algorithm", c.algorithm},
                                        {"bytes", c.bytes / Bytes{1}},
                                        {"closed_form_us", us(c.analytic)},
                                        {"why", c.reason}});
      events.push_back(std::move(event));
    }
  }
}

// Changes of the rate on every link, in bytes per second: +r when a transfer begins to flow, -r at
// its end.
void link_counters(const Run& run, Array& events) {
  std::vector<std::map<double, double>> changes(run.graph.links.size());
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind != OpKind::transfer) continue;
    const double from = us(run.timeline.start[i] + op.seconds);
    const double to = us(run.timeline.end[i]);
    if (to <= from) continue;
    const double rate =
        op.bytes / Bytes{1} / (to - from) / 1e3;  // bytes per us is MB/s; /1e3: GB/s
    for (const std::uint32_t link : run.graph.route(op.route)) {
      changes[link][from] += rate;
      changes[link][to] -= rate;
    }
  }
  for (std::size_t link = 0; link < changes.size(); ++link) {
    double rate = 0;
    const double noise = 1e-9 * (run.graph.links[link].bandwidth / BytesPerSec{1e9});
    for (const auto& [time, change] : changes[link]) {
      rate += change;
      if (std::abs(change) <= noise) continue;
      events.push_back(Object{{"ph", "C"},
                              {"name", "link " + run.graph.links[link].name},
                              {"pid", static_cast<std::int64_t>(run.graph.links[link].owner)},
                              {"ts", time},
                              {"args", Object{{"GB/s", rate > noise ? rate : 0.0}}}});
    }
  }
}

// What lies in the memory of each class of devices, by kind, from each change on.
void memory_counters(const Run& run, Array& events) {
  for (const std::vector<std::uint32_t>& classes : run.plan.ranks) {
    for (const std::uint32_t device : classes) {
      for (const MemoryPoint& point : memory_timeline(run.graph, run.timeline, device)) {
        Object split;
        for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
          split.emplace_back(std::string(to_text(static_cast<MemoryKind>(kind))),
                             point.split[kind] / Bytes{1 << 30});
        }
        events.push_back(Object{{"ph", "C"},
                                {"name", "memory in GiB"},
                                {"pid", static_cast<std::int64_t>(device)},
                                {"ts", us(point.at)},
                                {"args", std::move(split)}});
      }
    }
  }
}

}  // namespace

std::string trace_json(const Run& run, const Metrics&) {
  Tracks tracks;
  Array slices;
  compute_slices(run, tracks, slices);
  collective_slices(run, tracks, slices);
  link_counters(run, slices);
  memory_counters(run, slices);
  Array events;
  tracks.names(run, events);
  events.insert(events.end(), std::make_move_iterator(slices.begin()),
                std::make_move_iterator(slices.end()));
  return to_json(Object{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}, -1);
}

}  // namespace shardsim
