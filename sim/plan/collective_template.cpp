#include "plan/collective_template.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/file.h"
#include "plan/routes.h"
#include "plan/template_parts.h"

namespace shardsim {

namespace {

// The latest op of every route; all are forgotten at once.
class LatestByRoute {
 public:
  void clear() { ++turn_; }
  const std::uint32_t* find(std::uint32_t route) const {
    if (route >= entries_.size() || entries_[route].first != turn_) return nullptr;
    return &entries_[route].second;
  }
  void set(std::uint32_t route, std::uint32_t op) {
    if (route >= entries_.size()) entries_.resize(route + std::size_t{1});
    entries_[route] = {turn_, op};
  }

 private:
  std::uint32_t turn_ = 1;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries_;  // [routes] turn, op
};

// Stamps one plan into a template, group class by group class.
class FlowMaker {
 public:
  FlowMaker(GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net)
      : builder_(builder),
        cluster_(builder.cluster()),
        plan_(plan),
        placed_(builder, plan, net, Walks::link_by_link) {
    unlike_ = net.graph != nullptr || net.uneven;
    one_way_to_neighbours_ = cluster_.cables.empty() &&
                             std::none_of(cluster_.changed.begin(), cluster_.changed.end(),
                                          [](const auto& link) { return link.second.missing; });
  }

  CollectiveTemplate make() {
    for (const DeviceId base : placed_.bases()) {
      ops_.open_group(placed_.members(base));
      add_sends(base);
      ops_.close_group();
    }
    return ops_.take(unlike_ ? unlike_phases_ : static_cast<std::uint32_t>(phases_.size()));
  }

 private:
  std::vector<std::uint32_t> orbit(const Route& route) const {
    std::vector<std::uint32_t> links;
    links.reserve(route.links.size());
    for (const LinkId link : route.links) links.push_back(builder_.link_index(link));
    return links;
  }

  // Sends of one phase and one latency start together, where links are alike.
  std::uint32_t phase_of(int phase, Seconds latency) {
    if (unlike_) return unlike_phases_++;
    const std::pair<int, Seconds> key{phase, latency};
    if (key == last_phase_.first) return last_phase_.second;
    const auto next = static_cast<std::uint32_t>(phases_.size());
    last_phase_ = {key, phases_.try_emplace(key, next).first->second};
    return last_phase_.second;
  }

  // What the sends of one rank have in common; one-hop routes are looked up once.
  struct Hops {
    bool known = false;
    RouteId route = kNoRoute;
    Seconds latency;
  };
  struct Senders {
    std::vector<std::uint32_t> classes;  // [ranks] of devices
    std::vector<Hops> hops;              // [rank][axis][direction]
  };

  Senders senders(DeviceId base) const {
    Senders made;
    const std::size_t ranks = static_cast<std::size_t>(plan_.ranks());
    made.hops.resize(ranks * placed_.axes() * 2);
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      made.classes.push_back(builder_.fold().class_of(cluster_, placed_.device_of(base, rank)));
    }
    return made;
  }

  const Hops& hop_of(const Send& send, DeviceId base, Senders& all) {
    const auto rank = static_cast<std::size_t>(send.from);
    const auto axis = static_cast<std::size_t>(send.axis);
    Hops& known = all.hops[(rank * placed_.axes() + axis) * 2 + (send.direction > 0 ? 1 : 0)];
    if (!known.known) {
      const Route route =
          hop(cluster_, placed_.device_of(base, send.from), placed_.device_of(base, send.to),
              placed_.neighbour_axis(axis), send.direction);
      known = {true, builder_.route(orbit(route)), route.latency};
    }
    return known;
  }

  void add_sends(DeviceId base) {
    std::vector<std::uint32_t> ops, first_op = {0};  // CSR: ops of send i; split sends make several
    LatestByRoute by_route;                          // of the current phase
    Senders all = senders(base);
    std::vector<std::uint32_t> waits;
    int phase = -1;
    ops_.reserve(plan_.sends.size(), plan_.after.size());
    ops.reserve(plan_.sends.size());
    first_op.reserve(plan_.sends.size() + 1);
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      if (i % 4096 == 0) throw_if_interrupted();
      const Send& send = plan_.sends[i];
      waits.clear();
      for (const std::uint32_t w : plan_.waits_for(i)) {
        waits.insert(waits.end(), ops.begin() + first_op[w], ops.begin() + first_op[w + 1]);
      }
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      std::optional<std::uint32_t> since;
      if (send.since >= 0) since = ops[first_op[static_cast<std::size_t>(send.since)]];
      if (send.phase != phase) by_route.clear();
      phase = send.phase;
      Op op;
      op.device = all.classes[static_cast<std::size_t>(send.from)];
      if (send.is_join()) {
        op.phase = phase_of(send.phase, Seconds{});
        ops.push_back(ops_.push(op, waits));
      } else if (one_way_to_neighbours_ && send.axis >= 0 && send.share > 0) {
        const Hops& known = hop_of(send, base, all);
        op.route = known.route;
        op.seconds = known.latency;
        op.phase = phase_of(send.phase, op.seconds);
        ops.push_back(add_transfer(op, send, 1.0, waits, since, by_route));
      } else {
        for (const Route& route : placed_.routes_of(send, base)) {
          if (send.share == 0) {  // a message without bytes
            ops.push_back(ops_.push(pause(route.latency, op.device), waits));
            break;
          }
          op.route = builder_.route(orbit(route));
          op.seconds = route.latency;
          op.phase = phase_of(send.phase, op.seconds);
          ops.push_back(add_transfer(op, send, route.share, waits, since, by_route));
        }
      }
      first_op.push_back(static_cast<std::uint32_t>(ops.size()));
    }
  }

  // `op` has its route, and its latency in `seconds`.
  // `since`: the op from which the latency of a posted send runs.
  std::uint32_t add_transfer(Op op, const Send& send, double share,
                             std::span<const std::uint32_t> waits,
                             std::optional<std::uint32_t> since, LatestByRoute& by_route) {
    op.kind = OpKind::transfer;
    op.bytes = kTemplateBytes * (send.share * share);
    op.flows = share;
    if (!send.posted || op.seconds == Seconds{}) return merge_or_push(op, waits, by_route);
    std::vector<std::uint32_t> all(waits.begin(), waits.end());
    all.push_back(ops_.delay(op.seconds, op.device, since));
    op.seconds = Seconds{};
    return merge_or_push(op, all, by_route);
  }

  // Identical orbits (same phase, route, waits) become one transfer of more flows.
  std::uint32_t merge_or_push(const Op& op, std::span<const std::uint32_t> waits,
                              LatestByRoute& by_route) {
    const auto route = static_cast<std::uint32_t>(op.route);
    if (const std::uint32_t* at = by_route.find(route)) {
      Op same = ops_.op(*at);
      const std::span<const std::uint32_t> its = ops_.waits_for(*at);
      // Equal bytes per flow: the merged transfer ends when each of them would.
      const double ratio = (same.bytes / same.flows) / (op.bytes / op.flows);
      const bool alike = std::abs(ratio - 1) <= 1e-12;
      if (std::equal(its.begin(), its.end(), waits.begin(), waits.end()) && alike) {
        same.flows += op.flows;
        same.bytes = op.bytes * (same.flows / op.flows);
        ops_.replace(*at, same);
        return *at;
      }
    }
    const std::uint32_t index = ops_.push(op, waits);
    by_route.set(route, index);
    return index;
  }

  GraphBuilder& builder_;
  const Cluster& cluster_;
  const CollectivePlan& plan_;
  PlacedPlan placed_;
  bool one_way_to_neighbours_ = true;  // that of hop(): no graph, and no detours
  TemplateOps ops_;
  bool unlike_ =
      false;  // links differ: every send is a phase of its own, never later than in truth
  std::uint32_t unlike_phases_ = 0;
  std::map<std::pair<int, Seconds>, std::uint32_t> phases_;
  std::pair<std::pair<int, Seconds>, std::uint32_t> last_phase_{{-1, Seconds{}}, 0};
};

}  // namespace

CollectiveTemplate flow_template(GraphBuilder& builder, const CollectivePlan& plan,
                                 const GroupNet& net) {
  return FlowMaker(builder, plan, net).make();
}

}  // namespace shardsim
