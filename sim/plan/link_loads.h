// What the sends of a plan put on each link, as shares of V: for the fluid grain, which adds them
// up. A stretch is added by its ends alone; the links between are summed once, afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/cluster.h"
#include "plan/routes.h"

namespace shardsim {

class LinkLoads {
 public:
  // Refers to both. Loads of links that the fold maps onto each other may be put on one of them:
  // their sum is what counts.
  LinkLoads(const Cluster& cluster, const Fold& fold);

  void add(const Route& route, double share);
  // Links with a load, in no particular order. REQUIRES: settled since the last add.
  void settle();
  const std::vector<LinkId>& loaded() const { return loaded_; }
  double of(LinkId link) const;
  void clear();

 private:
  // At a link: what begins there, and what ends behind it. Settled: what goes on behind it.
  struct Mark {
    double begins = 0, ends = 0;
    std::int32_t begun = 0, ended = 0;
  };
  void add(LinkId link, double share);
  void add(const Stretch& stretch, double share);
  void settle(std::size_t port);

  const Cluster& cluster_;
  const Fold& fold_;
  std::vector<double> dense_;  // [links]; empty: a full mesh of 16,384 has a quarter of a billion
                               // links, few of them loaded
  std::unordered_map<LinkId, double> sparse_;
  std::vector<LinkId> loaded_;
  std::vector<Mark> marks_;          // [links], once there is a stretch
  std::vector<bool> marked_;         // [ports]
  std::vector<std::int64_t> ahead_;  // [ports] of grids: the next device's number minus a device's
};

}  // namespace shardsim
