#include "plan/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "plan/direct.h"
#include "plan/gather.h"

namespace shardsim {

int GroupNet::ranks() const {
  int n = 1;
  for (const GroupAxis& axis : axes) n *= axis.size;
  return n;
}

std::vector<int> GroupNet::sizes() const {
  std::vector<int> result;
  for (const GroupAxis& axis : axes) result.push_back(axis.size);
  return result;
}

GroupNet group_net(const Cluster& cluster, std::span<const int> axes) {
  GroupNet net;
  for (const int a : axes) {
    const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
    if (axis.size == 1) continue;
    const Port& port = cluster.ports[static_cast<std::size_t>(cluster.port_of(a, 1))];
    net.axes.push_back({axis.size, axis.wiring, port.bandwidth, port.latency,
                        axis.wiring == Wiring::ring ? 2 : 1});
  }
  return net;
}

namespace {

// ---- what the rows share -------------------------------------------------------------------------

bool gathers(Collective kind) {
  return kind == Collective::all_gather || kind == Collective::reduce_scatter ||
         kind == Collective::all_reduce;
}

// 1 for all-gather and reduce-scatter, 2 for all-reduce (reduce-scatter, then all-gather).
double rounds(Collective kind) { return kind == Collective::all_reduce ? 2.0 : 1.0; }

std::string only_gathers(const CollectiveAsk& ask) {
  if (gathers(ask.kind)) return "";
  return fmt::format("it is for all-gather, reduce-scatter and all-reduce, not {}",
                     to_text(ask.kind));
}

bool star(const GroupNet& net) { return net.axes[0].wiring == Wiring::star; }

PlanFrame frame(std::string_view name, const GroupNet& net, const std::vector<int>& fold,
                std::vector<double> piece_share) {
  return {std::string(name), net.sizes(), fold, std::move(piece_share)};
}

// The plan of any of the three kinds from its all-gather. The reduce-scatter is the mirror of the
// all-gather in the other direction, so that on a one-way ring both use the links there are.
using Gather = std::function<CollectivePlan(int direction)>;
CollectivePlan from_gather(Collective kind, const Gather& gather) {
  if (kind == Collective::all_gather) return gather(1);
  const CollectivePlan scatter = mirror(gather(-1));
  if (kind == Collective::reduce_scatter) return scatter;
  return sequence(scatter, gather(1));
}

std::string times(Collective kind, std::string_view formula) {
  return kind == Collective::all_reduce ? fmt::format("2 * [{}]", formula) : std::string(formula);
}

// ---- rings ---------------------------------------------------------------------------------------

std::string one_axis(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (net.axes.size() != 1) return fmt::format("it needs one axis, the group spans {}", net.axes.size());
  return "";
}

std::string two_way_ring(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = one_axis(ask, net);
  if (!why.empty()) return why;
  switch (net.axes[0].wiring) {
    case Wiring::ring: return "";
    case Wiring::ring_oneway: return "the ring has links in one direction only";
    case Wiring::pair: return "an axis of size 2 has one link each way, not two";
    case Wiring::star: return "a switch is no ring: one egress and one ingress per device";
  }
  return "";
}

CollectivePlan plan_ring(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const std::array<Pipeline, 2> both = {Pipeline{0, {0}, d}, Pipeline{1, {0}, -d}};
    return gather_in_steps(frame("ring", net, fold, {0.5, 0.5}), both);
  });
}

// (N-1) steps of half a shard each way (Scaling Book ch. 3, exact in N).
ClosedForm form_ring(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const double n = axis.size;
  const Seconds step = axis.latency + ask.bytes / (2 * n) / axis.w1;
  return {rounds(ask.kind) * (n - 1) * step, times(ask.kind, "(N-1) * (a + V/(2*N*W1))")};
}

CollectivePlan plan_whole(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const int n = net.axes[0].size;
    const std::array<Pipeline, 2> both = {Pipeline{0, {0}, d, n / 2}, Pipeline{0, {0}, -d, (n - 1) / 2}};
    return gather_in_steps(frame("ring-whole", net, fold, {1.0}), both);
  });
}

// floor(N/2) steps of whole shards, both ways (Scaling Book ch. 3).
ClosedForm form_whole(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const Seconds step = axis.latency + ask.bytes / static_cast<double>(axis.size) / axis.w1;
  return {rounds(ask.kind) * static_cast<double>(axis.size / 2) * step,
          times(ask.kind, "floor(N/2) * (a + V/(N*W1))")};
}

CollectivePlan plan_oneway(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  return from_gather(ask.kind, [&](int d) {
    const std::array<Pipeline, 1> one = {Pipeline{0, {0}, d}};
    return gather_in_steps(frame("ring-oneway", net, fold, {1.0}), one);
  });
}

// N-1 steps of a shard (Chan et al. 2007, bucket algorithm).
ClosedForm form_oneway(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const double n = axis.size;
  const Seconds step = axis.latency + ask.bytes / n / axis.w1;
  return {rounds(ask.kind) * (n - 1) * step, times(ask.kind, "(N-1) * (a + V/(N*W1))")};
}

double sends_of_ring(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * 2 * (net.ranks() - 1);
}
double sends_once(const CollectiveAsk& ask, const GroupNet& net) {
  return rounds(ask.kind) * (net.ranks() - 1);
}

// ---- tori ----------------------------------------------------------------------------------------

std::string several_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (star(net)) return "a switch has no axes of its own";
  if (net.axes.size() < 2) return "it needs more than one axis";
  return "";
}

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

std::string balanced(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = several_axes(ask, net);
  if (!why.empty()) return why;
  if (balanced_shares(net.sizes(), rates(net)).empty()) {
    return "the axes are too unlike to be kept busy together: a share would be negative";
  }
  return "";
}

// Piece 2j travels order j forwards, piece 2j+1 backwards (only forwards where a ring is one-way).
std::vector<Pipeline> pipelines(const std::vector<std::vector<int>>& orders, int direction, bool both) {
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

CollectivePlan plan_all_axes(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold) {
  const std::size_t k = net.axes.size();
  const bool both = both_directions(net);
  std::vector<std::vector<int>> orders;
  for (std::size_t j = 0; j < k; ++j) orders.push_back(rotated(k, j));
  const PlanFrame f = frame("all-axes", net, fold,
                            piece_shares(balanced_shares(net.sizes(), rates(net)), both));
  std::vector<double> seconds_per_share;
  std::vector<int> ports;
  for (const GroupAxis& axis : net.axes) {
    seconds_per_share.push_back(net.axes[0].w1 / axis.w1);
    ports.push_back(axis.ports);
  }
  return from_gather(ask.kind, [&](int d) {
    const std::vector<Pipeline> all = pipelines(orders, d, both);
    return alike(net) ? gather_in_steps(f, all) : gather_as_it_arrives(f, all, seconds_per_share, ports);
  });
}

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
          times(ask.kind, fmt::format("{} * a + (N-1)/N * V/(all ports: {})", count, to_text(all_ports))),
          in_steps || latency == Seconds{}};
}

double sends_all_axes(const CollectiveAsk& ask, const GroupNet& net) {
  const double lanes = static_cast<double>(net.axes.size()) * (both_directions(net) ? 2 : 1);
  double sends = net.ranks() - 1;
  if (alike(net)) sends = static_cast<double>(net.axes.size()) * (net.axes[0].size - 1);
  return rounds(ask.kind) * lanes * sends;
}

CollectivePlan plan_by_axis(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  const bool both = both_directions(net);
  return from_gather(ask.kind, [&](int d) {
    return gather_in_steps(frame("axis-by-axis", net, fold, piece_shares({1.0}, both)),
                           pipelines({rotated(net.axes.size(), 0)}, d, both));
  });
}

// One axis after the other; what was gathered before travels on (Scaling Book ch. 3).
ClosedForm form_by_axis(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  double before = 1;
  Seconds once;
  for (const GroupAxis& axis : net.axes) {
    const int lanes = both_directions(net) ? axis.ports : 1;
    once += (axis.size - 1) * (axis.latency + ask.bytes * (before / n / lanes) / axis.w1);
    before *= axis.size;
  }
  return {rounds(ask.kind) * once,
          times(ask.kind, "sum over axes of (A-1) * (a + V/N * gathered/(ports*W1))")};
}

double sends_by_axis(const CollectiveAsk& ask, const GroupNet& net) {
  double steps = 0;
  for (const GroupAxis& axis : net.axes) steps += axis.size - 1;
  return rounds(ask.kind) * steps * (both_directions(net) ? 2 : 1);
}

// ---- direct --------------------------------------------------------------------------------------

std::string direct_suits(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::all_to_all) return "";
  const std::string why = only_gathers(ask);
  if (!why.empty()) return why;
  if (!star(net)) return "without a switch, whole shards to everyone would pass the same links again and again";
  return "";
}

CollectivePlan plan_direct(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  if (ask.kind == Collective::all_to_all) {
    std::vector<Wiring> wiring;
    for (const GroupAxis& axis : net.axes) wiring.push_back(axis.wiring);
    return direct_all_to_all(frame("direct", net, fold, {1.0}), wiring);
  }
  return from_gather(ask.kind, [&](int) { return direct_gather(frame("direct", net, fold, {1.0})); });
}

// Sum of hops over all displacements along one axis, per port of it.
double hop_load(const GroupAxis& axis) {
  const double a = axis.size;
  switch (axis.wiring) {
    case Wiring::ring: return (axis.size % 2 == 0 ? a * a : a * a - 1) / 8;
    case Wiring::ring_oneway: return a * (a - 1) / 2;
    case Wiring::pair: return 1;
    case Wiring::star: return 0;
  }
  return 0;
}

int longest(const GroupAxis& axis) {
  return axis.wiring == Wiring::ring ? axis.size / 2 : axis.size - 1;
}

// One axis, rounds of ascending distance d: a round begins when the one before has ended and d hops
// of latency have passed since the start, and lasts the load of a port.
Seconds rounds_on_one_axis(const GroupAxis& axis, Bytes chunk) {
  Seconds now;
  for (int d = 1; d <= longest(axis); ++d) {
    const bool tie = axis.wiring == Wiring::ring && 2 * d == axis.size;
    now = std::max(now, d * axis.latency) + d * (tie ? 0.5 : 1.0) * chunk / axis.w1;
  }
  return now;
}

// The load of the busiest port (Scaling Book ch. 3: V/(4W) on an even two-way ring, W = 2*W1, and
// V*max(A)/(4*N*W) on a torus).
ClosedForm form_all_to_all(const CollectiveAsk& ask, const GroupNet& net) {
  const double n = net.ranks();
  const Bytes chunk = ask.bytes / (n * n);
  if (star(net)) {
    return {net.axes[0].latency + (n - 1) * chunk / net.axes[0].w1, "a + (N-1)/N^2 * V/W1"};
  }
  if (net.axes.size() == 1) {
    const GroupAxis& axis = net.axes[0];
    const bool oneway = axis.wiring == Wiring::ring_oneway;
    const char* formula = axis.wiring == Wiring::pair ? "V/(4*W1), latency a first"
                          : oneway                    ? "(N-1)/(2*N) * V/W1, latency hidden by rounds"
                          : axis.size % 2 == 0        ? "V/(8*W1) = V/(4*W), latency hidden by rounds"
                                               : "(N^2-1)/(8*N^2) * V/W1, latency hidden by rounds";
    return {rounds_on_one_axis(axis, chunk), formula};
  }
  Seconds load;
  Seconds farthest;
  Seconds nearest_hop = net.axes[0].latency;
  for (const GroupAxis& axis : net.axes) {
    nearest_hop = std::min(nearest_hop, axis.latency);
    load = std::max(load, hop_load(axis) * (n / axis.size) * chunk / axis.w1);
    farthest += longest(axis) * axis.latency;
  }
  return {std::max(nearest_hop + load, farthest), "a + V/W1 * max over axes of hops(A)/(A*N)",
          farthest == Seconds{}};
}

ClosedForm form_direct(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::all_to_all) return form_all_to_all(ask, net);
  const double n = net.ranks();
  const GroupAxis& axis = net.axes[0];
  return {rounds(ask.kind) * (axis.latency + (n - 1) / n * ask.bytes / axis.w1),
          times(ask.kind, "a + (N-1)/N * V/W1")};
}

// ---- shift ---------------------------------------------------------------------------------------

std::string shift_suits(const CollectiveAsk& ask, const GroupNet&) {
  if (ask.kind == Collective::collective_permute) return "";
  return fmt::format("it is for collective-permute, not {}", to_text(ask.kind));
}

CollectivePlan plan_shift(const CollectiveAsk& ask, const GroupNet& net, const std::vector<int>& fold) {
  return shift(frame("shift", net, fold, {1.0}), ask.shift);
}

int shift_displacement(const CollectiveAsk& ask, const GroupNet& net) {
  const int size = net.axes.back().size;
  return (ask.shift % size + size) % size;
}

// Every link of the way carries the messages of `hops` ranks, half of them on a tie.
ClosedForm form_shift(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes.back();
  const int d = shift_displacement(ask, net);
  if (d == 0) return {Seconds{0}, "0: every rank keeps its shard"};
  const double h = hops(axis.wiring, axis.size, d);
  const bool tie = axis.wiring == Wiring::ring && 2 * d == axis.size;
  const Bytes shard = ask.bytes / static_cast<double>(net.ranks());
  return {h * axis.latency + h * (tie ? 0.5 : 1.0) * shard / axis.w1,
          tie ? "hops * (a + V/(2*N*W1)), split over both ways" : "hops * (a + V/(N*W1))"};
}

double sends_shift(const CollectiveAsk& ask, const GroupNet& net) {
  return shift_displacement(ask, net) == 0 ? 0 : 1;
}

constexpr std::array<AlgorithmRow, 7> kAlgorithms = {{
    {"ring", "both directions; every shard is halved and both halves go all the way round", two_way_ring,
     plan_ring, form_ring, sends_of_ring},
    {"ring-whole", "both directions; whole shards meet half way round", two_way_ring, plan_whole,
     form_whole, sends_once},
    {"all-axes", "all axes of a torus at once; pieces in rotated orders, weighted so that every port is busy",
     balanced, plan_all_axes, form_all_axes, sends_all_axes},
    {"axis-by-axis", "one axis of a torus after the other", several_axes, plan_by_axis, form_by_axis,
     sends_by_axis},
    {"direct", "straight to every destination: all-to-all anywhere, the others on a switch", direct_suits,
     plan_direct, form_direct, sends_once},
    {"ring-oneway", "one direction round a ring (or a switch), whole shards", one_axis, plan_oneway,
     form_oneway, sends_once},
    {"shift", "every rank to the rank a fixed distance further", shift_suits, plan_shift, form_shift,
     sends_shift},
}};

constexpr std::array<Collective, 5> kKinds = {Collective::all_gather, Collective::reduce_scatter,
                                              Collective::all_reduce, Collective::all_to_all,
                                              Collective::collective_permute};

}  // namespace

std::span<const AlgorithmRow> algorithms() { return kAlgorithms; }
std::span<const Collective> collective_kinds() { return kKinds; }

const AlgorithmRow* find_algorithm(std::string_view name) {
  for (const AlgorithmRow& row : kAlgorithms) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmRow& row : kAlgorithms) names.emplace_back(row.name);
  return names;
}

Choice choose_algorithm(const CollectiveAsk& ask, const GroupNet& net) {
  Choice choice;
  const auto time = [&](const AlgorithmRow* row) { return row->closed_form(ask, net).time; };
  // Equal up to rounding counts as a tie.
  const auto less = [&](const AlgorithmRow* a, const AlgorithmRow* b) {
    return time(a) < time(b) * (1 - 1e-12);
  };
  for (const AlgorithmRow& row : kAlgorithms) {
    if (!row.why_not(ask, net).empty()) continue;
    if (choice.best == nullptr || less(&row, choice.best)) {
      choice.runner_up = choice.best;
      choice.best = &row;
    } else if (choice.runner_up == nullptr || less(&row, choice.runner_up)) {
      choice.runner_up = &row;
    }
  }
  return choice;
}

std::string bandwidth_convention(const GroupNet& net) {
  if (net.axes.empty()) return "one device: nothing is sent";
  std::string text;
  std::vector<std::string> said;
  for (const GroupAxis& axis : net.axes) {
    std::string one;
    switch (axis.wiring) {
      case Wiring::ring:
        one = fmt::format("W1 = {} each way, W = 2*W1 = {} per wrapped axis", to_text(axis.w1),
                          to_text(axis.w1 * 2));
        break;
      case Wiring::ring_oneway:
        one = fmt::format("W1 = W = {}, one direction only", to_text(axis.w1));
        break;
      case Wiring::pair:
        one = fmt::format("W1 = W = {} each way, one link on an axis of 2", to_text(axis.w1));
        break;
      case Wiring::star:
        one = fmt::format("W1 = W = {} egress per device", to_text(axis.w1));
        break;
    }
    if (std::find(said.begin(), said.end(), one) != said.end()) continue;
    said.push_back(one);
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

ClosedForm textbook(const CollectiveAsk& ask, const GroupNet& net) {
  BytesPerSec w;
  int longest_axis = 1;
  for (const GroupAxis& axis : net.axes) {
    if (star(net)) {
      w = axis.w1;
    } else {
      w += axis.w1 * axis.ports;
    }
    longest_axis = std::max(longest_axis, axis.size);
  }
  const GroupAxis& first = net.axes[0];
  const double k = star(net) ? 1.0 : static_cast<double>(net.axes.size());
  const std::string over = k > 1 ? fmt::format("({:g}*W)", k) : "W";
  switch (ask.kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter: return {ask.bytes / w, "V/" + over, false};
    case Collective::all_reduce: return {2.0 * (ask.bytes / w), "2V/" + over, false};
    case Collective::all_to_all: {
      const BytesPerSec one = first.w1 * first.ports;
      if (k == 1) return {ask.bytes / 4.0 / one, "V/(4W)", false};
      return {ask.bytes * (longest_axis / 4.0 / net.ranks()) / one, "V*max(A)/(4*N*W)", false};
    }
    case Collective::collective_permute:
      return {ask.bytes / static_cast<double>(net.ranks()) / first.w1, "V/(N*W1)", false};
  }
  return {};
}

}  // namespace shardsim
