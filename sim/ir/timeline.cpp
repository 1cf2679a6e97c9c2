#include "ir/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace shardsim {

namespace {

constexpr double kTolerance = 1e-9;
// Rounding of the clock itself: a window of 1 us late in a long run is good to 1e-12 of the clock.
constexpr double kClockTolerance = 1e-12;

// Calls visit(link, loads) for every link of a sorted route, with how often the route lists it.
template <class Visit>
void for_each_load(std::span<const std::uint32_t> route, Visit visit) {
  for (std::size_t i = 0; i < route.size();) {
    std::size_t j = i;
    while (j < route.size() && route[j] == route[i]) ++j;
    visit(route[i], static_cast<double>(j - i));
    i = j;
  }
}

// The least time an op can take: alone on an idle network.
Seconds own_time(const OpGraph& graph, const Op& op) {
  if (op.kind == OpKind::join) return {};
  if (op.kind != OpKind::transfer) return op.seconds;
  Seconds flow;
  for_each_load(graph.route(op.route), [&](std::uint32_t link, double loads) {
    flow = std::max(flow, op.bytes * loads / graph.links[link].bandwidth);
  });
  return op.seconds + flow;
}

// What one link carried, and between when.
struct Carried {
  Bytes bytes;
  Seconds first{std::numeric_limits<double>::infinity()};
  Seconds last;
};

std::vector<Carried> carried(const Timeline& timeline, const OpGraph& graph) {
  std::vector<Carried> links(graph.links.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const Op& what = graph.ops[op];
    if (what.kind != OpKind::transfer || what.bytes == Bytes{0}) continue;
    for_each_load(graph.route(what.route), [&](std::uint32_t link, double loads) {
      links[link].bytes += what.bytes * loads;
      links[link].first = std::min(links[link].first, timeline.start[op] + what.seconds);
      links[link].last = std::max(links[link].last, timeline.end[op]);
    });
  }
  return links;
}

void check_op(const Timeline& timeline, const OpGraph& graph, OpId id,
              std::vector<std::string>& out) {
  const auto op = static_cast<std::size_t>(id);
  const Seconds start = timeline.start[op], end = timeline.end[op];
  // Written so that NaN is refused, too.
  if (!(start >= Seconds{0} && end >= start &&
        end / Seconds{1} <= std::numeric_limits<double>::max())) {
    out.push_back(fmt::format("{}: runs from {} to {} s", describe(graph, id), start / Seconds{1},
                              end / Seconds{1}));
    return;
  }
  for (const OpId dep : graph.waits_for(id)) {
    const Seconds ready = timeline.end[static_cast<std::size_t>(dep)];
    if (start >= ready * (1 - kTolerance)) continue;
    out.push_back(fmt::format("{}: starts at {}, before {} ends at {}", describe(graph, id),
                              to_text(start), describe(graph, dep), to_text(ready)));
  }
  const Seconds least = own_time(graph, graph.ops[op]);
  if (end < (start + least) * (1 - kTolerance))
    out.push_back(fmt::format("{}: takes {}, but alone it needs {}", describe(graph, id),
                              to_text(end - start), to_text(least)));
}

}  // namespace

Seconds Timeline::makespan() const {
  return end.empty() ? Seconds{} : *std::max_element(end.begin(), end.end());
}

std::vector<std::string> check(const Timeline& timeline, const OpGraph& graph, std::size_t limit) {
  std::vector<std::string> out;
  if (timeline.start.size() != graph.size() || timeline.end.size() != graph.size()) {
    out.push_back(fmt::format("{} starts and {} ends for {} ops", timeline.start.size(),
                              timeline.end.size(), graph.size()));
    return out;
  }
  for (std::uint32_t op = 0; op < graph.size() && out.size() < limit; ++op)
    check_op(timeline, graph, OpId{op}, out);
  if (!out.empty()) {
    out.resize(std::min(out.size(), limit));
    return out;
  }
  const std::vector<Carried> links = carried(timeline, graph);
  for (std::size_t link = 0; link < links.size() && out.size() < limit; ++link) {
    const Carried& on = links[link];
    if (on.bytes == Bytes{0}) continue;
    const Seconds window = (on.last - on.first) * (1 + kTolerance) + on.last * kClockTolerance;
    if (on.bytes <= graph.links[link].bandwidth * window) continue;
    out.push_back(fmt::format("link {} \"{}\": carries {} in {} at {}", link,
                              graph.links[link].name, to_text(on.bytes),
                              to_text(on.last - on.first), to_text(graph.links[link].bandwidth)));
  }
  return out;
}

}  // namespace shardsim
