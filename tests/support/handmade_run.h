// Runs made by hand: ops and their times, one by one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "networks.h"
#include "plan/placement.h"
#include "report/run.h"

namespace shardsim::testing {

using Ranks = std::vector<std::vector<std::uint32_t>>;

// A run whose ops are put in one by one, with their times.
struct Handmade {
  Run run;

  // The device classes of each rank.
  explicit Handmade(Ranks ranks) {
    run.name = "handmade";
    run.plan.cluster = cluster("ring:4");
    run.plan.fold = Fold::full(run.plan.cluster);
    run.plan.mesh = hardware_mesh(run.plan.cluster);
    run.plan.ranks = std::move(ranks);
    run.graph.links = {{"x+", BytesPerSec{10}}};
    run.graph.route_links = {0};
    run.graph.route_offset = {0, 1};
    run.graph.device_classes = 0;
    for (const auto& rank : run.plan.ranks)
      run.graph.device_classes += static_cast<std::uint32_t>(rank.size());
  }

  OpId add(OpKind kind, std::uint32_t device, Origin origin, double from, double to,
           std::vector<OpId> waits = {}) {
    Op op;
    op.kind = kind;
    op.device = device;
    op.origin = static_cast<std::uint32_t>(run.graph.origins.size());
    if (kind == OpKind::transfer) {
      op.route = RouteId{0};
      op.bytes = Bytes{10 * (to - from)};
      op.phase = run.graph.phases++;
    } else if (kind != OpKind::join) {
      op.seconds = Seconds{to - from};
    }
    run.graph.origins.push_back(std::move(origin));
    run.graph.ops.push_back(op);
    run.graph.deps.insert(run.graph.deps.end(), waits.begin(), waits.end());
    run.graph.dep_offset.push_back(static_cast<std::uint32_t>(run.graph.deps.size()));
    run.timeline.start.push_back(Seconds{from});
    run.timeline.end.push_back(Seconds{to});
    return OpId{static_cast<std::uint32_t>(run.graph.size() - 1)};
  }

  OpId compute(std::uint32_t device, double from, double to, std::vector<OpId> waits = {},
               Pass pass = Pass::forward, Purpose purpose = Purpose::pass) {
    return add(OpKind::compute, device,
               {.name = "c", .stream = "compute", .pass = pass, .purpose = purpose}, from, to,
               std::move(waits));
  }

  // Of the groups that begin at `devices`, all at once; returns its end.
  OpId collective(const std::string& axis, std::vector<std::uint32_t> devices, double from,
                  double to, std::vector<std::uint32_t> group_of = {},
                  std::vector<OpId> waits = {}) {
    CollectiveInstance c;
    c.axes = {axis};
    c.group_of = std::move(group_of);
    const int number = static_cast<int>(run.plan.collectives.size());
    const Origin origin{.name = axis, .stream = axis, .collective = number};
    Occurrence once;
    OpId end{};
    for (const std::uint32_t device : devices) {
      once.begin.push_back(add(OpKind::join, device, origin, from, from, waits));
      const OpId moved = add(OpKind::transfer, device, origin, from, to, {once.begin.back()});
      run.graph.ops.back().origin =
          run.graph.ops[static_cast<std::size_t>(once.begin.back())].origin;
      end = add(OpKind::join, device, origin, to, to, {moved});
      once.end.push_back(end);
    }
    c.times = {once};
    run.plan.collectives.push_back(c);
    return end;
  }

  OpId send(std::uint32_t device, int to_rank, double from, double to,
            std::vector<OpId> waits = {}) {
    return add(OpKind::transfer, device, {.name = "p2p", .stream = "pipeline", .to_rank = to_rank},
               from, to, std::move(waits));
  }
};

// Two ranks of one device each:
//
//   rank 0   compute 0-2, a collective over T 2-4, what it sends 2-3 and gets 5-6, compute 6-9
//   rank 1   compute 3-5
inline Handmade two_ranks() {
  Handmade made(Ranks{{0}, {1}});
  const OpId f0 = made.compute(0, 0, 2);
  made.collective("T", {0}, 2, 4, {}, {f0});
  const OpId sent = made.send(0, 1, 2, 3, {f0});
  const OpId f1 = made.compute(1, 3, 5, {sent});
  const OpId back = made.send(1, 0, 5, 6, {f1});
  made.compute(0, 6, 9, {back}, Pass::backward);
  return made;
}

}  // namespace shardsim::testing
