// What the makers of collective templates share: a plan placed on the cluster, and the ops that it
// becomes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plan/collective_template.h"
#include "plan/routes.h"

namespace shardsim {

// A plan on the devices of its groups. Refers to all three.
class PlacedPlan {
 public:
  PlacedPlan(const GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net,
             Walks walks);

  // One device of each class of groups: rank 0 of the group, with the other coordinates folded.
  std::vector<DeviceId> bases() const;
  DeviceId device_of(DeviceId base, int rank) const;
  std::vector<std::uint32_t> members(DeviceId base) const;  // device classes of its group
  // Valid until the next call.
  std::span<const Route> routes_of(const Send& send, DeviceId base);
  // The part of a group axis along which neighbours lie.
  int neighbour_axis(std::size_t axis) const { return neighbour_axis_[axis]; }
  std::size_t axes() const { return neighbour_axis_.size(); }
  const Fold& fold() const { return fold_; }  // of the plan, which may be finer than the builder's

 private:
  const GraphBuilder& builder_;
  const Cluster& cluster_;
  const CollectivePlan& plan_;
  std::span<const Route> to_neighbour(const Send& send, DeviceId base);

  std::vector<int> axes_;               // of the cluster, parts one by one
  std::vector<int> sizes_;              // theirs
  std::vector<std::uint32_t> strides_;  // between numbers of neighbouring devices along them
  std::vector<int> neighbour_axis_;     // [group axes]
  Fold fold_;
  Router router_;
  std::vector<Route> routes_;  // of the last send
  // Those to neighbours in the groups of one base: [rank][axis][direction], empty: not yet known.
  std::vector<std::vector<Route>> hops_;
  std::optional<DeviceId> hops_base_;
};

// Fills a template, one group after the other.
class TemplateOps {
 public:
  void open_group(std::vector<std::uint32_t> members);
  void close_group();
  std::uint32_t push(const Op& op, std::span<const std::uint32_t> waits);
  // The op that passes `latency` after op `since`, or after the collective's start; one for each
  // and group.
  std::uint32_t delay(Seconds latency, std::uint32_t device,
                      std::optional<std::uint32_t> since = {});
  Op op(std::uint32_t index) const { return made_.op(index); }
  std::span<const std::uint32_t> waits_for(std::uint32_t index) const;
  void replace(std::uint32_t index, const Op& op);   // but for its phase
  void reserve(std::size_t ops, std::size_t waits);  // for so many more
  CollectiveTemplate take(std::uint32_t phases);

 private:
  std::uint32_t number(Op op);

  static constexpr std::uint32_t kNothing = 0xffffffffu;
  static constexpr std::uint32_t kStart = 0xffffffffu;  // no op: the collective's start
  CollectiveTemplate made_;
  std::vector<std::uint32_t> last_like_;  // [routes + 1] the last of `like` that had the route
  std::map<std::pair<std::uint32_t, Seconds>, std::uint32_t> delays_;  // by op and latency
};

Op pause(Seconds time, std::uint32_t device);

}  // namespace shardsim
