#include "plan/root_over_levels.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "plan/algorithm_parts.h"
#include "plan/direct_algorithms.h"

namespace shardsim {

namespace {

// The group's axes of one level.
struct Crossing {
  std::vector<const GroupAxis*> axes;
  double ranks = 1;
  double below = 1;      // ranks in one element of the level
  double positions = 1;  // of these, places in a node: routes that are aligned keep them
  Seconds latency;       // of the farthest message, with the way to the right position inside

  bool star() const { return axes.front()->wiring == Wiring::star; }
  bool aligned() const { return !star() || axes.front()->aligned; }
};

using Crossings = std::map<int, Crossing>;  // by level, innermost first

Crossings crossings_of(const GroupNet& net) {
  Crossings levels;
  for (const GroupAxis& axis : net.axes) {
    Crossing& made = levels[axis.level];
    made.axes.push_back(&axis);
    made.ranks *= axis.size;
  }
  double below = 1;
  for (auto& [level, made] : levels) {
    made.below = below;
    below *= made.ranks;
    Seconds inside;
    for (const auto& [other, its] : levels) {
      if (other >= made.axes.front()->nic_level) break;
      made.positions *= its.ranks;
      inside = std::max(inside, its.latency);
    }
    for (const GroupAxis* axis : made.axes) {
      const Seconds along = most_hops(*axis) * axis->latency;
      made.latency = made.star() ? along : made.latency + along;
    }
    if (made.aligned()) made.latency += inside;
  }
  return levels;
}

// Shards that pass a port of the root, and when.
class Ports {
 public:
  // So many shards cross a level; in_node: other devices of the root's node send as many.
  void add(const Crossing& crossing, double shards, bool in_node, Seconds latency, Bytes shard) {
    for (const GroupAxis* axis : crossing.axes) {
      if (crossing.star()) {
        for (const Climb& climb : axis->climbs)
          on_[climb.port].push_back({latency, shards * shard / (in_node ? climb.node : climb.one)});
        return;  // the axes of one switch make one exchange
      }
      // The axis that is gone last, or first, has most: all whose ends differ along it.
      const double a = axis->size, part = (a - 1) / a * crossing.ranks / (crossing.ranks - 1);
      along_[axis].push_back({latency, shards * part * shard / (axis->w1 * axis->ports)});
    }
  }

  Seconds end() const {
    Seconds latest;
    for (const auto& [port, loads] : on_) latest = std::max(latest, end_of(loads));
    for (const auto& [axis, loads] : along_) latest = std::max(latest, end_of(loads));
    return latest;
  }

 private:
  using Loads = std::vector<std::pair<Seconds, Seconds>>;  // latency, and time on the port

  static Seconds end_of(Loads loads) {
    std::sort(loads.begin(), loads.end());
    Seconds now;
    for (const auto& [latency, load] : loads) now = std::max(now, latency) + load;
    return now;
  }

  std::map<int, Loads> on_;                  // by port of a switch
  std::map<const GroupAxis*, Loads> along_;  // by axis of a grid
};

}  // namespace

ClosedForm form_over_levels(const GroupNet& net, Bytes shard, Collective kind) {
  const Crossings levels = crossings_of(net);
  Ports ports;
  bool late = false;
  for (const auto& [level, outer] : levels) {
    late = late || outer.latency > Seconds{};
    // A scatter over rails first hands the shards to the devices in their positions.
    const bool hands_out = kind == Collective::scatter && outer.aligned();
    const double of_level = (outer.ranks - 1) * outer.below;
    const double elements = of_level / outer.positions;
    ports.add(outer, hands_out ? elements : of_level, hands_out, outer.latency, shard);
    for (const auto& [other, inner] : levels) {
      if (!hands_out || other >= outer.axes.front()->nic_level) break;
      ports.add(inner, elements * (inner.ranks - 1) * inner.below, false, outer.latency, shard);
    }
  }
  return {ports.end(), "V/(N*W1) * shards through the root's busiest port, each no sooner than a",
          !late && levels.size() == 1};
}

}  // namespace shardsim
