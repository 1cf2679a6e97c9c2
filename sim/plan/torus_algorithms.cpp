#include "plan/torus_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/algorithm_parts.h"
#include "plan/axis_pieces.h"
#include "plan/gather.h"

namespace shardsim {

std::string several_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (net.axes.size() < 2) return "it needs more than one axis";
  if (star(net)) return "a switch has no axes of its own";
  if (levels(net)) return "the group spans several levels";
  return "";
}

namespace {

// Whether all pieces step together: on equal axes, and on lines, whose ranks wait for each other
// between the phases.
bool in_steps(const GroupNet& net) {
  return alike(net) || open(net);
}

// The pieces that go along the axes, of those that step together the ones that need the least time;
// empty: there are none.
PhasedPieces pieces_of(const CollectiveAsk& ask, const GroupNet& net) {
  if (!in_steps(net)) {
    const std::vector<double> shares = balanced_shares(net.sizes(), rates(net));
    return shares.empty() ? PhasedPieces{} : in_rotation(net.axes.size(), shares);
  }
  const std::vector<PhasedPieces> ways = ways_in_phases(net);
  const auto time = [&](const PhasedPieces& way) {
    return time_in_phases(busy_phases(net, ask.bytes, way));
  };
  return *std::min_element(ways.begin(), ways.end(),
                           [&](const auto& a, const auto& b) { return time(a) < time(b); });
}

}  // namespace

std::string balanced(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = several_axes(ask, net);
  if (!why.empty()) return why;
  const auto is = [&](auto&& what) { return std::any_of(net.axes.begin(), net.axes.end(), what); };
  if (is([](const GroupAxis& a) { return a.wiring == Wiring::full_mesh; })) {
    return "it is for the axes of one torus or mesh";
  }
  if (pieces_of(ask, net).empty()) {
    return "the axes are too unlike to be kept busy together: a share would be negative";
  }
  return "";
}

CollectivePlan plan_all_axes(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
  const bool both = both_directions(net);
  const PhasedPieces pieces = pieces_of(ask, net);
  const PlanFrame f = frame("all-axes", net, fold, shares_of(pieces, both), ask.merged);
  std::vector<double> seconds_per_share;
  std::vector<int> ports;
  for (const GroupAxis& axis : net.axes) {
    seconds_per_share.push_back(net.axes[0].w1 / axis.w1);
    ports.push_back(axis.ports);
  }
  return from_gather(ask.kind, [&](int d) {
    const std::vector<Pipeline> all = pipelines(pieces, d, both);
    return in_steps(net) ? gather_in_steps(f, all)
                         : gather_as_it_arrives(f, all, seconds_per_share, ports);
  });
}

namespace {

// Sends of a rank along an axis, in one direction or both ways along a line.
double steps_along(const CollectiveAsk& ask, const GroupAxis& axis) {
  return ask.merged && axis.wiring == Wiring::line ? 2 : axis.size - 1;
}

// Chunks that a port forwards one after the other, when each is its own send.
struct PortSends {
  double count = 0;
  std::string
      text;  // "(8-1)*(1+4)": along an axis of 8, of 1 rank in one order and of 4 in another
};

PortSends busiest_port_sends(const GroupNet& net) {
  PortSends most;
  for (int i = 0; i < static_cast<int>(net.axes.size()); ++i) {
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(i)];
    std::vector<double> before;  // ranks whose chunks come, by order
    for (const std::vector<int>& order : rotated_orders(net.axes.size())) {
      const auto place = std::find(order.begin(), order.end(), i) - order.begin();
      before.push_back(gathered(net, order)[static_cast<std::size_t>(place)]);
    }
    std::sort(before.begin(), before.end());
    const double lanes = both_directions(net) ? 2.0 / axis.ports : 1.0;
    const double count =
        (axis.size - 1) * lanes * std::accumulate(before.begin(), before.end(), 0.0);
    if (count <= most.count) continue;
    most = {count, fmt::format("{}({}-1)*({})", lanes == 1 ? "" : fmt::format("{:g}*", lanes),
                               axis.size, fmt::join(before, "+"))};
  }
  return most;
}

}  // namespace

// Every port busy all the time: (N-1)/N * V over the sum of a device's port rates.
ClosedForm form_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  if (!alike(net) && in_steps(net)) {
    const PhasedPieces pieces = pieces_of(ask, net);
    int phases = 0;
    for (const PhasedPiece& piece : pieces) phases = std::max(phases, piece.phases.back() + 1);
    return {
        rounds(ask.kind) * time_in_phases(busy_phases(net, ask.bytes, pieces)),
        times(ask.kind, fmt::format("sum over {} phases of max over axes of sum over the pieces "
                                    "on them of (A-1) * (a + share*G*V/(N*ports*W1)), P = {} "
                                    "pieces",
                                    phases, pieces.size()))};
  }
  const double n = net.ranks();
  BytesPerSec all_ports;
  double steps = 0;
  Seconds latency;
  for (const GroupAxis& axis : net.axes) {
    all_ports += axis.w1 * axis.ports;
    steps += axis.size - 1;
    latency = std::max(latency, axis.latency);
  }
  const bool equal = alike(net);
  const PortSends port = equal ? PortSends{} : busiest_port_sends(net);
  if (!equal) steps = port.count;
  const Seconds once = steps * latency + (n - 1) / n * ask.bytes / all_ports;
  const std::string count = equal ? "sum of (A-1)" : port.text;
  return {rounds(ask.kind) * once,
          times(ask.kind,
                fmt::format("{} * a + (N-1)/N * V/(all ports: {})", count, to_text(all_ports))) +
              (equal ? "" : fmt::format(", {} chunks through a port one by one", port.text)),
          equal || latency == Seconds{}};
}

double sends_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const auto k = static_cast<double>(net.axes.size());
  const double lanes = both_directions(net) ? 2 : 1;
  if (!in_steps(net)) return rounds(ask.kind) * k * lanes * (ask.merged ? k : net.ranks() - 1);
  double steps = 0;
  for (const GroupAxis& axis : net.axes) steps += steps_along(ask, axis);
  return rounds(ask.kind) * static_cast<double>(pieces_of(ask, net).size()) * lanes * steps;
}

CollectivePlan plan_by_axis(const CollectiveAsk& ask, const GroupNet& net,
                            const std::vector<int>& fold) {
  const bool both = two_way(net);
  const char* name = levels(net) ? "hierarchical" : "axis-by-axis";
  const PhasedPieces all = {{outside_in(net), {}, 1.0}};
  return from_gather(ask.kind, [&](int d) {
    return gather_in_steps(frame(name, net, fold, shares_of(all, both), ask.merged),
                           pipelines(all, d, both));
  });
}

// One axis after the other; what was gathered before travels on (Scaling Book ch. 3; phases that
// wait for one another add: collectives.md section 3.1).
ClosedForm form_by_axis(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  double before = 1;
  Seconds once;
  for (const int a : outside_in(net)) {
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(a)];
    const int steps = walk_of(axis.wiring) == Walk::exchange ? 1 : axis.size - 1;
    const Bytes lane = ask.bytes * (before / n / axis.ports);
    once += steps * axis.latency + (axis.size - 1) * lane / axis.w1;
    before *= axis.size;
  }
  return {rounds(ask.kind) * once,
          times(ask.kind, "sum over axes of (A-1) * (a + G*V/(N*ports*W1)), one a on a switch")};
}

double sends_by_axis(const CollectiveAsk& ask, const GroupNet& net) {
  double steps = 0;
  for (const GroupAxis& axis : net.axes) steps += steps_along(ask, axis);
  return rounds(ask.kind) * steps * (two_way(net) ? 2 : 1);
}

}  // namespace shardsim
