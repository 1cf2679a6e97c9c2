#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/device_use.h"
#include "report/memory_report.h"
#include "report/reports.h"

namespace shardsim {

namespace {

double us(Seconds s) {
  return s / Seconds{1e-6};
}

// Events as they are made, each written at once.
class Events {
 public:
  void add(const Object& event) {
    text_ += std::exchange(before_, ",\n");
    append_json(text_, event);
  }
  std::string take() { return std::move(text_) + "]}\n"; }

 private:
  std::string text_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* before_ = "";
};

// A track: device class and stream; Chrome traces number processes and threads, which are named
// when they are first seen.
class Tracks {
 public:
  Tracks(const Run& run, Events& events) : run_(run), events_(events) {
    rank_of_.resize(run.graph.device_classes);
    for (std::size_t rank = 0; rank < run.plan.ranks.size(); ++rank)
      for (const std::uint32_t device : run.plan.ranks[rank]) rank_of_[device] = rank;
  }

  int thread(std::uint32_t device, const std::string& stream) {
    const auto [at, fresh] = threads_.try_emplace({device, stream}, 0);
    if (!fresh) return at->second;
    int& next = next_[device];
    if (next == 0) name("process_name", device, 0, text_of(device));
    at->second = next++;
    name("thread_name", device, at->second, stream);
    return at->second;
  }

 private:
  std::string text_of(std::uint32_t device) const {
    const int devices = run_.plan.cluster.devices(), classes = run_.plan.fold.classes();
    const std::size_t ranks = run_.plan.ranks.size();
    if (classes == 1) return fmt::format("every device (one class of {})", devices);
    if (ranks < 2) return fmt::format("device class {}", device);
    return fmt::format("rank {}, device class {}", rank_of_[device], device);
  }

  void name(const char* what, std::uint32_t process, int thread, const std::string& text) {
    events_.add({{"ph", "M"},
                 {"name", what},
                 {"pid", static_cast<std::int64_t>(process)},
                 {"tid", thread},
                 {"args", Object{{"name", text}}}});
  }

  const Run& run_;
  Events& events_;
  std::vector<std::size_t> rank_of_;  // [device classes]
  std::map<std::pair<std::uint32_t, std::string>, int> threads_;
  std::map<std::uint32_t, int> next_;
};

Object slice(const std::string& name, std::uint32_t device, int thread, Seconds from, Seconds to) {
  return Object{{"ph", "X"},     {"name", name},   {"pid", static_cast<std::int64_t>(device)},
                {"tid", thread}, {"ts", us(from)}, {"dur", us(to - from)}};
}

void compute_slices(const Run& run, Tracks& tracks, Events& events) {
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind != OpKind::compute) continue;
    const Origin& origin = run.graph.origins[op.origin];
    Object event = slice(origin.name, op.device, tracks.thread(op.device, origin.stream),
                         run.timeline.start[i], run.timeline.end[i]);
    event.emplace_back("args", Object{{"pass", std::string(to_text(origin.pass))},
                                      {"layer", origin.layer},
                                      {"microbatch", origin.microbatch}});
    events.add(event);
  }
}

void collective_slices(const Run& run, Tracks& tracks, Events& events) {
  const auto slices_of = [&](const CollectiveInstance& c, const Occurrence& once) {
    for (std::size_t g = 0; g < once.begin.size(); ++g) {
      const auto begin = static_cast<std::size_t>(once.begin[g]);
      const auto end = static_cast<std::size_t>(once.end[g]);
      const Op& op = run.graph.ops[begin];
      const Origin& origin = run.graph.origins[op.origin];
      Object event = slice(origin.name, op.device, tracks.thread(op.device, origin.stream),
                           run.timeline.end[begin], run.timeline.end[end]);
      event.emplace_back("args", Object{{"pass", std::string(to_text(c.pass))},
                                        {"layer", once.layer},
                                        {"microbatch", once.microbatch},
                                        {"algorithm", c.algorithm},
                                        {"bytes", c.bytes / Bytes{1}},
                                        {"closed_form_us", us(c.analytic)},
                                        {"why", c.reason}});
      events.add(event);
    }
  };
  for (const CollectiveInstance& c : run.plan.collectives)
    for (const Occurrence& once : c.times) slices_of(c, once);
}

// What ranks send each other may overlap on one stream, which slices of one thread must not: pairs
// of asynchronous events.
void transfer_slices(const Run& run, Tracks& tracks, Events& events) {
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    const Origin& origin = run.graph.origins[op.origin];
    if (op.kind != OpKind::transfer || origin.to_rank < 0) continue;
    const int thread = tracks.thread(op.device, origin.stream);
    for (const auto& [phase, time] :
         {std::pair("b", run.timeline.start[i]), std::pair("e", run.timeline.end[i])}) {
      events.add({{"ph", phase},
                  {"name", origin.name},
                  {"cat", kPipeline},
                  {"id", static_cast<std::int64_t>(i)},
                  {"pid", static_cast<std::int64_t>(op.device)},
                  {"tid", thread},
                  {"ts", us(time)}});
    }
  }
}

// Of the rate on a link, in GB/s.
struct RateChange {
  double at_us = 0;
  double by = 0;
};

// +r when a transfer begins to flow, -r at its end.
std::vector<std::vector<RateChange>> rate_changes(const Run& run) {
  std::vector<std::vector<RateChange>> changes(run.graph.links.size());
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    if (op.kind != OpKind::transfer) continue;
    const double from = us(run.timeline.start[i] + op.seconds);
    const double to = us(run.timeline.end[i]);
    if (to <= from) continue;
    const double rate =
        op.bytes / Bytes{1} / (to - from) / 1e3;  // bytes per us is MB/s; /1e3: GB/s
    for (const std::uint32_t link : run.graph.route(op.route)) {
      changes[link].push_back({from, rate});
      changes[link].push_back({to, -rate});
    }
  }
  for (std::vector<RateChange>& of_link : changes) {
    std::stable_sort(of_link.begin(), of_link.end(),
                     [](const RateChange& a, const RateChange& b) { return a.at_us < b.at_us; });
  }
  return changes;
}

void link_counters(const Run& run, Events& events) {
  const std::vector<std::vector<RateChange>> changes = rate_changes(run);
  for (std::size_t link = 0; link < changes.size(); ++link) {
    const NetLink& is = run.graph.links[link];
    const std::string name = "link " + is.name;
    const double noise = 1e-9 * (is.bandwidth / BytesPerSec{1e9});
    double rate = 0;
    for (std::size_t i = 0; i < changes[link].size();) {
      const double time = changes[link][i].at_us;
      double change = 0;
      for (; i < changes[link].size() && changes[link][i].at_us == time; ++i)
        change += changes[link][i].by;
      rate += change;
      if (std::abs(change) <= noise) continue;
      events.add({{"ph", "C"},
                  {"name", name},
                  {"pid", static_cast<std::int64_t>(is.owner)},
                  {"ts", time},
                  {"args", Object{{"GB/s", rate > noise ? rate : 0.0}}}});
    }
  }
}

}  // namespace

std::string trace_json(const Run& run, const Metrics&) {
  Events events;
  Tracks tracks(run, events);
  compute_slices(run, tracks, events);
  collective_slices(run, tracks, events);
  transfer_slices(run, tracks, events);
  link_counters(run, events);
  memory_counters(run, [&](const Object& event) { events.add(event); });
  return events.take();
}

}  // namespace shardsim
