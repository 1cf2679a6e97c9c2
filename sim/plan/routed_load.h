// What the links of an explicit graph carry when ranks send to ranks: where the closed forms take
// their bandwidth from when no axis says it.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "plan/algorithms.h"
#include "plan/routes.h"

namespace shardsim {

// Messages of one byte, sent at once by all groups of the net.
struct RoutedLoad {
  std::vector<Seconds> links;  // [cables] per byte of each message
  Seconds busiest;             // of them
  Seconds nearest, farthest;   // latencies of the messages
  bool alike = true;  // every message passes a link as busy as the busiest, after the same latency:
                      // sent at once they all end at once
};

class RoutedLoads {
 public:
  explicit RoutedLoads(const GroupNet& net);  // REQUIRES: of a graph; refers to its cluster

  using Message = std::pair<int, int>;  // from rank to rank
  RoutedLoad of(std::span<const Message> messages);
  RoutedLoad of_displacement(int displacement);  // every rank to the rank so much further
  // Over how many paths a message is split on average: between any two ranks of a group, or from
  // each to the next one. Of at most 64 destinations, spread over all.
  enum class Pairs { any, next };
  double mean_paths(Pairs pairs);

 private:
  DeviceId device(DeviceId base, int rank) const;

  const GroupNet& net_;
  const Cluster& cluster_;
  std::vector<int> sizes_;       // of the cluster's axes in the group
  std::vector<DeviceId> bases_;  // rank 0 of every group
  Router router_;
};

// One step of a ring: every rank sends so many bytes to its neighbours, +1 or -1, in all of the
// directions at once.
struct StepTime {
  Seconds time;
  bool exact = true;  // all messages end at once
};
StepTime neighbour_step(const GroupNet& net, Bytes bytes, std::initializer_list<int> directions);

}  // namespace shardsim
