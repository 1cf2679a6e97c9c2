// Routes over a cluster. The outermost level in which two devices differ decides: a switch is
// passed from port to port, rails and grids after going to the right position inside (over NVLink
// to the GPU on the destination's rail); a grid in dimension order, the shortest way along each
// axis. A message whose way is equally long both ways round an even ring is split in halves over
// both directions (a router that sends all ties one way makes AllToAll (N+2)/(8N) instead of 1/8 of
// V/W1, Scaling Book ch. 3 and its problems).
//
// On an explicit graph, and inside a grid level where a link of that way is missing, a message
// takes the paths with the fewest links there, whatever their latency, and is split evenly over all
// of them; of more than kMostPaths (kMostDetours of a grid), over so many spread evenly among them
// (plan/graph_paths.h). Devices pass messages on like switches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"

namespace shardsim {

inline constexpr int kMostPaths = 64;
inline constexpr int kMostDetours = 4;

// Links of one kind along an axis, each where the one before it leads, none round a wrap.
struct Stretch {
  LinkId first{0};
  int links = 1;
};

struct Route {
  double share = 1;           // of the message
  std::vector<LinkId> links;  // in order, but for those in stretches
  Seconds latency;  // sum over the links: a message is cut through, not stored at each hop
  std::vector<Stretch> stretches = {};
};

// How the links along an axis are told: a message half round a ring of 16,384 passes 8,192.
enum class Walks : std::uint8_t { link_by_link, in_stretches };

class GraphPaths;

// Keeps what it has found out about the graph.
class Router {
 public:
  // Refers to the cluster. Where single links differ, they are told one by one all the same.
  explicit Router(const Cluster& cluster, Walks walks = Walks::link_by_link);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // REQUIRES: from != to. Shares sum to 1.
  std::vector<Route> routes(DeviceId from, DeviceId to);
  // Over how many of them a message is split.
  int split(DeviceId from, DeviceId to);
  // To the neighbour along an axis, as hop() says, while its links are there.
  std::vector<Route> neighbour(DeviceId from, DeviceId to, int axis, int direction);

 private:
  GraphPaths& graph(int level);
  bool on_graph() const;
  // From `at` to `target`, which differ in no axis outside level `outermost`.
  std::vector<Route> within(int outermost, std::vector<int> at, const std::vector<int>& target);
  // The paths with the fewest links inside a level that are taken.
  std::vector<Route> shortest(int level, DeviceId from, DeviceId to, int most);

  const Cluster& cluster_;
  Walks walks_;
  std::vector<std::unique_ptr<GraphPaths>> graphs_;  // [levels] made when they are needed
};

std::vector<Route> routes(const Cluster& cluster, DeviceId from, DeviceId to);

// The way to a neighbour of the group along an axis, on a ring in that direction: one link, or
// several where the axis is a strided part of a longer one. REQUIRES: not a graph.
Route hop(const Cluster& cluster, DeviceId from, DeviceId to, int axis, int direction);

// Up to the switch of a star axis and back down to the same device; the latency counts once.
Route through_switch(const Cluster& cluster, DeviceId device, int axis);

// The devices or switches that a link leads from and to; nothing for a port of a switch and for one
// past the end of a line.
std::optional<std::pair<std::uint32_t, std::uint32_t>> ends(const Cluster& cluster, LinkId link);

// The level whose ports a route through this one begins with: of a spine that of the NICs below, of
// others their own.
int nic_level(const Cluster& cluster, int level);

}  // namespace shardsim
