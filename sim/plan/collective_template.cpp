#include "plan/collective_template.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "base/must.h"
#include "plan/routes.h"

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

bool same_but_phase(const Op& a, const Op& b) {
  return a.kind == b.kind && a.device == b.device && a.origin == b.origin && a.route == b.route &&
         a.seconds == b.seconds && a.bytes == b.bytes && a.flows == b.flows;
}

// Numbers of ops, the phase left out; one is compared with the last that had its route.
class Interned {
 public:
  explicit Interned(std::vector<Op>& like) : like_(like) {}

  std::uint32_t number(Op op) {
    op.phase = 0;
    // Ops without a route (kNoRoute + 1 = 0) come first.
    const auto route = static_cast<std::size_t>(static_cast<std::uint32_t>(op.route) + 1u);
    if (route >= last_.size()) last_.resize(route + 1, kNothing);
    std::uint32_t& last = last_[route];
    if (last == kNothing || !same_but_phase(like_[last], op)) {
      last = static_cast<std::uint32_t>(like_.size());
      like_.push_back(op);
    }
    return last;
  }

 private:
  static constexpr std::uint32_t kNothing = 0xffffffffu;
  std::vector<Op>& like_;
  std::vector<std::uint32_t> last_;  // [routes + 1]
};

// Stamps one plan into a template, group class by group class.
class TemplateMaker {
 public:
  TemplateMaker(GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net)
      : builder_(builder),
        cluster_(builder.cluster()),
        plan_(plan),
        plan_fold_(builder.fold()),
        router_(builder.cluster()) {
    unlike_ = net.graph != nullptr || net.uneven;
    one_way_to_neighbours_ = cluster_.cables.empty() &&
                             std::none_of(cluster_.changed.begin(), cluster_.changed.end(),
                                          [](const auto& link) { return link.second.missing; });
    for (std::size_t i = 0; i < net.axes.size(); ++i) {
      const std::vector<int>& parts = net.axes[i].axes;
      neighbour_axis_.push_back(parts.back());
      int minor = 1;
      for (const int part : parts) {
        axes_.push_back(part);
        sizes_.push_back(cluster_.axes[static_cast<std::size_t>(part)].size);
        if (part != parts.front()) minor *= sizes_.back();
      }
      plan_fold_.step[static_cast<std::size_t>(parts.front())] = plan_.fold[i] / minor;
    }
  }

  CollectiveTemplate flow(UnlikePhases phases) {
    unlike_ = unlike_ && phases == UnlikePhases::of_sends;
    for (const DeviceId base : bases()) {
      CollectiveTemplate::Group group = open_group(base);
      add_sends(base);
      group.last = static_cast<std::uint32_t>(made_.ops.size());
      made_.groups.push_back(std::move(group));
    }
    made_.phases = unlike_ ? unlike_phases_ : static_cast<std::uint32_t>(phases_.size());
    return finish();
  }

  CollectiveTemplate fluid(std::optional<Seconds> alone, Bytes bytes) {
    for (const DeviceId base : bases()) {
      CollectiveTemplate::Group group = open_group(base);
      delays_.clear();
      std::vector<std::uint32_t> before;  // the join that ends the stage before
      std::uint32_t phase = 0;
      std::vector<StageLoad> stages = loads(base, alone.has_value());
      if (alone) stages[0].latency = std::max(Seconds{}, *alone - busiest(stages[0], bytes));
      for (const StageLoad& stage : stages) {
        std::vector<std::uint32_t> sent;
        if (stage.posted > Seconds{}) before.push_back(delay(stage.posted, group.members.front()));
        for (const auto& [link, share] : stage.load) {
          Op op;
          op.kind = OpKind::transfer;
          op.device = group.members.front();
          op.phase = phase;
          op.route = builder_.route({link});
          op.seconds = stage.latency;
          op.bytes = kTemplateBytes * share;
          sent.push_back(push(op, before));
        }
        if (sent.empty() && stage.latency > Seconds{}) {
          sent.push_back(push(pause(stage.latency, group.members.front()), before));
        }
        Op join;
        join.device = group.members.front();
        join.phase = phase++;
        before = {push(join, sent)};
      }
      group.last = static_cast<std::uint32_t>(made_.ops.size());
      made_.groups.push_back(std::move(group));
    }
    made_.phases = static_cast<std::uint32_t>(alone ? 1 : plan_.stages());
    return finish();
  }

 private:
  // One device of each class of groups: rank 0 of the group, with the other coordinates folded.
  std::vector<DeviceId> bases() const {
    std::vector<DeviceId> result;
    for (const DeviceId device : builder_.fold().representatives(cluster_)) {
      const std::vector<int> at = cluster_.coordinates(device);
      const bool rank0 = std::all_of(axes_.begin(), axes_.end(),
                                     [&](int a) { return at[static_cast<std::size_t>(a)] == 0; });
      if (rank0) result.push_back(device);
    }
    return result;
  }

  DeviceId device_of(DeviceId base, int rank) const {
    std::vector<int> at = cluster_.coordinates(base);
    const std::vector<int> in_group = rank_coordinates(sizes_, rank);
    for (std::size_t i = 0; i < axes_.size(); ++i)
      at[static_cast<std::size_t>(axes_[i])] = in_group[i];
    return cluster_.device(at);
  }

  CollectiveTemplate::Group open_group(DeviceId base) {
    CollectiveTemplate::Group group;
    group.first = static_cast<std::uint32_t>(made_.ops.size());
    for (const int rank : plan_.representatives()) {
      group.members.push_back(builder_.fold().class_of(cluster_, device_of(base, rank)));
    }
    std::sort(group.members.begin(), group.members.end());
    group.members.erase(std::unique(group.members.begin(), group.members.end()),
                        group.members.end());
    return group;
  }

  std::vector<Route> routes_of(const Send& send, DeviceId from, DeviceId base) {
    if (send.switch_adds) return {through_switch(cluster_, from, axes_[0])};
    const DeviceId to = device_of(base, send.to);
    if (send.axis < 0) return router_.routes(from, to);
    const int axis = neighbour_axis_[static_cast<std::size_t>(send.axis)];
    return router_.neighbour(from, to, axis, send.direction);
  }

  std::vector<std::uint32_t> orbit(const Route& route) const {
    std::vector<std::uint32_t> links;
    links.reserve(route.links.size());
    for (const LinkId link : route.links) links.push_back(builder_.link_index(link));
    return links;
  }

  std::uint32_t push(const Op& op, std::span<const std::uint32_t> waits) {
    made_.ops.push_back({interned_.number(op), op.phase});
    made_.waits.insert(made_.waits.end(), waits.begin(), waits.end());
    made_.wait_offset.push_back(static_cast<std::uint32_t>(made_.waits.size()));
    return static_cast<std::uint32_t>(made_.ops.size() - 1);
  }

  static Op pause(Seconds time, std::uint32_t device) {
    Op op;
    op.kind = OpKind::delay;
    op.device = device;
    op.seconds = time;
    return op;
  }

  // The op that passes `latency` after op `since`, or after the collective's start; one for each
  // and group.
  std::uint32_t delay(Seconds latency, std::uint32_t device,
                      std::optional<std::uint32_t> since = {}) {
    const auto [at, fresh] = delays_.try_emplace({since.value_or(kStart), latency}, 0u);
    if (!fresh) return at->second;
    std::vector<std::uint32_t> waits;
    if (since) waits.push_back(*since);
    return at->second = push(pause(latency, device), waits);
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
    made.hops.resize(ranks * neighbour_axis_.size() * 2);
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      made.classes.push_back(builder_.fold().class_of(cluster_, device_of(base, rank)));
    }
    return made;
  }

  const Hops& hop_of(const Send& send, DeviceId base, Senders& all) {
    const auto rank = static_cast<std::size_t>(send.from);
    const auto axis = static_cast<std::size_t>(send.axis);
    Hops& known =
        all.hops[(rank * neighbour_axis_.size() + axis) * 2 + (send.direction > 0 ? 1 : 0)];
    if (!known.known) {
      const Route route =
          hop(cluster_, device_of(base, send.from), neighbour_axis_[axis], send.direction);
      known = {true, builder_.route(orbit(route)), route.latency};
    }
    return known;
  }

  void add_sends(DeviceId base) {
    delays_.clear();
    std::vector<std::uint32_t> ops, first_op = {0};  // CSR: ops of send i; split sends make several
    LatestByRoute by_route;                          // of the current phase
    Senders all = senders(base);
    std::vector<std::uint32_t> waits;
    int phase = -1;
    made_.ops.reserve(made_.ops.size() + plan_.sends.size());
    made_.waits.reserve(made_.waits.size() + plan_.after.size());
    made_.wait_offset.reserve(made_.wait_offset.size() + plan_.sends.size());
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
        ops.push_back(push(op, waits));
      } else if (one_way_to_neighbours_ && send.axis >= 0 && send.share > 0) {
        const Hops& known = hop_of(send, base, all);
        op.route = known.route;
        op.seconds = known.latency;
        op.phase = phase_of(send.phase, op.seconds);
        ops.push_back(add_transfer(op, send, 1.0, waits, since, by_route));
      } else {
        const DeviceId from = device_of(base, send.from);
        for (const Route& route : routes_of(send, from, base)) {
          if (send.share == 0) {  // a message without bytes
            ops.push_back(push(pause(route.latency, op.device), waits));
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
    all.push_back(delay(op.seconds, op.device, since));
    op.seconds = Seconds{};
    return merge_or_push(op, all, by_route);
  }

  // Identical orbits (same phase, route, waits) become one transfer of more flows.
  std::uint32_t merge_or_push(const Op& op, std::span<const std::uint32_t> waits,
                              LatestByRoute& by_route) {
    const auto route = static_cast<std::uint32_t>(op.route);
    if (const std::uint32_t* at = by_route.find(route)) {
      Op same = made_.op(*at);
      const std::span<const std::uint32_t> its(made_.waits.data() + made_.wait_offset[*at],
                                               made_.wait_offset[*at + 1] - made_.wait_offset[*at]);
      // Equal bytes per flow: the merged transfer ends when each of them would.
      const double ratio = (same.bytes / same.flows) / (op.bytes / op.flows);
      const bool alike = std::abs(ratio - 1) <= 1e-12;
      if (std::equal(its.begin(), its.end(), waits.begin(), waits.end()) && alike) {
        same.flows += op.flows;
        same.bytes = op.bytes * (same.flows / op.flows);
        made_.ops[*at].like = interned_.number(same);
        return *at;
      }
    }
    const std::uint32_t index = push(op, waits);
    by_route.set(route, index);
    return index;
  }

  // Shares of V by link, as the sends of the plan's own fold load it, which may be finer than the
  // builder's.
  class LinkLoads {
   public:
    // Of so many links; a full mesh of 16,384 has a quarter of a billion, few of them loaded.
    explicit LinkLoads(std::size_t links) : dense_(links <= kMostDense ? links : 0, 0.0) {}

    void add(LinkId link, double share) {
      const auto at = static_cast<std::size_t>(link);
      double& sum = dense_.empty() ? sparse_[link] : dense_[at];
      if (sum == 0) loaded_.push_back(link);
      sum += share;
    }
    double of(LinkId link) const {
      return dense_.empty() ? sparse_.at(link) : dense_[static_cast<std::size_t>(link)];
    }
    const std::vector<LinkId>& loaded() const { return loaded_; }
    void clear() {
      if (!dense_.empty()) {
        for (const LinkId link : loaded_) dense_[static_cast<std::size_t>(link)] = 0;
      }
      sparse_.clear();
      loaded_.clear();
    }

   private:
    static constexpr std::size_t kMostDense = 1u << 22;
    std::vector<double> dense_;  // [links]
    std::unordered_map<LinkId, double> sparse_;
    std::vector<LinkId> loaded_;
  };

  // Sends stage by stage; what a send waits for comes before it.
  std::vector<std::uint32_t> by_stage() const {
    std::vector<std::uint32_t> order(plan_.sends.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan_.sends[a].stage < plan_.sends[b].stage;
    });
    return order;
  }

  // By link orbit of the builder's fold: what the busiest of its links carries.
  std::map<std::uint32_t, double> busiest_of_orbits(const LinkLoads& links) const {
    std::unordered_map<std::uint32_t, std::pair<LinkId, double>> orbits;  // of the plan's fold
    for (const LinkId link : links.loaded()) {
      auto& [one, sum] = orbits[plan_fold_.orbit_of(cluster_, link)];
      one = link;
      sum += links.of(link) * plan_orbits_on(link);
    }
    std::map<std::uint32_t, double> load;
    for (const auto& [orbit, link_and_share] : orbits) {
      double& most = load[builder_.link_index(link_and_share.first)];
      most = std::max(most, link_and_share.second);
    }
    return load;
  }

  // How often an orbit under the plan's fold loads the link, for each time that one under the
  // builder's does (the builder divides the bandwidth by the latter).
  double plan_orbits_on(LinkId link) const {
    if (static_cast<std::size_t>(link) >= cluster_.port_links()) return 1;
    const Port& port = cluster_.port(link);
    return static_cast<double>(plan_fold_.stabiliser(cluster_, port)) /
           builder_.fold().stabiliser(cluster_, port);
  }

  struct StageLoad {
    std::map<std::uint32_t, double> load;  // by link orbit, share of V, of its busiest link
    Seconds latency;                       // of the longest chain of sends within the stage
    Seconds posted;                        // from the start of the collective, of posted sends
  };

  // Of every stage, or of all as one (then without its latency).
  std::vector<StageLoad> loads(DeviceId base, bool as_one) {
    std::vector<StageLoad> stages(as_one ? 1 : static_cast<std::size_t>(plan_.stages()));
    LinkLoads links(cluster_.link_count());  // of the stage at hand: each would be stages x links
    std::size_t at_hand = 0;
    std::vector<Seconds> done(plan_.sends.size());  // of latency alone
    for (const std::uint32_t i : by_stage()) {
      const Send& send = plan_.sends[i];
      const std::size_t s = as_one ? 0 : static_cast<std::size_t>(send.stage);
      if (s != at_hand) {
        stages[at_hand].load = busiest_of_orbits(links);
        links.clear();
        at_hand = s;
      }
      StageLoad& stage = stages[s];
      Seconds start;
      for (const std::uint32_t w : plan_.waits_for(i)) {
        must(plan_.sends[w].stage <= send.stage, "stages follow each other");
        start = std::max(start, done[w]);
      }
      done[i] = start;
      if (!send.is_join()) {
        for (const Route& route : routes_of(send, device_of(base, send.from), base)) {
          if (send.posted && !as_one) stage.posted = std::max(stage.posted, route.latency);
          if (!send.posted) done[i] = std::max(done[i], start + route.latency);
          if (send.share == 0) break;
          for (const LinkId link : route.links) {
            links.add(link, send.share * route.share);
          }
        }
      }
      stage.latency = std::max(stage.latency, done[i]);
    }
    for (std::size_t s = stages.size(); s-- > 1;) stages[s].latency -= stages[s - 1].latency;
    stages[at_hand].load = busiest_of_orbits(links);
    return stages;
  }

  // Time of the busiest link when V is `bytes`.
  Seconds busiest(const StageLoad& stage, Bytes bytes) const {
    Seconds most;
    for (const auto& [link, share] : stage.load) {
      most = std::max(most, share * bytes / builder_.link(link).bandwidth);
    }
    return most;
  }

  CollectiveTemplate finish() {
    made_.awaited.assign(made_.ops.size(), false);
    for (const std::uint32_t w : made_.waits) made_.awaited[w] = true;
    return std::move(made_);
  }

  GraphBuilder& builder_;
  const Cluster& cluster_;
  const CollectivePlan& plan_;
  std::vector<int> axes_;            // of the cluster, parts one by one
  std::vector<int> sizes_;           // theirs
  std::vector<int> neighbour_axis_;  // [group axes] the part along which neighbours lie
  Fold plan_fold_;
  Router router_;
  bool one_way_to_neighbours_ = true;  // that of hop(): no graph, and no detours
  CollectiveTemplate made_;
  Interned interned_{made_.like};
  bool unlike_ = false;  // single links differ: every send is a phase of its own
  std::uint32_t unlike_phases_ = 0;
  std::map<std::pair<int, Seconds>, std::uint32_t> phases_;
  std::pair<std::pair<int, Seconds>, std::uint32_t> last_phase_{{-1, Seconds{}}, 0};
  static constexpr std::uint32_t kStart = 0xffffffffu;  // no op: the collective's start
  std::map<std::pair<std::uint32_t, Seconds>, std::uint32_t> delays_;  // by op and latency
};

}  // namespace

Op CollectiveTemplate::op(std::size_t index) const {
  Op op = like[ops[index].like];
  op.phase = ops[index].phase;
  return op;
}

CollectiveTemplate flow_template(GraphBuilder& builder, const CollectivePlan& plan,
                                 const GroupNet& net, UnlikePhases phases) {
  return TemplateMaker(builder, plan, net).flow(phases);
}

CollectiveTemplate fluid_template(GraphBuilder& builder, const CollectivePlan& plan,
                                  const GroupNet& net, std::optional<Seconds> alone, Bytes bytes) {
  return TemplateMaker(builder, plan, net).fluid(alone, bytes);
}

}  // namespace shardsim
