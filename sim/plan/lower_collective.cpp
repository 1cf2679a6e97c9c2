#include "plan/lower_collective.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "plan/algorithm_parts.h"
#include "plan/composite.h"
#include "plan/permute.h"
#include "plan/plan_time.h"
#include "plan/routed_load.h"

namespace shardsim {

namespace {

// Devices along the minor parts of a group axis, which are not folded (Cluster::uniform).
int minor_devices(const Cluster& cluster, const GroupAxis& axis) {
  int n = 1;
  for (std::size_t part = 1; part < axis.axes.size(); ++part) {
    n *= cluster.axes[static_cast<std::size_t>(axis.axes[part])].size;
  }
  return n;
}

// The smallest fold of the plan that is a multiple of the cluster's along the group's axes.
std::vector<int> plan_fold(const Cluster& cluster, const GroupNet& net, std::vector<int> admitted,
                           const Fold& fold) {
  for (std::size_t i = 0; i < net.axes.size(); ++i) {
    const auto major = static_cast<std::size_t>(net.axes[i].axes.front());
    admitted[i] = std::lcm(admitted[i], fold.step[major] * minor_devices(cluster, net.axes[i]));
  }
  return admitted;
}

}  // namespace

CollectiveCall call_of(const ShardedCollective& collective, const Mesh& mesh) {
  CollectiveCall call;
  call.ask.kind = collective.kind;
  call.ask.bytes = collective.bytes;
  for (const std::string& name : collective.axes) {
    const MeshAxis* axis = mesh.find(name);
    call.axes.insert(call.axes.end(), axis->axes.begin(), axis->axes.end());
  }
  const bool hop = collective.before.dims.empty();  // to a neighbour: it has no layouts
  if (collective.kind == Collective::collective_permute && !hop) {
    call.ask.targets = permutation(mesh, collective.axes, collective.before, collective.after);
  }
  return call;
}

Fold common_fold(const Cluster& cluster, std::span<const CollectiveCall> calls, Grain grain) {
  Fold fold = Fold::orbits(cluster);
  if (grain == Grain::fluid) return fold;
  for (const CollectiveCall& call : calls) {
    if (call.algorithm == nullptr) continue;
    const GroupNet net = group_net(cluster, call.axes);
    const std::vector<int> steps =
        plan_fold(cluster, net, call.algorithm->fold(call.ask, net), fold);
    for (std::size_t i = 0; i < net.axes.size(); ++i) {
      const auto major = static_cast<std::size_t>(net.axes[i].axes.front());
      fold.step[major] = steps[i] / minor_devices(cluster, net.axes[i]);
    }
  }
  return fold;
}

namespace {

bool all_one(std::span<const int> steps) {
  return std::all_of(steps.begin(), steps.end(), [](int step) { return step == 1; });
}

}  // namespace

namespace {

// The most flows that a phase has on one link become one.
void count_as_one(const GraphBuilder& builder, CollectiveTemplate& made) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> flows;  // by phase and link
  double most = 1;
  for (std::size_t i = 0; i < made.ops.size(); ++i) {
    const Op op = made.op(i);
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : builder.links_of(op.route))
      most = std::max(most, flows[{op.phase, link}] += op.flows);
  }
  for (Op& op : made.like) op.flows /= most;
}

}  // namespace

const CollectiveTemplate& CollectiveLowering::find(const CollectiveCall& call) {
  CollectiveAsk ask = call.ask;
  const AlgorithmRow& row = *call.algorithm;
  const bool scales = row.pieces == nullptr && row.parts == nullptr && grain_ == Grain::flow;
  const Key key{row.name,   ask.kind,    call.axes,
                ask.shift,  ask.targets, ask.root,
                ask.pieces, ask.window,  scales ? Bytes{} : ask.bytes};
  const auto at = templates_.find(key);
  if (at != templates_.end()) return at->second;
  const GroupNet net = group_net(builder_.cluster(), call.axes);
  std::vector<int> fold = row.fold(ask, net);
  const bool alike = all_one(fold);
  fold = plan_fold(builder_.cluster(), net, std::move(fold), builder_.fold());
  ask.merged = grain_ == Grain::fluid;
  if (ask.merged && !alike && row.pieces != nullptr) ask.pieces = 1;  // the same loads
  const CollectivePlan plan = row.plan(ask, net, fold);
  const bool every_send = grain_ == Grain::flow || plan.pipelined;
  std::optional<Seconds> alone;
  if (!every_send) {
    alone = plan_time(row, call.ask, builder_.cluster(), net);
    if (!alone && (!alike || plan.unordered)) alone = row.closed_form(call.ask, net).time;
  }
  CollectiveTemplate made = every_send ? flow_template(builder_, plan, net)
                                       : fluid_template(builder_, plan, net, alone, ask.bytes);
  if (sharing_ == Sharing::by_collectives) count_as_one(builder_, made);
  return templates_.emplace(key, std::move(made)).first->second;
}

namespace {

// The calls that a composite is made of.
std::vector<CollectiveCall> part_calls(const CollectiveCall& call, const GroupNet& net) {
  std::vector<CollectiveCall> calls;
  for (const Part& part : call.algorithm->parts(call.ask, net).parts) {
    CollectiveCall made{part.ask, part.row, {}};
    for (const int a : part.axes) {
      const std::vector<int>& axes = net.axes[static_cast<std::size_t>(a)].axes;
      made.axes.insert(made.axes.end(), axes.begin(), axes.end());
    }
    calls.push_back(std::move(made));
  }
  return calls;
}

}  // namespace

namespace {

bool among(std::span<const std::uint32_t> classes, std::uint32_t one) {
  return classes.empty() || std::find(classes.begin(), classes.end(), one) != classes.end();
}

// What a member of a group must wait for.
void arrivals(const CollectiveLowering::Where& where, std::uint32_t member,
              std::vector<OpId>& into) {
  into.push_back(where.latest[member]);
  if (where.stream != nullptr) into.push_back((*where.stream)[member]);
}

void leave(const CollectiveLowering::Where& where, std::uint32_t member, OpId end) {
  where.latest[member] = end;
  if (where.stream != nullptr) (*where.stream)[member] = end;
}

}  // namespace

CollectiveLowering::Bracket CollectiveLowering::lower_parts(const CollectiveCall& call,
                                                            std::uint32_t origin, Where where) {
  const GroupNet net = group_net(builder_.cluster(), call.axes);
  CollectivePlan nothing;
  nothing.sizes = net.sizes();
  nothing.fold =
      plan_fold(builder_.cluster(), net, every_translation(call.ask, net), builder_.fold());
  const std::vector<CollectiveTemplate::Group> groups =
      flow_template(builder_, nothing, net).groups;
  // All ranks of every group have come so far.
  const auto meet = [&] {
    std::vector<OpId> joins;
    for (const CollectiveTemplate::Group& group : groups) {
      if (!among(where.classes, group.members.front())) continue;
      std::vector<OpId> arrive;
      for (const std::uint32_t member : group.members) arrivals(where, member, arrive);
      joins.push_back(builder_.join(std::move(arrive), group.members.front(), origin));
      for (const std::uint32_t member : group.members) leave(where, member, joins.back());
    }
    return joins;
  };
  Bracket bracket{meet(), {}};
  for (const CollectiveCall& part : part_calls(call, net)) {
    lower(part, origin, where);
    bracket.end = meet();
  }
  return bracket;
}

CollectiveLowering::Bracket CollectiveLowering::lower(const CollectiveCall& call,
                                                      std::uint32_t origin, Where where) {
  Bracket bracket;
  const bool empty = call.ask.bytes == Bytes{} && call.ask.kind != Collective::barrier;
  const bool alone = std::all_of(call.axes.begin(), call.axes.end(), [&](int axis) {
    return builder_.cluster().axes[static_cast<std::size_t>(axis)].size == 1;
  });
  const bool nothing = empty || call.algorithm == nullptr || alone;
  if (nothing) {
    std::vector<OpId> arrive;
    const auto classes = static_cast<std::uint32_t>(where.latest.size());
    for (std::uint32_t c = 0; c < classes; ++c)
      if (among(where.classes, c)) arrivals(where, c, arrive);
    const std::uint32_t device = where.classes.empty() ? 0 : where.classes.front();
    const OpId here = builder_.join(std::move(arrive), device, origin);
    for (std::uint32_t c = 0; c < classes; ++c)
      if (among(where.classes, c)) leave(where, c, here);
    return {{here}, {here}};
  }
  if (grain_ == Grain::fluid && call.algorithm->parts != nullptr) {
    return lower_parts(call, origin, where);
  }
  const CollectiveTemplate& made = find(call);
  const std::uint32_t first_phase = builder_.phases(made.phases);
  if (where.classes.empty()) {
    builder_.reserve(made.ops.size() + 2 * made.groups.size(),
                     made.waits.size() + 2 * made.ops.size());
  }
  std::vector<OpId> waits;
  for (const CollectiveTemplate::Group& group : made.groups) {
    if (!among(where.classes, group.members.front())) continue;
    std::vector<OpId> arrive;
    for (const std::uint32_t member : group.members) arrivals(where, member, arrive);
    const OpId begin = builder_.join(std::move(arrive), group.members.front(), origin);
    const auto offset = static_cast<std::uint32_t>(begin) + 1 - group.first;
    std::vector<OpId> sinks;
    for (std::uint32_t i = group.first; i < group.last; ++i) {
      Op op = made.op(i);
      op.origin = origin;
      op.phase += first_phase;
      op.bytes = call.ask.bytes * (op.bytes / kTemplateBytes);
      waits.clear();
      for (std::uint32_t w = made.wait_offset[i]; w < made.wait_offset[i + 1]; ++w) {
        waits.push_back(OpId{made.waits[w] + offset});
      }
      if (waits.empty()) waits.push_back(begin);
      const OpId id = builder_.add(op, waits);
      if (!made.awaited[i]) sinks.push_back(id);
    }
    const OpId end = builder_.join(std::move(sinks), group.members.front(), origin);
    for (const std::uint32_t member : group.members) leave(where, member, end);
    bracket.begin.push_back(begin);
    bracket.end.push_back(end);
  }
  return bracket;
}

double link_ops(const Cluster& cluster, const Fold& fold, Grain grain) {
  // What is not folded has links of its own, 2.2 KB each with all that is kept of one.
  if (grain == Grain::flow || fold.classes() == 1) return 0;
  return 10.0 * fold.classes() * static_cast<double>(cluster.ports.size());
}

double estimated_ops(const CollectiveCall& call, const Cluster& cluster, const Fold& fold,
                     Grain grain, double of_links) {
  const GroupNet net = group_net(cluster, call.axes);
  if (net.ranks() == 1 || call.algorithm == nullptr) return 1;
  if (grain == Grain::fluid && call.algorithm->parts != nullptr) {
    double ops = 0;
    for (const CollectiveCall& part : part_calls(call, net)) {
      ops += estimated_ops(part, cluster, fold, grain, of_links);
    }
    return ops;
  }
  CollectiveAsk ask = call.ask;
  double classes = fold.classes();
  double weight = 1;
  if (grain == Grain::fluid) {
    weight = 0.1;
    ask.merged = true;
    if (call.algorithm->pieces != nullptr) ask.pieces = 1;
    if (!all_one(call.algorithm->fold(ask, net))) {
      classes = std::max(classes, static_cast<double>(net.ranks()));
    }
  }
  // Of a routed message, on average; the fluid grain adds up whole stretches of alike ones.
  double links = 1;
  const bool one_by_one = grain == Grain::flow || !cluster.changed.empty();
  const bool routed = ask.kind == Collective::all_to_all || ask.kind == Collective::gather ||
                      ask.kind == Collective::scatter || ask.kind == Collective::collective_permute;
  for (const GroupAxis& axis : net.axes) {
    if (routed && one_by_one && !star(net) && net.graph == nullptr)
      links += axis.size / (2.0 * axis.ports);
  }
  double messages = call.algorithm->sends_per_rank(ask, net) * classes;
  if (net.graph != nullptr) {
    using Pairs = RoutedLoads::Pairs;
    messages *= RoutedLoads(net).mean_paths(routed ? Pairs::any : Pairs::next);
  }
  // Measured: a message over one link is 1.1 operations, and a sixth of one for each further link.
  const double ops = messages * (1.1 + (links - 1) / 6) * weight + of_links;
  const bool rounds = net.graph != nullptr && ask.kind == Collective::all_to_all;
  if (grain == Grain::flow || !rounds) return ops;
  return std::max(ops, (net.ranks() - 1.0) * static_cast<double>(cluster.cables.size()));
}

}  // namespace shardsim
