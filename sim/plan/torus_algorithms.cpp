#include "plan/torus_algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/algorithm_parts.h"
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

bool both_directions(const GroupNet& net) {
  return std::none_of(net.axes.begin(), net.axes.end(),
                      [](const GroupAxis& a) { return a.wiring == Wiring::ring_oneway; });
}

std::vector<double> rates(const GroupNet& net) {
  std::vector<double> result;
  for (const GroupAxis& axis : net.axes) result.push_back(axis.ports * (axis.w1 / net.axes[0].w1));
  return result;
}

bool alike(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& a) {
    return a.size == net.axes[0].size && a.ports == net.axes[0].ports && a.w1 == net.axes[0].w1;
  });
}

bool open(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(),
                     [](const GroupAxis& a) { return a.wiring == Wiring::line; });
}

// Whether all pieces step together: on equal axes, and on lines, whose ranks wait for each other
// between the stages.
bool in_steps(const GroupNet& net) {
  return alike(net) || open(net);
}

// The rotated orders of the axes: j, j+1, …, j-1.
std::vector<std::vector<int>> orders(std::size_t axes) {
  std::vector<std::vector<int>> result(axes);
  for (std::size_t j = 0; j < axes; ++j)
    for (std::size_t s = 0; s < axes; ++s) result[j].push_back(static_cast<int>((j + s) % axes));
  return result;
}

// For every stage of an order, ranks whose data a rank has already; then all.
std::vector<double> gathered(const GroupNet& net, const std::vector<int>& order) {
  std::vector<double> result = {1};
  for (const int a : order)
    result.push_back(result.back() * net.axes[static_cast<std::size_t>(a)].size);
  return result;
}

// Shares of the orders. With a barrier between the stages, those that make the last stage, the
// longest, equally long on all axes.
std::vector<double> order_shares(const GroupNet& net) {
  const std::vector<double> rate = rates(net);
  if (alike(net) || !open(net)) return balanced_shares(net.sizes(), rate);
  std::vector<double> shares;
  double sum = 0;
  for (const std::vector<int>& order : orders(net.axes.size())) {
    const auto last = static_cast<std::size_t>(order.back());
    const double before = gathered(net, order)[order.size() - 1];
    shares.push_back(rate[last] / ((net.axes[last].size - 1) * before));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

std::string balanced(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = several_axes(ask, net);
  if (!why.empty()) return why;
  const auto is = [&](auto&& what) { return std::any_of(net.axes.begin(), net.axes.end(), what); };
  if (is([](const GroupAxis& a) { return a.wiring == Wiring::full_mesh; })) {
    return "it is for the axes of one torus or mesh";
  }
  if (order_shares(net).empty()) {
    return "the axes are too unlike to be kept busy together: a share would be negative";
  }
  return "";
}

namespace {

// Piece 2j travels order j forwards, piece 2j+1 backwards (only forwards where a ring is one-way).
std::vector<Pipeline> pipelines(const std::vector<std::vector<int>>& orders, int direction,
                                bool both) {
  std::vector<Pipeline> result;
  for (const std::vector<int>& order : orders) {
    result.push_back({static_cast<int>(result.size()), order, direction});
    if (both) result.push_back({static_cast<int>(result.size()), order, -direction});
  }
  return result;
}

std::vector<double> piece_shares(const std::vector<double>& shares, bool both) {
  std::vector<double> result;
  for (const double s : shares) {
    if (both) result.push_back(s / 2);
    result.push_back(both ? s / 2 : s);
  }
  return result;
}

}  // namespace

CollectivePlan plan_all_axes(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
  const bool both = both_directions(net);
  const PlanFrame f =
      frame("all-axes", net, fold, piece_shares(order_shares(net), both), ask.merged);
  std::vector<double> seconds_per_share;
  std::vector<int> ports;
  for (const GroupAxis& axis : net.axes) {
    seconds_per_share.push_back(net.axes[0].w1 / axis.w1);
    ports.push_back(axis.ports);
  }
  return from_gather(ask.kind, [&](int d) {
    const std::vector<Pipeline> all = pipelines(orders(net.axes.size()), d, both);
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
    for (const std::vector<int>& order : orders(net.axes.size())) {
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

// Stage by stage, each as long as its longest axis takes for the pieces that are on it.
Seconds time_in_stages(const GroupNet& net, Bytes bytes) {
  const std::vector<double> shares = order_shares(net);
  const std::vector<std::vector<int>> all = orders(net.axes.size());
  Seconds sum;
  for (std::size_t s = 0; s < all.size(); ++s) {
    Seconds longest;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const GroupAxis& axis = net.axes[static_cast<std::size_t>(all[j][s])];
      const Bytes bundle = shares[j] * (bytes / net.ranks()) * gathered(net, all[j])[s];
      longest =
          std::max(longest, (axis.size - 1) * (axis.latency + bundle / (axis.w1 * axis.ports)));
    }
    sum += longest;
  }
  return sum;
}

}  // namespace

// Every port busy all the time: (N-1)/N * V over the sum of a device's port rates.
ClosedForm form_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  if (!alike(net) && in_steps(net)) {
    return {rounds(ask.kind) * time_in_stages(net, ask.bytes),
            times(ask.kind,
                  "sum over stages of max over axes of (A-1) * (a + share*G*V/(N*ports*W1))")};
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
  const double lanes = k * (both_directions(net) ? 2 : 1);
  double sends = net.ranks() - 1;
  if (in_steps(net)) {
    sends = 0;
    for (const GroupAxis& axis : net.axes) sends += steps_along(ask, axis);
  } else if (ask.merged) {
    sends = k;
  }
  return rounds(ask.kind) * lanes * sends;
}

namespace {

// Whether rings are gone round both ways, half of the data each.
bool two_way(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(),
                     [](const GroupAxis& a) { return a.wiring == Wiring::ring; });
}

}  // namespace

CollectivePlan plan_by_axis(const CollectiveAsk& ask, const GroupNet& net,
                            const std::vector<int>& fold) {
  const bool both = two_way(net);
  const char* name = levels(net) ? "hierarchical" : "axis-by-axis";
  return from_gather(ask.kind, [&](int d) {
    return gather_in_steps(frame(name, net, fold, piece_shares({1.0}, both), ask.merged),
                           pipelines({outside_in(net)}, d, both));
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
