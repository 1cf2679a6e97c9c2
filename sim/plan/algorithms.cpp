#include "plan/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/must.h"
#include "plan/algorithm_override.h"
#include "plan/algorithm_parts.h"
#include "plan/composite_algorithms.h"
#include "plan/direct_algorithms.h"
#include "plan/doubling_algorithms.h"
#include "plan/level_algorithms.h"
#include "plan/node_rings.h"
#include "plan/permute_algorithm.h"
#include "plan/ring_algorithms.h"
#include "plan/routed_load.h"
#include "plan/routes.h"
#include "plan/snake_algorithm.h"
#include "plan/torus_algorithms.h"
#include "plan/tree_algorithms.h"

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

namespace {

// What a device has of a port when of each group sends only it, or its node below the NICs.
BytesPerSec share_of_port(const Cluster& cluster, const Port& port, std::span<const int> axes,
                          int nic) {
  double sharers = cluster.sharers(port);
  for (const int a : axes) {
    const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
    if (axis.level >= nic && !port.block.empty())
      sharers /= port.block[static_cast<std::size_t>(a)];
  }
  return port.bandwidth / sharers;
}

GroupAxis star_axis(const Cluster& cluster, const Axis& axis, std::span<const int> axes) {
  const Level& level = cluster.levels[static_cast<std::size_t>(axis.level)];
  GroupAxis made{axis.size, Wiring::star, {}, level.latency};
  for (const int p : level.up) {
    const Port& port = cluster.ports[static_cast<std::size_t>(p)];
    const BytesPerSec share = port.bandwidth / cluster.sharers(port);
    const int nic = nic_level(cluster, axis.level);
    made.climbs.push_back(
        {p, share, share_of_port(cluster, port, axes, nic), share_of_port(cluster, port, axes, 0)});
    made.w1 = made.w1 == BytesPerSec{} ? share : std::min(made.w1, share);
  }
  made.aligned = level.rails;
  made.reduces = level.reduces;
  return made;
}

GroupAxis grid_axis(const Cluster& cluster, int a) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
  const Port& port = cluster.ports[static_cast<std::size_t>(cluster.port_of(a, 1))];
  if (axis.wiring == Wiring::full_mesh) {
    return {axis.size, Wiring::full_mesh, port.bandwidth, port.latency, axis.size - 1};
  }
  const bool part = axis.wiring == Wiring::ring && !cluster.wraps(a);
  const Wiring wiring = part ? Wiring::line : axis.wiring;
  return {axis.size, wiring, port.bandwidth / axis.stride, axis.stride * port.latency,
          wiring == Wiring::ring ? 2 : 1};
}

// Whether axis b goes on where axis a ends: the part next to it of one grid's axis, or any other
// part of a full mesh.
bool goes_on(const Axis& a, const Axis& b) {
  if (a.hardware != b.hardware || a.wiring == Wiring::star) return false;
  return a.wiring == Wiring::full_mesh || a.stride == b.stride * b.size;
}

// Whether two axes are parts of one axis of a grid.
bool any_meet(const Cluster& cluster, const GroupNet& net) {
  std::set<int> grids;
  return std::any_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& made) {
    const Axis& axis = cluster.axes[static_cast<std::size_t>(made.axes.front())];
    return axis.wiring != Wiring::star && !grids.insert(axis.hardware).second;
  });
}

// Whether a link belongs to the network along the axis.
bool serves(const Cluster& cluster, const Axis& axis, const GroupAxis& made, LinkId link) {
  const Port& port = cluster.port(link);
  if (axis.wiring != Wiring::star) {
    return cluster.axes[static_cast<std::size_t>(port.axis)].hardware == axis.hardware;
  }
  const auto index = static_cast<int>(static_cast<std::size_t>(link) % cluster.ports.size());
  const int up = port.direction > 0 ? index : index - 1;  // the port beside it
  return std::any_of(made.climbs.begin(), made.climbs.end(),
                     [&](const Climb& climb) { return climb.port == up; });
}

// The figures of the slowest link along the axis; where one is missing, its neighbours carry what
// would have passed it beside their own. Returns whether any differs.
bool take_slowest(const Cluster& cluster, const Axis& axis, GroupAxis& made) {
  double share = 1;
  Seconds later;
  bool differs = false;
  for (const auto& [link, is] : cluster.changed) {
    if (!serves(cluster, axis, made, link)) continue;
    const Port& port = cluster.port(link);
    differs = true;
    share = std::min(share, is.missing ? 0.5 : is.bandwidth / port.bandwidth);
    later = std::max(later, is.latency - port.latency);
  }
  made.w1 = made.w1 * share;
  for (Climb& climb : made.climbs) {
    climb.all = climb.all * share;
    climb.node = climb.node * share;
    climb.one = climb.one * share;
  }
  made.latency += later * axis.stride;
  return differs;
}

// The ranks of the group one after the other; each step leads to the next.
GroupNet graph_net(const Cluster& cluster, std::span<const int> axes) {
  GroupNet net{{}, &cluster};
  GroupAxis made{1, Wiring::graph, {}, {}};
  for (const int a : axes) {
    const int size = cluster.axes[static_cast<std::size_t>(a)].size;
    if (size == 1) continue;
    made.size *= size;
    made.axes.push_back(a);
  }
  if (made.size == 1) return net;
  net.axes = {made};
  const RoutedLoad step = RoutedLoads(net).of_displacement(1);
  net.axes[0].w1 = Bytes{1} / step.busiest;
  net.axes[0].latency = step.farthest;
  return net;
}

void share_blocks(const Cluster& cluster, GroupNet& net) {
  for (GroupAxis& climbed : net.axes) {
    for (Climb& climb : climbed.climbs) {
      const Port& port = cluster.ports[static_cast<std::size_t>(climb.port)];
      for (const GroupAxis& axis : net.axes) {
        int shared = 1;
        for (const int a : axis.axes)
          if (!port.block.empty()) shared *= port.block[static_cast<std::size_t>(a)];
        climb.block.push_back(shared);
      }
    }
  }
}

}  // namespace

GroupNet group_net(const Cluster& cluster, std::span<const int> axes) {
  if (!cluster.axes.empty() && cluster.axes.front().wiring == Wiring::graph)
    return graph_net(cluster, axes);
  GroupNet net;
  const Axis* before = nullptr;
  for (const int a : axes) {
    const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
    if (axis.size == 1) continue;
    GroupAxis made =
        axis.wiring == Wiring::star ? star_axis(cluster, axis, axes) : grid_axis(cluster, a);
    made.level = axis.level;
    made.name = cluster.levels.size() > 1
                    ? cluster.levels[static_cast<std::size_t>(axis.level)].name
                    : axis.name;
    made.nic_level = nic_level(cluster, axis.level);
    if (take_slowest(cluster, axis, made)) net.uneven = true;
    if (before != nullptr && goes_on(*before, axis)) {
      GroupAxis& whole = net.axes.back();
      made.size *= whole.size;
      made.axes = whole.axes;
      made.wiring = whole.wiring;
      made.ports = made.wiring == Wiring::full_mesh ? made.size - 1 : whole.ports;
      whole = made;
    } else {
      net.axes.push_back(made);
    }
    net.axes.back().axes.push_back(a);
    before = &axis;
  }
  share_blocks(cluster, net);
  net.meets = any_meet(cluster, net);
  net.strided = std::any_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& made) {
    const Axis& minor = cluster.axes[static_cast<std::size_t>(made.axes.back())];
    return minor.stride > 1 && minor.wiring != Wiring::star;
  });
  return net;
}

namespace {

// A row that is made of others.
template <Composite (*parts)(const CollectiveAsk&, const GroupNet&)>
constexpr AlgorithmRow composite(std::string_view name, std::string_view help,
                                 std::string (*why_not)(const CollectiveAsk&, const GroupNet&)) {
  using Row = CompositeRow<parts>;
  AlgorithmRow row{name, help, why_not, Row::plan, Row::form, Row::sends, Row::fold};
  row.parts = parts;
  return row;
}

constexpr std::array<AlgorithmRow, 24> kAlgorithms = {{
    {"ring", "both directions; every shard is halved and both halves go all the way round",
     two_way_ring, plan_ring, form_ring, sends_of_ring, every_translation},
    {"ring-whole", "both directions; whole shards meet half way round", whole_suits, plan_whole,
     form_whole, sends_once, every_translation},
    {"line", "both ways along a line to its ends, whole shards", line_suits, plan_line, form_line,
     sends_line, every_translation},
    {"all-axes",
     "all axes of a torus or mesh at once; pieces in rotated orders, weighted so that every port "
     "is busy",
     balanced, plan_all_axes, form_all_axes, sends_all_axes, every_translation},
    {"axis-by-axis", "one axis of a torus or mesh after the other", several_axes, plan_by_axis,
     form_by_axis, sends_by_axis, every_translation},
    composite<hierarchical>(
        "hierarchical",
        "one level after the other, each by its cheapest algorithm: all-reduce is reduce-scatter "
        "inside, all-reduce across, all-gather inside; a broadcast scatters inside first",
        hierarchical_suits),
    {"hierarchical-pipelined",
     "all-gather across, then inside, in pieces, every level busy at once", gathers_over_levels,
     plan_pipelined, form_pipelined, sends_pipelined, every_translation, pieces_pipelined},
    {"node-rings",
     "rings through all ranks, one for each position inside a node; each leaves by a NIC of its "
     "own",
     node_rings_suit, plan_node_rings, form_node_rings, sends_node_rings, no_translation},
    composite<node_trees>(
        "node-trees",
        "chains inside the nodes, one for each position, and double binary trees across on every "
        "rail (NCCL's tree)",
        node_trees_suit),
    {"rail-aligned",
     "all-to-all inside first, to the rank in the destination's position, then across",
     all_to_all_over_levels, plan_rail_aligned, form_rail_aligned, sends_rail_aligned,
     every_translation},
    {"direct",
     "straight to every destination, or between the root and every other; on a switch "
     "also gathers, with a window of sends at once",
     direct_suits, plan_direct, form_direct, sends_direct, fold_direct, nullptr, true},
    {"in-network", "up to the switch, which adds and sends the sum back to everyone (NVLS, SHARP)",
     in_network_suits, plan_in_network, form_in_network, sends_in_network, every_translation,
     nullptr, false, "the switch reduces (NVLS, SHARP)"},
    {"ring-oneway", "one direction round a ring (or a switch), whole shards", one_way_ring,
     plan_oneway, form_oneway, sends_once, every_translation},
    {"snake", "one ring through all devices of a torus or mesh; halved shards, both directions",
     snake_suits, plan_snake, form_snake, sends_snake, no_translation},
    {"recursive-doubling",
     "on a switch, with the rank at distance 1, 2, 4, …: all shards so far, or whole partial sums",
     recursive_doubling_suits, plan_recursive_doubling, form_recursive_doubling,
     sends_recursive_doubling, fold_doubling},
    {"halving-doubling",
     "on a switch, with the rank at distance N/2, …, 2, 1: half, a quarter, … is added up; and "
     "back "
     "(Rabenseifner)",
     halving_doubling_suits, plan_halving_doubling, form_halving_doubling, sends_halving_doubling,
     fold_doubling},
    {"chain", "piece by piece along a path through all devices, to the root, from it, or both",
     chain_suits, plan_chain, form_chain, sends_chain, no_translation, pieces_chain},
    {"axis-tree",
     "from the root along the first axis of a torus or mesh, from there along the second, …; piece "
     "by piece, to the root, from it, or both",
     axis_tree_suits, plan_axis_tree, form_axis_tree, sends_axis_tree, no_translation,
     pieces_axis_tree},
    {"binomial-tree", "on a switch: whoever has the data passes it on, in log2 N steps",
     binomial_suits, plan_binomial, form_binomial, sends_binomial, no_translation},
    {"double-binary-tree",
     "on a switch: two trees with half of the data each, piece by piece; inner ranks of one are "
     "leaves of the other",
     double_tree_suits, plan_double_tree, form_double_tree, sends_double_tree, no_translation,
     pieces_double_tree},
    composite<scatter_gather>(
        "scatter-gather",
        "a broadcast as scatter and all-gather, a reduce as reduce-scatter and gather",
        scatter_gather_suits),
    {"dissemination", "every rank tells the one 1, 2, 4, … further along each axis",
     dissemination_suits, plan_dissemination, form_dissemination, sends_dissemination,
     every_translation},
    {"shift", "every rank to the rank a fixed distance further", shift_suits, plan_shift,
     form_shift, sends_shift, every_translation},
    {"permutation", "every rank to the rank that holds its block afterwards (reshards)",
     permutation_suits, plan_permutation, form_permutation, sends_permutation, fold_permutation},
}};

constexpr std::array<Collective, 10> kKinds = {
    Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
    Collective::all_to_all, Collective::broadcast,      Collective::reduce,
    Collective::gather,     Collective::scatter,        Collective::collective_permute,
    Collective::barrier};

// kAlgorithms, but for a row that a test has replaced.
std::array<AlgorithmRow, kAlgorithms.size()>& table() {
  static std::array<AlgorithmRow, kAlgorithms.size()> rows = kAlgorithms;
  return rows;
}

AlgorithmRow& row_like(const AlgorithmRow& row) {
  const auto at = std::find_if(table().begin(), table().end(),
                               [&](const AlgorithmRow& one) { return one.name == row.name; });
  must(at != table().end(), "only a row of the table is replaced");
  return *at;
}

bool declared(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(),
                     [](const GroupAxis& axis) { return axis.reduces; });
}

}  // namespace

std::span<const AlgorithmRow> algorithms() {
  return table();
}
std::span<const Collective> collective_kinds() {
  return kKinds;
}

AlgorithmOverride::AlgorithmOverride(const AlgorithmRow& row)
    : before_(std::exchange(row_like(row), row)) {}
AlgorithmOverride::~AlgorithmOverride() {
  row_like(before_) = before_;
}

const AlgorithmRow* find_algorithm(std::string_view name) {
  for (const AlgorithmRow& row : algorithms()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmRow& row : algorithms()) names.emplace_back(row.name);
  return names;
}

std::string unsuited(const AlgorithmRow& row, const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.pieces > 0 && row.pieces == nullptr) {
    return "it does not cut the data into a number of pieces";
  }
  if (ask.window > 0 && !row.windowed) return "it has no window of sends under way";
  return row.why_not(ask, net);
}

std::vector<const AlgorithmRow*> considered(const CollectiveAsk& ask, const GroupNet& net) {
  std::vector<const AlgorithmRow*> rows;
  for (const AlgorithmRow& row : algorithms()) {
    if (!row.assumption.empty() && !declared(net)) continue;
    if (unsuited(row, ask, net).empty()) rows.push_back(&row);
  }
  return rows;
}

Choice cheapest(std::span<const AlgorithmRow* const> rows,
                const std::function<Seconds(const AlgorithmRow&)>& time_of) {
  Choice choice;
  for (const AlgorithmRow* row : rows) {
    const Seconds time = time_of(*row);
    // Equal up to rounding counts as a tie.
    if (choice.best == nullptr || time < choice.best_time * (1 - 1e-12)) {
      choice.runner_up = std::exchange(choice.best, row);
      choice.runner_up_time = std::exchange(choice.best_time, time);
    } else if (choice.runner_up == nullptr || time < choice.runner_up_time * (1 - 1e-12)) {
      choice.runner_up = row;
      choice.runner_up_time = time;
    }
  }
  return choice;
}

Choice choose_algorithm(const CollectiveAsk& ask, const GroupNet& net) {
  return cheapest(considered(ask, net),
                  [&](const AlgorithmRow& row) { return row.closed_form(ask, net).time; });
}

}  // namespace shardsim
