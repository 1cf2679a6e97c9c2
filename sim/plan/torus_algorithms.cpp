#include "plan/torus_algorithms.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

std::string balanced(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = several_axes(ask, net);
  if (!why.empty()) return why;
  const auto is = [&](auto&& what) { return std::any_of(net.axes.begin(), net.axes.end(), what); };
  if (is([](const GroupAxis& a) { return a.wiring == Wiring::full_mesh; })) {
    return "it is for the axes of one torus or mesh";
  }
  if (!alike(net) && is([](const GroupAxis& a) { return a.wiring == Wiring::line; })) {
    return "lines of unequal length cannot be kept busy together";
  }
  if (balanced_shares(net.sizes(), rates(net)).empty()) {
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

std::vector<int> rotated(std::size_t axes, std::size_t first) {
  std::vector<int> order;
  for (std::size_t s = 0; s < axes; ++s) order.push_back(static_cast<int>((first + s) % axes));
  return order;
}

}  // namespace

CollectivePlan plan_all_axes(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
  const std::size_t k = net.axes.size();
  const bool both = both_directions(net);
  std::vector<std::vector<int>> orders;
  for (std::size_t j = 0; j < k; ++j) orders.push_back(rotated(k, j));
  const PlanFrame f =
      frame("all-axes", net, fold, piece_shares(balanced_shares(net.sizes(), rates(net)), both));
  std::vector<double> seconds_per_share;
  std::vector<int> ports;
  for (const GroupAxis& axis : net.axes) {
    seconds_per_share.push_back(net.axes[0].w1 / axis.w1);
    ports.push_back(axis.ports);
  }
  return from_gather(ask.kind, [&](int d) {
    const std::vector<Pipeline> all = pipelines(orders, d, both);
    return alike(net) ? gather_in_steps(f, all)
                      : gather_as_it_arrives(f, all, seconds_per_share, ports);
  });
}

namespace {

// Chunks that the busiest port forwards one after the other, when each is its own send.
double busiest_port_sends(const GroupNet& net) {
  const std::size_t k = net.axes.size();
  std::vector<double> sends(k, 0.0);
  for (std::size_t j = 0; j < k; ++j) {
    double before = 1;
    for (const int i : rotated(k, j)) {
      const GroupAxis& axis = net.axes[static_cast<std::size_t>(i)];
      sends[static_cast<std::size_t>(i)] +=
          (axis.size - 1) * before * (both_directions(net) ? 2.0 / axis.ports : 1.0);
      before *= axis.size;
    }
  }
  return *std::max_element(sends.begin(), sends.end());
}

}  // namespace

// Every port busy all the time: (N-1)/N * V over the sum of a device's port rates.
ClosedForm form_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  BytesPerSec all_ports;
  double steps = 0;
  Seconds latency;
  for (const GroupAxis& axis : net.axes) {
    all_ports += axis.w1 * axis.ports;
    steps += axis.size - 1;
    latency = std::max(latency, axis.latency);
  }
  const bool in_steps = alike(net);
  if (!in_steps) steps = busiest_port_sends(net);
  const Seconds once = steps * latency + (n - 1) / n * ask.bytes / all_ports;
  const std::string count = in_steps ? "sum(A-1)" : fmt::format("{:g}", steps);
  return {rounds(ask.kind) * once,
          times(ask.kind,
                fmt::format("{} * a + (N-1)/N * V/(all ports: {})", count, to_text(all_ports))),
          in_steps || latency == Seconds{}};
}

double sends_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const double lanes = static_cast<double>(net.axes.size()) * (both_directions(net) ? 2 : 1);
  double sends = net.ranks() - 1;
  if (alike(net)) sends = static_cast<double>(net.axes.size()) * (net.axes[0].size - 1);
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
    return gather_in_steps(frame(name, net, fold, piece_shares({1.0}, both)),
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
          times(ask.kind,
                "sum over axes of (A-1) * (a + V/N * gathered/(ports*W1)), a once on a "
                "switch")};
}

double sends_by_axis(const CollectiveAsk& ask, const GroupNet& net) {
  double steps = 0;
  for (const GroupAxis& axis : net.axes) steps += axis.size - 1;
  return rounds(ask.kind) * steps * (two_way(net) ? 2 : 1);
}

}  // namespace shardsim
