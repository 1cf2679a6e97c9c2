// Templates of the fluid grain: the sends of a plan added up by stage and link.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/must.h"
#include "plan/collective_template.h"
#include "plan/link_loads.h"
#include "plan/template_parts.h"

namespace shardsim {

namespace {

struct StageLoad {
  std::map<std::uint32_t, double> load;  // by link orbit, share of V, of its busiest link
  Seconds latency;                       // of the longest chain of sends within the stage
  Seconds posted;                        // from the start of the collective, of posted sends
};

class FluidMaker {
 public:
  FluidMaker(GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net)
      : builder_(builder),
        cluster_(builder.cluster()),
        plan_(plan),
        placed_(builder, plan, net, Walks::in_stretches) {}

  CollectiveTemplate make(std::optional<Seconds> alone, Bytes bytes) {
    const std::vector<DeviceId> bases = placed_.bases();
    std::vector<std::vector<StageLoad>> stages;  // [bases]
    for (const DeviceId base : bases) stages.push_back(loads(base, alone.has_value()));
    const Seconds busy = alone ? busiest(stages, bytes) : Seconds{};
    for (std::size_t g = 0; g < bases.size(); ++g) {
      const std::vector<std::uint32_t> members = placed_.members(bases[g]);
      ops_.open_group(members);
      std::vector<std::uint32_t> before;  // the join that ends the stage before
      std::uint32_t phase = 0;
      if (alone) stages[g][0].latency = std::max(Seconds{}, *alone - busy);
      for (const StageLoad& stage : stages[g]) add_stage(stage, members.front(), phase++, before);
      ops_.close_group();
    }
    return ops_.take(static_cast<std::uint32_t>(alone ? 1 : plan_.stages()));
  }

 private:
  void add_stage(const StageLoad& stage, std::uint32_t device, std::uint32_t phase,
                 std::vector<std::uint32_t>& before) {
    std::vector<std::uint32_t> sent;
    if (stage.posted > Seconds{}) before.push_back(ops_.delay(stage.posted, device));
    for (const auto& [link, share] : stage.load) {
      Op op;
      op.kind = OpKind::transfer;
      op.device = device;
      op.phase = phase;
      op.route = builder_.route({link});
      op.seconds = stage.latency;
      op.bytes = kTemplateBytes * share;
      sent.push_back(ops_.push(op, before));
    }
    if (sent.empty() && stage.latency > Seconds{}) {
      sent.push_back(ops_.push(pause(stage.latency, device), before));
    }
    Op join;
    join.device = device;
    join.phase = phase;
    before = {ops_.push(join, sent)};
  }

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
      auto& [one, sum] = orbits[placed_.fold().orbit_of(cluster_, link)];
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
    return static_cast<double>(placed_.fold().stabiliser(cluster_, port)) /
           builder_.fold().stabiliser(cluster_, port);
  }

  // Of every stage, or of all as one (then without its latency).
  std::vector<StageLoad> loads(DeviceId base, bool as_one) {
    std::vector<StageLoad> stages(as_one ? 1 : static_cast<std::size_t>(plan_.stages()));
    LinkLoads links(cluster_, placed_.fold());  // of the stage at hand, not of each
    std::size_t at_hand = 0;
    std::vector<Seconds> done(plan_.sends.size());  // of latency alone
    for (const std::uint32_t i : by_stage()) {
      const Send& send = plan_.sends[i];
      const std::size_t s = as_one ? 0 : static_cast<std::size_t>(send.stage);
      if (s != at_hand) {
        links.settle();
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
        for (const Route& route : placed_.routes_of(send, base)) {
          if (send.posted && !as_one) stage.posted = std::max(stage.posted, route.latency);
          if (!send.posted) done[i] = std::max(done[i], start + route.latency);
          if (send.share == 0) break;
          links.add(route, send.share * route.share);
        }
      }
      stage.latency = std::max(stage.latency, done[i]);
    }
    for (std::size_t s = stages.size(); s-- > 1;) stages[s].latency -= stages[s - 1].latency;
    links.settle();
    stages[at_hand].load = busiest_of_orbits(links);
    return stages;
  }

  // Time of the busiest link, which groups may share, when V is `bytes`. Of one stage each.
  Seconds busiest(const std::vector<std::vector<StageLoad>>& groups, Bytes bytes) const {
    std::map<std::uint32_t, double> load;
    for (const std::vector<StageLoad>& stages : groups)
      for (const auto& [link, share] : stages[0].load) load[link] += share;
    Seconds most;
    for (const auto& [link, share] : load)
      most = std::max(most, share * bytes / builder_.link(link).bandwidth);
    return most;
  }

  GraphBuilder& builder_;
  const Cluster& cluster_;
  const CollectivePlan& plan_;
  PlacedPlan placed_;
  TemplateOps ops_;
};

}  // namespace

CollectiveTemplate fluid_template(GraphBuilder& builder, const CollectivePlan& plan,
                                  const GroupNet& net, std::optional<Seconds> alone, Bytes bytes) {
  return FluidMaker(builder, plan, net).make(alone, bytes);
}

}  // namespace shardsim
