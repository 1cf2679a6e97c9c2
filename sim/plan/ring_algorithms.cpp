#include "plan/ring_algorithms.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "plan/algorithm_parts.h"
#include "plan/gather.h"
#include "plan/routed_load.h"

namespace shardsim {

namespace {

std::string one_axis(const GroupNet& net) {
  if (net.axes.size() == 1) return "";
  return fmt::format("it needs one axis, the group spans {}", net.axes.size());
}

// Why there is no ring with links both ways.
std::string no_two_ways(const GroupNet& net) {
  const std::string why = one_axis(net);
  if (!why.empty()) return why;
  switch (net.axes[0].wiring) {
    case Wiring::ring:
      return "";
    case Wiring::graph:
      return net.axes[0].size > 2 ? "" : "two devices have one way to each other";
    case Wiring::full_mesh:
      return net.axes[0].size > 2 ? "" : "two devices of a full mesh have one cable";
    case Wiring::line:
      return "the ends of a line are not joined";
    case Wiring::ring_oneway:
      return "the ring has links in one direction only";
    case Wiring::pair:
      return "an axis of size 2 has one link each way, not two";
    case Wiring::star:
      return "a switch is no ring: one egress and one ingress per device";
  }
  return "";
}

}  // namespace

std::string two_way_ring(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  return why.empty() ? no_two_ways(net) : why;
}

std::string one_way_ring(const CollectiveAsk& ask, const GroupNet& net) {
  std::string why = only_gathers(ask);
  if (why.empty()) why = one_axis(net);
  if (!why.empty()) return why;
  return net.axes[0].wiring == Wiring::line ? "the ends of a line are not joined" : "";
}

std::string line_suits(const CollectiveAsk& ask, const GroupNet& net) {
  std::string why = only_gathers(ask);
  if (why.empty()) why = one_axis(net);
  if (!why.empty()) return why;
  if (net.axes[0].wiring == Wiring::pair)
    return "between two devices is one cable: ring-oneway passes it";
  return net.axes[0].wiring == Wiring::line ? "" : "it is for a line: neighbours without a wrap";
}

namespace {

// Round a ring whatever the wiring: a switch and a full mesh have ways to both neighbours.
PlanFrame ring_frame(std::string_view name, const GroupNet& net, const std::vector<int>& fold,
                     std::vector<double> piece_share) {
  PlanFrame made = frame(name, net, fold, std::move(piece_share));
  made.walk = {Walk::around};
  return made;
}

}  // namespace

CollectivePlan plan_ring(const CollectiveAsk& ask, const GroupNet& net,
                         const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const std::array<Pipeline, 2> both = {Pipeline{0, {0}, d}, Pipeline{1, {0}, -d}};
    return gather_in_steps(ring_frame("ring", net, fold, {0.5, 0.5}), both);
  });
}

// (N-1) steps of half a shard each way (Scaling Book ch. 3, exact in N).
ClosedForm form_ring(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  const StepTime step = neighbour_step(net, ask.bytes / (2 * n), {1, -1});
  const char* formula = net.graph == nullptr
                            ? "(N-1) * (a + V/(2*N*W1))"
                            : "(N-1) * (a + V/(2*N) to both neighbours over the busiest link)";
  return {rounds(ask.kind) * (n - 1) * step.time, times(ask.kind, formula), step.exact};
}

// A barrier is an all-gather of nothing.
std::string whole_suits(const CollectiveAsk& ask, const GroupNet& net) {
  using enum Collective;
  const std::string why = only_for(ask, {all_gather, reduce_scatter, all_reduce, barrier});
  return why.empty() ? no_two_ways(net) : why;
}

CollectivePlan plan_whole(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const int n = net.axes[0].size;
    const std::array<Pipeline, 2> both = {Pipeline{0, {0}, d, n / 2},
                                          Pipeline{0, {0}, -d, (n - 1) / 2}};
    return gather_in_steps(ring_frame("ring-whole", net, fold, {1.0}), both);
  });
}

// floor(N/2) steps of whole shards, both ways (Scaling Book ch. 3).
ClosedForm form_whole(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::barrier) {
    const StepTime step = neighbour_step(net, Bytes{}, {1, -1});
    return {net.ranks() / 2 * step.time, "floor(N/2) * a", step.exact};
  }
  const int n = net.ranks();
  const Bytes shard = ask.bytes / static_cast<double>(n);
  const StepTime both = neighbour_step(net, shard, {1, -1});
  if (net.graph == nullptr) {
    return {rounds(ask.kind) * (n / 2) * both.time, times(ask.kind, "floor(N/2) * (a + V/(N*W1))")};
  }
  const StepTime last = neighbour_step(net, shard, {1});  // of an even ring
  const Seconds once = (n - 1) / 2 * both.time + (n % 2 == 0 ? last.time : Seconds{});
  return {rounds(ask.kind) * once,
          times(ask.kind, "floor(N/2) * (a + V/N to both neighbours over the busiest link)"),
          both.exact && last.exact};
}

CollectivePlan plan_oneway(const CollectiveAsk& ask, const GroupNet& net,
                           const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const std::array<Pipeline, 1> one = {Pipeline{0, {0}, d}};
    return gather_in_steps(ring_frame("ring-oneway", net, fold, {1.0}), one);
  });
}

// N-1 steps of a shard (Chan et al. 2007, bucket algorithm).
ClosedForm form_oneway(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  const StepTime step = neighbour_step(net, ask.bytes / n, {1});
  return {rounds(ask.kind) * (n - 1) * step.time, times(ask.kind, "(N-1) * (a + V/(N*W1))"),
          step.exact};
}

CollectivePlan plan_line(const CollectiveAsk& ask, const GroupNet& net,
                         const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const std::array<Pipeline, 1> one = {Pipeline{0, {0}, d}};
    return gather_in_steps(frame("line", net, fold, {1.0}, ask.merged), one);
  });
}

// N-1 steps of a shard over the links next to the ends, which all but one shard must pass.
ClosedForm form_line(const CollectiveAsk& ask, const GroupNet& net) {
  return form_oneway(ask, net);
}

double sends_line(const CollectiveAsk& ask, const GroupNet& net) {
  return ask.merged ? rounds(ask.kind) * 2 : sends_once(ask, net);
}

double sends_of_ring(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * 2 * (net.ranks() - 1);
}

}  // namespace shardsim
