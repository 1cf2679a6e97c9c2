#include "plan/lower_collective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/file.h"
#include "plan/permute.h"
#include "plan/routes.h"

namespace shardsim {

namespace {

// V in a template.
constexpr Bytes kWhole{1};

// The step of the fold along each axis of the group. Minor parts of a grid's axis are never folded
// (Cluster::uniform), so the steps of parts put together multiply.
std::vector<int> fold_of(const GroupNet& net, const Fold& fold) {
  std::vector<int> steps;
  for (const GroupAxis& axis : net.axes) {
    int step = 1;
    for (const int part : axis.axes) step *= fold.step[static_cast<std::size_t>(part)];
    steps.push_back(step);
  }
  return steps;
}

// Stamps one plan into a template, group class by group class.
class TemplateMaker {
 public:
  TemplateMaker(GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net)
      : builder_(builder), cluster_(builder.cluster()), plan_(plan) {
    for (const GroupAxis& axis : net.axes) {
      neighbour_axis_.push_back(axis.axes.back());
      for (const int part : axis.axes) {
        axes_.push_back(part);
        sizes_.push_back(cluster_.axes[static_cast<std::size_t>(part)].size);
      }
    }
  }

  CollectiveTemplate flow() {
    for (const DeviceId base : bases()) {
      CollectiveTemplate::Group group = open_group(base);
      add_sends(base);
      group.last = static_cast<std::uint32_t>(made_.ops.size());
      made_.groups.push_back(std::move(group));
    }
    made_.phases = static_cast<std::uint32_t>(phases_.size());
    return finish();
  }

  // Per class of groups, stage and link orbit one transfer with the summed load, each after the
  // latency of the stage's longest chain of sends.
  CollectiveTemplate fluid() {
    for (const DeviceId base : bases()) {
      CollectiveTemplate::Group group = open_group(base);
      delays_.clear();
      std::vector<std::uint32_t> before;  // the join that ends the stage before
      std::uint32_t phase = 0;
      for (const StageLoad& stage : loads(base)) {
        std::vector<std::uint32_t> sent;
        if (stage.posted > Seconds{}) before.push_back(delay(stage.posted, group.members.front()));
        for (const auto& [link, share] : stage.load) {
          Op op;
          op.kind = OpKind::transfer;
          op.device = group.members.front();
          op.phase = phase;
          op.route = builder_.route({link});
          op.seconds = stage.latency;
          op.bytes = kWhole * share;
          sent.push_back(push(op, before));
        }
        Op join;
        join.device = group.members.front();
        join.phase = phase++;
        before = {push(join, sent)};
      }
      group.last = static_cast<std::uint32_t>(made_.ops.size());
      made_.groups.push_back(std::move(group));
    }
    made_.phases = static_cast<std::uint32_t>(plan_.stages());
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
    return group;
  }

  std::vector<Route> routes_of(const Send& send, DeviceId from, DeviceId base) const {
    if (send.axis >= 0) {
      const int axis = neighbour_axis_[static_cast<std::size_t>(send.axis)];
      return {hop(cluster_, from, axis, send.direction)};
    }
    if (send.switch_adds) return {through_switch(cluster_, from, axes_[0])};
    return routes(cluster_, from, device_of(base, send.to));
  }

  std::vector<std::uint32_t> orbit(const Route& route) const {
    std::vector<std::uint32_t> links;
    links.reserve(route.links.size());
    for (const LinkId link : route.links) links.push_back(builder_.link_index(link));
    return links;
  }

  std::uint32_t push(const Op& op, std::span<const std::uint32_t> waits) {
    made_.ops.push_back(op);
    made_.waits.insert(made_.waits.end(), waits.begin(), waits.end());
    made_.wait_offset.push_back(static_cast<std::uint32_t>(made_.waits.size()));
    return static_cast<std::uint32_t>(made_.ops.size() - 1);
  }

  // Sends of one phase and one latency start together.
  std::uint32_t phase_of(int phase, Seconds latency) {
    const auto next = static_cast<std::uint32_t>(phases_.size());
    return phases_.try_emplace({phase, latency}, next).first->second;
  }

  // The op that passes `latency` after the collective's start, one per latency and group.
  std::uint32_t delay(Seconds latency, std::uint32_t device) {
    const auto at = delays_.find(latency);
    if (at != delays_.end()) return at->second;
    Op op;
    op.kind = OpKind::delay;
    op.device = device;
    op.seconds = latency;
    return delays_[latency] = push(op, {});
  }

  void add_sends(DeviceId base) {
    delays_.clear();
    std::vector<std::vector<std::uint32_t>> ops_of(plan_.sends.size());  // split sends make several
    std::unordered_map<std::uint32_t, std::uint32_t> by_route;           // of the current phase
    int phase = -1;
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      if (i % 4096 == 0) throw_if_interrupted();
      const Send& send = plan_.sends[i];
      std::vector<std::uint32_t> waits;
      for (const std::uint32_t w : plan_.waits_for(i)) {
        waits.insert(waits.end(), ops_of[w].begin(), ops_of[w].end());
      }
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      const DeviceId from = device_of(base, send.from);
      Op op;
      op.device = builder_.fold().class_of(cluster_, from);
      op.phase = phase_of(send.phase, Seconds{});
      if (send.is_join()) {
        ops_of[i] = {push(op, waits)};
        continue;
      }
      if (send.phase != phase) by_route.clear();
      phase = send.phase;
      op.kind = OpKind::transfer;
      for (const Route& route : routes_of(send, from, base)) {
        std::vector<std::uint32_t> all = waits;
        op.seconds = route.latency;
        op.phase = phase_of(send.phase, route.latency);
        if (send.posted && route.latency > Seconds{}) {
          op.seconds = Seconds{0};
          all.push_back(delay(route.latency, op.device));
        }
        op.route = builder_.route(orbit(route));
        op.bytes = kWhole * (send.share * route.share);
        op.flows = route.share;
        ops_of[i].push_back(merge_or_push(op, all, by_route));
      }
    }
  }

  // Identical orbits (same phase, route, waits) become one transfer of more flows.
  std::uint32_t merge_or_push(const Op& op, std::span<const std::uint32_t> waits,
                              std::unordered_map<std::uint32_t, std::uint32_t>& by_route) {
    const auto route = static_cast<std::uint32_t>(op.route);
    const auto at = by_route.find(route);
    if (at != by_route.end()) {
      Op& same = made_.ops[at->second];
      const std::span<const std::uint32_t> its(
          made_.waits.data() + made_.wait_offset[at->second],
          made_.wait_offset[at->second + 1] - made_.wait_offset[at->second]);
      // Equal bytes per flow: the merged transfer ends when each of them would.
      const double ratio = (same.bytes / same.flows) / (op.bytes / op.flows);
      const bool alike = std::abs(ratio - 1) <= 1e-12;
      if (std::equal(its.begin(), its.end(), waits.begin(), waits.end()) && alike) {
        same.flows += op.flows;
        same.bytes = op.bytes * (same.flows / op.flows);
        return at->second;
      }
    }
    const std::uint32_t index = push(op, waits);
    by_route[route] = index;
    return index;
  }

  struct StageLoad {
    std::map<std::uint32_t, double> load;  // by link orbit, share of V
    Seconds latency;                       // of the longest chain of sends within the stage
    Seconds posted;                        // from the start of the collective, of posted sends
  };

  std::vector<StageLoad> loads(DeviceId base) const {
    std::vector<StageLoad> stages(static_cast<std::size_t>(plan_.stages()));
    std::vector<Seconds> done(plan_.sends.size());  // of latency alone
    for (std::size_t i = 0; i < plan_.sends.size(); ++i) {
      const Send& send = plan_.sends[i];
      StageLoad& stage = stages[static_cast<std::size_t>(send.stage)];
      Seconds start;
      for (const std::uint32_t w : plan_.waits_for(i)) start = std::max(start, done[w]);
      done[i] = start;
      if (!send.is_join()) {
        for (const Route& route : routes_of(send, device_of(base, send.from), base)) {
          if (send.posted) stage.posted = std::max(stage.posted, route.latency);
          if (!send.posted) done[i] = std::max(done[i], start + route.latency);
          for (const std::uint32_t link : orbit(route))
            stage.load[link] += send.share * route.share;
        }
      }
      stage.latency = std::max(stage.latency, done[i]);
    }
    for (std::size_t s = stages.size(); s-- > 1;) stages[s].latency -= stages[s - 1].latency;
    return stages;
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
  CollectiveTemplate made_;
  std::map<std::pair<int, Seconds>, std::uint32_t> phases_;
  std::map<Seconds, std::uint32_t> delays_;
};

}  // namespace

CollectiveCall call_of(const ShardedCollective& collective, const Mesh& mesh) {
  CollectiveCall call;
  call.ask.kind = collective.kind;
  call.ask.bytes = collective.bytes;
  for (const std::string& name : collective.axes) {
    const MeshAxis* axis = mesh.find(name);
    call.axes.insert(call.axes.end(), axis->axes.begin(), axis->axes.end());
  }
  if (collective.kind == Collective::collective_permute) {
    call.ask.targets = permutation(mesh, collective.axes, collective.before, collective.after);
  }
  return call;
}

Fold common_fold(const Cluster& cluster, std::span<const CollectiveCall> calls) {
  Fold fold = Fold::orbits(cluster);
  for (const CollectiveCall& call : calls) {
    if (call.ask.targets.empty()) continue;
    const GroupNet net = group_net(cluster, call.axes);
    const std::vector<int> steps = invariant_steps(net.sizes(), call.ask.targets);
    for (std::size_t i = 0; i < net.axes.size(); ++i) {
      int minor = 1;  // devices along the minor parts, which are not folded
      for (const int part : net.axes[i].axes) {
        minor *= cluster.axes[static_cast<std::size_t>(part)].size;
      }
      const auto major = static_cast<std::size_t>(net.axes[i].axes.front());
      minor /= cluster.axes[major].size;
      const int whole = std::lcm(steps[i], minor);
      fold.step[major] = std::lcm(fold.step[major], whole / minor);
    }
  }
  return fold;
}

const CollectiveTemplate& CollectiveLowering::find(const CollectiveCall& call) {
  const Key key{call.algorithm->name, call.ask.kind, call.axes, call.ask.shift, call.ask.targets};
  const auto at = templates_.find(key);
  if (at != templates_.end()) return at->second;
  const GroupNet net = group_net(builder_.cluster(), call.axes);
  const CollectivePlan plan = call.algorithm->plan(call.ask, net, fold_of(net, builder_.fold()));
  TemplateMaker maker(builder_, plan, net);
  const bool whole = grain_ == Grain::flow || plan.pipelined;
  return templates_.emplace(key, whole ? maker.flow() : maker.fluid())
      .first->second;
}

CollectiveLowering::Bracket CollectiveLowering::lower(const CollectiveCall& call,
                                                      std::uint32_t origin,
                                                      std::vector<OpId>& latest) {
  Bracket bracket;
  const bool nothing = call.ask.bytes == Bytes{} || call.algorithm == nullptr ||
                       group_net(builder_.cluster(), call.axes).ranks() == 1;
  if (nothing) {
    const OpId here = builder_.join(latest, 0, origin);
    std::fill(latest.begin(), latest.end(), here);
    return {{here}, {here}};
  }
  const CollectiveTemplate& made = find(call);
  const std::uint32_t first_phase = builder_.phases(made.phases);
  std::vector<OpId> waits;
  for (const CollectiveTemplate::Group& group : made.groups) {
    std::vector<OpId> arrive;
    for (const std::uint32_t member : group.members) arrive.push_back(latest[member]);
    const OpId begin = builder_.join(std::move(arrive), group.members.front(), origin);
    const auto offset = static_cast<std::uint32_t>(begin) + 1 - group.first;
    std::vector<OpId> sinks;
    for (std::uint32_t i = group.first; i < group.last; ++i) {
      Op op = made.ops[i];
      op.origin = origin;
      op.phase += first_phase;
      op.bytes = call.ask.bytes * (op.bytes / kWhole);
      waits.clear();
      for (std::uint32_t w = made.wait_offset[i]; w < made.wait_offset[i + 1]; ++w) {
        waits.push_back(OpId{made.waits[w] + offset});
      }
      if (waits.empty()) waits.push_back(begin);
      const OpId id = builder_.add(op, waits);
      if (!made.awaited[i]) sinks.push_back(id);
    }
    const OpId end = builder_.join(std::move(sinks), group.members.front(), origin);
    for (const std::uint32_t member : group.members) latest[member] = end;
    bracket.begin.push_back(begin);
    bracket.end.push_back(end);
  }
  return bracket;
}

double estimated_ops(const CollectiveCall& call, const Cluster& cluster, const Fold& fold,
                     Grain grain) {
  const GroupNet net = group_net(cluster, call.axes);
  if (net.ranks() == 1 || call.algorithm == nullptr) return 1;
  double links = 1;  // of a routed message, on average
  const bool routed =
      call.ask.kind == Collective::all_to_all || call.ask.kind == Collective::collective_permute;
  for (const GroupAxis& axis : net.axes) {
    if (routed && axis.wiring != Wiring::star) links += axis.size / (2.0 * axis.ports);
  }
  const double messages = call.algorithm->sends_per_rank(call.ask, net) * fold.classes();
  return messages * (1 + links / 10) * (grain == Grain::fluid ? 0.1 : 1.0);
}

}  // namespace shardsim
