#include "report/device_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.h"

namespace shardsim {

namespace {

// Ranks of a pipeline and the device of each that is looked at.
class Looked {
 public:
  explicit Looked(const Run& run)
      : ranks_(ranks_or_one(run.graph, run.plan.ranks)),
        rank_of_(rank_of_class(run.graph, ranks_)),
        devices_(last_devices(run.graph, run.timeline, ranks_)) {}

  std::size_t ranks() const { return ranks_.size(); }
  std::size_t rank_of(std::uint32_t device) const { return rank_of_[device]; }
  std::uint32_t device(std::size_t rank) const { return devices_[rank]; }
  bool looked_at(std::uint32_t device) const { return devices_[rank_of_[device]] == device; }
  // The device of another rank at the place of this one.
  std::uint32_t peer(std::uint32_t device, std::size_t rank) const {
    const std::vector<std::uint32_t>& mine = ranks_[rank_of_[device]];
    const auto place = std::find(mine.begin(), mine.end(), device) - mine.begin();
    return ranks_[rank][static_cast<std::size_t>(place)];
  }

 private:
  std::vector<std::vector<std::uint32_t>> ranks_;
  std::vector<std::size_t> rank_of_;    // [device classes]
  std::vector<std::uint32_t> devices_;  // [ranks]
};

DeviceUse::Communicator& named(DeviceUse& use, const std::string& name) {
  for (DeviceUse::Communicator& c : use.communicators)
    if (c.name == name) return c;
  return use.communicators.emplace_back(DeviceUse::Communicator{name, {}});
}

void add_collectives(const Run& run, const Looked& looked, std::vector<DeviceUse>& uses) {
  const auto ended = [&](OpId op) { return run.timeline.end[static_cast<std::size_t>(op)]; };
  for (const CollectiveInstance& c : run.plan.collectives) {
    const std::string name = communicator_of(c);
    for (const Occurrence& once : c.times) {
      if (once.begin.empty()) continue;
      const Op& first = run.graph.ops[static_cast<std::size_t>(once.begin.front())];
      DeviceUse& use = uses[looked.rank_of(first.device)];
      for (std::size_t g = 0; g < once.begin.size(); ++g) {
        const Interval time{ended(once.begin[g]), ended(once.end[g])};
        const bool mine = c.group_of.empty() || c.group_of[use.device] == g;
        (mine ? named(use, name).times : use.neighbours).push_back(time);
      }
    }
  }
}

void add_ops(const Run& run, const Looked& looked, std::vector<DeviceUse>& uses) {
  for (std::size_t i = 0; i < run.graph.size(); ++i) {
    const Op& op = run.graph.ops[i];
    const Interval time{run.timeline.start[i], run.timeline.end[i]};
    if (op.kind == OpKind::compute) {
      DeviceUse& use = uses[looked.rank_of(op.device)];
      (looked.looked_at(op.device) ? use.compute : use.neighbours).push_back(time);
    } else if (op.kind == OpKind::transfer) {
      const int to = run.graph.origins[op.origin].to_rank;
      if (to < 0) continue;
      const std::uint32_t ends[] = {op.device,
                                    looked.peer(op.device, static_cast<std::size_t>(to))};
      for (const std::uint32_t device : ends) {
        DeviceUse& use = uses[looked.rank_of(device)];
        if (use.device == device) named(use, kPipeline).times.push_back(time);
      }
    }
  }
}

// Something begins (+1) or ends (-1) to run.
struct Change {
  Seconds at;
  std::uint32_t what = 0;
  int by = 0;
};
constexpr std::uint32_t kCompute = 0, kNeighbours = 1, kFirst = 2;  // then the communicators

std::vector<Change> changes_of(const DeviceUse& use) {
  std::vector<Change> changes;
  const auto add = [&](const std::vector<Interval>& times, std::uint32_t what) {
    for (const Interval& time : times) {
      if (!(time.to > time.from)) continue;
      changes.push_back({time.from, what, 1});
      changes.push_back({time.to, what, -1});
    }
  };
  add(use.compute, kCompute);
  add(use.neighbours, kNeighbours);
  for (std::size_t c = 0; c < use.communicators.size(); ++c) {
    add(use.communicators[c].times, kFirst + static_cast<std::uint32_t>(c));
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

// How many of each run at the moment.
class Running {
 public:
  explicit Running(const DeviceUse& use) : count_(kFirst + use.communicators.size()), use_(use) {}

  void apply(const Change& change) { count_[change.what] += change.by; }

  void add_to(UseTimes& times, Seconds span, Seconds from) const {
    const bool computes = count_[kCompute] > 0;
    int moving = 0;
    bool collective = false;
    for (std::size_t c = kFirst; c < count_.size(); ++c) {
      if (count_[c] == 0) continue;
      ++moving;
      collective = collective || use_.communicators[c - kFirst].name != kPipeline;
    }
    if (computes) times.compute += span;
    if (moving > 0) times.comm += span;
    if (moving > 0 && !computes) times.exposed += span;
    if (computes || collective) {
      if (times.busy == Seconds{}) times.first = from;
      times.busy += span;
      times.last = from + span;
    }
    if (!computes && moving == 0) (count_[kNeighbours] > 0 ? times.waiting : times.idle) += span;
    for (std::size_t c = kFirst; c < count_.size(); ++c) {
      if (count_[c] == 0) continue;
      CommunicatorTime& one = times.communicators[c - kFirst];
      one.time += span;
      if (!computes) one.exposed += span / moving;
    }
  }

 private:
  std::vector<int> count_;
  const DeviceUse& use_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> ranks_or_one(
    const OpGraph& graph, std::vector<std::vector<std::uint32_t>> ranks) {
  if (!ranks.empty()) return ranks;
  std::vector<std::uint32_t>& all = ranks.emplace_back();
  for (std::uint32_t c = 0; c < graph.device_classes; ++c) all.push_back(c);
  return ranks;
}

std::vector<std::size_t> rank_of_class(const OpGraph& graph,
                                       const std::vector<std::vector<std::uint32_t>>& ranks) {
  std::vector<std::size_t> rank_of(graph.device_classes);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const std::uint32_t c : ranks[rank]) rank_of[c] = rank;
  return rank_of;
}

std::vector<std::uint32_t> last_devices(const OpGraph& graph, const Timeline& timeline,
                                        const std::vector<std::vector<std::uint32_t>>& ranks) {
  std::vector<Seconds> last(graph.device_classes, Seconds{-1});
  for (std::size_t op = 0; op < graph.size(); ++op) {
    Seconds& latest = last[graph.ops[op].device];
    latest = std::max(latest, timeline.end[op]);
  }
  std::vector<std::uint32_t> devices;
  for (const std::vector<std::uint32_t>& classes : ranks) {
    devices.push_back(*std::max_element(classes.begin(), classes.end(),
                                        [&](auto a, auto b) { return last[a] < last[b]; }));
  }
  return devices;
}

std::string communicator_of(const CollectiveInstance& collective) {
  const std::vector<std::string>& axes = collective.axes;
  return axes.size() == 1 ? axes.front() : fmt::format("{}", fmt::join(axes, ","));
}

std::string collectives_over(std::string_view communicator) {
  return concat({"collectives over ", communicator});
}

std::vector<DeviceUse> device_uses(const Run& run) {
  const Looked looked(run);
  std::vector<DeviceUse> uses(looked.ranks());
  for (std::size_t rank = 0; rank < uses.size(); ++rank) uses[rank].device = looked.device(rank);
  add_collectives(run, looked, uses);
  add_ops(run, looked, uses);
  return uses;
}

UseTimes times_of(const DeviceUse& use, Seconds step) {
  UseTimes times;
  for (const DeviceUse::Communicator& c : use.communicators) {
    times.communicators.push_back({c.name, static_cast<int>(c.times.size()), {}, {}});
  }
  Running running(use);
  Seconds now;
  for (const Change& change : changes_of(use)) {
    if (change.at > now) running.add_to(times, change.at - now, now);
    now = std::max(now, change.at);
    running.apply(change);
  }
  if (step > now) running.add_to(times, step - now, now);
  return times;
}

}  // namespace shardsim
