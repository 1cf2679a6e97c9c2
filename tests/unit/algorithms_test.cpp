// Every row of the algorithm table, on every small network that it suits: the plan does what the
// collective promises, sends what its closed form charges, and takes exactly that long when
// replayed.
#include "plan/algorithms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "../support/networks.h"
#include "plan/composite.h"
#include "plan/lower_collective.h"
#include "plan/play.h"
#include "plan/routes.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;

using shardsim::testing::small_networks;

namespace {

constexpr Bytes kV{67108864};

struct Case {
  std::string network;
  const AlgorithmRow* row;
  CollectiveAsk ask;
};

// Every row on every network for every kind it suits; rooted ones from the first rank and from a
// middle one; in few pieces, so that playing them stays quick; windows of three sends beside all.
std::vector<CollectiveAsk> asks(Collective kind, const AlgorithmRow& row, int ranks) {
  CollectiveAsk ask;
  ask.kind = kind;
  if (kind != Collective::barrier) ask.bytes = kV;
  if (row.pieces != nullptr) ask.pieces = 3;
  std::vector<CollectiveAsk> result = {ask};
  if (ranks > 7) return result;
  if (rooted(kind)) {
    ask.root = ranks / 2;
    result.push_back(ask);
  } else if (row.windowed) {
    ask.window = 3;
    result.push_back(ask);
  }
  return result;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& name : small_networks()) {
    const Cluster c = cluster(name);
    const GroupNet net = group_net(c, all_axes(c));
    for (const AlgorithmRow& row : algorithms()) {
      for (const Collective kind : collective_kinds()) {
        for (const CollectiveAsk& ask : asks(kind, row, net.ranks())) {
          if (unsuited(row, ask, net).empty()) cases.push_back({name, &row, ask});
        }
      }
    }
  }
  return cases;
}

std::string text(const Case& c) {
  return std::string(c.row->name) + " " + std::string(to_text(c.ask.kind)) + " on " + c.network +
         ", root " + std::to_string(c.ask.root) + ", window " + std::to_string(c.ask.window);
}

CollectivePlan unfolded(const Case& c) {
  const Cluster made = cluster(c.network);
  const GroupNet net = group_net(made, all_axes(made));
  return c.row->plan(c.ask, net, net.sizes());
}

Lowered lowered(const Case& c, Seconds latency, bool full, Grain grain = Grain::flow) {
  CollectiveRequest request;
  request.cluster = cluster(c.network, latency);
  request.calls = {{c.ask, c.row, all_axes(request.cluster)}};
  request.full = full;
  request.grain = grain;
  return lower_collectives(request);
}

CollectivePlan without_waits(const CollectivePlan& plan, std::size_t victim) {
  CollectivePlan result = plan;
  result.after.clear();
  result.after_offset.assign(1, 0);
  result.sends.clear();
  for (std::size_t k = 0; k < plan.sends.size(); ++k) {
    result.add(plan.sends[k], k == victim ? std::span<const std::uint32_t>{} : plan.waits_for(k));
  }
  return result;
}

// Whether send i passes on something that has come before it.
bool relayed(const CollectivePlan& plan, std::size_t i) {
  const Send& send = plan.sends[i];
  for (std::size_t k = 0; k < i; ++k) {
    const Send& other = plan.sends[k];
    if (other.from == other.to || other.to != send.from || send.chunks.dest >= 0) continue;
    if (plan.contains(send.chunks, other.chunks.origin, other.chunks.piece) ||
        plan.contains(other.chunks, send.chunks.origin, send.chunks.piece)) {
      return true;
    }
  }
  return false;
}

// Whether the row is, or is made of, rings through nodes: their steps are not in time.
bool has_node_rings(const AlgorithmRow& row, const CollectiveAsk& ask, const GroupNet& net) {
  if (row.parts == nullptr) return row.name == "node-rings";
  const std::vector<Part> parts = row.parts(ask, net).parts;
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    return has_node_rings(*part.row, part.ask, along(net, part.axes));
  });
}

double off(Seconds a, Seconds b) {
  return b.v == 0 ? std::abs(a.v) : std::abs(a.v / b.v - 1);
}

}  // namespace

TEST_CASE("every plan does what its collective promises") {
  const std::vector<Case> cases = all_cases();
  CHECK(cases.size() > 900);
  for (const Case& c : cases) {
    CAPTURE(text(c));
    const CollectivePlan plan = unfolded(c);
    CHECK(play(plan, targets_of(c.ask, plan.sizes)) == "");
  }
}

TEST_CASE("a dropped send, a doubled one, a lost dependency and a wrong share are noticed") {
  for (const Case& c : all_cases()) {
    if (c.ask.kind == Collective::barrier) continue;  // below
    CAPTURE(text(c));
    const CollectivePlan plan = unfolded(c);
    const std::vector<int> targets = targets_of(c.ask, plan.sizes);
    const bool again = shards_come_again(plan);  // some sends could be spared
    std::size_t victim = again ? 0 : plan.sends.size() / 2;
    while (plan.sends[victim].is_join()) victim = (victim + 1) % plan.sends.size();

    CollectivePlan dropped = plan;  // becomes a join: dependencies stay, bytes do not move
    dropped.sends[victim].to = dropped.sends[victim].from;
    dropped.sends[victim].switch_adds = false;
    CHECK(play(dropped, targets) != "");

    CollectivePlan doubled = plan;
    doubled.add(plan.sends[victim], {});
    if (!again) CHECK(play(doubled, targets) != "");

    CollectivePlan wrong = plan;
    wrong.sends[victim].share *= 1.01;
    CHECK(play(wrong, targets) != "");

    // Some waits only keep a port's order; but where data is relayed, some are needed.
    bool relays = false;
    bool noticed = false;
    for (std::size_t i = 0; i < plan.sends.size() && !noticed; ++i) {
      if (plan.sends[i].is_join() || plan.waits_for(i).empty()) continue;
      if (!relayed(plan, i)) continue;
      relays = true;
      noticed = play(without_waits(plan, i)) != "";
    }
    CHECK(noticed == relays);
  }
}

TEST_CASE("a barrier that lacks a message is noticed on powers of two") {
  int plans = 0;
  for (const Case& c : all_cases()) {
    if (c.ask.kind != Collective::barrier || c.network.find("torus") != std::string::npos) continue;
    CAPTURE(text(c));
    const CollectivePlan plan = unfolded(c);
    if ((plan.ranks() & (plan.ranks() - 1)) != 0) continue;
    ++plans;
    for (std::size_t i = 0; i < plan.sends.size(); ++i) {
      if (plan.sends[i].from == plan.sends[i].to) continue;
      CollectivePlan dropped = plan;
      dropped.sends[i].to = dropped.sends[i].from;
      if (c.row->name != "ring-whole") CHECK(play(dropped) != "");  // the last meet twice there
    }
  }
  CHECK(plans > 10);
}

TEST_CASE("a shift sends every shard once") {
  for (const int by : {1, 2, 3, -1}) {
    for (const std::string& name : small_networks()) {
      CAPTURE(name);
      CAPTURE(by);
      const Cluster c = cluster(name);
      const GroupNet net = group_net(c, all_axes(c));
      const CollectiveAsk ask{Collective::collective_permute, kV, by};
      const CollectivePlan plan = find_algorithm("shift")->plan(ask, net, net.sizes());
      std::vector<int> received(static_cast<std::size_t>(plan.ranks()), 0);
      for (const Send& send : plan.sends) {
        CHECK(send.to ==
              shifted(plan.sizes, send.from, static_cast<int>(plan.sizes.size()) - 1, by));
        ++received[static_cast<std::size_t>(send.to)];
      }
      const bool moves = by % net.axes.back().size != 0;
      for (const int count : received) CHECK(count == (moves ? 1 : 0));
    }
  }
}

TEST_CASE(
    "full replay takes the closed form, with and without latency, folded or not, in both grains") {
  for (const Case& c : all_cases()) {
    for (const double latency : {0.0, 1e-6}) {
      CAPTURE(text(c));
      CAPTURE(latency);
      const Lowered full = lowered(c, Seconds{latency}, true);
      const Lowered folded = lowered(c, Seconds{latency}, false);
      CHECK(check(full.graph).empty());
      CHECK(check(folded.graph).empty());
      const Timeline timeline = replay_simgrid(full.graph);
      CHECK(check(timeline, full.graph).empty());
      const Seconds end = timeline.makespan();
      if (folded.plan.fold.classes() != full.plan.fold.classes())
        CHECK(off(replay_simgrid(folded.graph).makespan(), end) < 1e-9);
      const CollectiveInstance& instance = full.plan.collectives.front();
      if (instance.exact) CHECK(off(end, instance.analytic) < 1e-9);
      // Alone, one phase at a time: the ideal engine agrees, and never exceeds the replay.
      const Seconds ideal = replay_ideal(full.graph).makespan();
      const Cluster& on = full.plan.cluster;
      const GroupNet net = group_net(on, all_axes(on));
      const bool in_step = instance.exact || !has_node_rings(*c.row, c.ask, net);
      if (latency == 0 && in_step) CHECK(off(ideal, end) < 1e-9);
      CHECK(ideal.v <= end.v * (1 + 1e-9));
      // Ranks that do unlike things are fluid by their closed form.
      const std::vector<int> fold = c.row->fold(c.ask, net);
      const bool alike = std::all_of(fold.begin(), fold.end(), [](int step) { return step == 1; });
      if ((latency == 0 && alike) || instance.exact) {
        CHECK(
            off(replay_simgrid(lowered(c, Seconds{latency}, false, Grain::fluid).graph).makespan(),
                end) < 1e-9);
      }
    }
  }
}

namespace {

// Bytes that every link carries.
std::vector<double> carried(const OpGraph& graph) {
  std::vector<double> bytes(graph.links.size(), 0.0);
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : graph.route(op.route)) bytes[link] += op.bytes.v;
  }
  return bytes;
}

}  // namespace

TEST_CASE("the fluid grain puts on every link what the sends do") {
  for (const Case& c : all_cases()) {
    // The parts of a composite run in all groups, also where the root is not.
    if (c.row->parts != nullptr && rooted(c.ask.kind)) continue;
    CAPTURE(text(c));
    const std::vector<double> sends = carried(lowered(c, Seconds{}, true).graph);
    const std::vector<double> fluid = carried(lowered(c, Seconds{}, true, Grain::fluid).graph);
    REQUIRE(sends.size() == fluid.size());
    for (std::size_t link = 0; link < sends.size(); ++link) {
      CAPTURE(link);
      CHECK(std::abs(fluid[link] - sends[link]) <= 1e-12 * kV.v);
    }
  }
}

TEST_CASE("a merged plan has no more sends than its row estimates, and never more than the plan") {
  int shorter = 0;
  for (const Case& c : all_cases()) {
    CAPTURE(text(c));
    const Cluster made = cluster(c.network);
    const GroupNet net = group_net(made, all_axes(made));
    CollectiveAsk merged = c.ask;
    merged.merged = true;
    double sends = 0;
    for (const Send& send : c.row->plan(merged, net, net.sizes()).sends)
      sends += send.is_join() ? 0 : 1;
    CHECK(sends <= c.row->sends_per_rank(merged, net) * net.ranks() * (1 + 1e-12));
    CHECK(sends <= c.row->sends_per_rank(c.ask, net) * net.ranks() * (1 + 1e-12));
    shorter += sends < c.row->sends_per_rank(c.ask, net) * net.ranks() / 2;
  }
  CHECK(shorter > 20);
}

TEST_CASE("a plan has the number of sends that its row estimates") {
  for (const Case& c : all_cases()) {
    CAPTURE(text(c));
    const Cluster made = cluster(c.network);
    const GroupNet net = group_net(made, all_axes(made));
    double sends = 0;
    for (const Send& send : unfolded(c).sends) sends += send.is_join() ? 0 : 1;
    CHECK(sends == doctest::Approx(c.row->sends_per_rank(c.ask, net) * net.ranks()).epsilon(1e-12));
  }
}

TEST_CASE("bytes over a device's ports: what arrives is (N-1)/N of V, of an all-to-all (N-1)/N^2") {
  for (const Case& c : all_cases()) {
    CAPTURE(text(c));
    // Sums that meet half way along a line come in from both sides; bytes that pass two levels come
    // in twice.
    const Cluster made = cluster(c.network);
    const GroupNet net = group_net(made, all_axes(made));
    const bool line = std::any_of(net.axes.begin(), net.axes.end(),
                                  [](const GroupAxis& a) { return a.wiring == Wiring::line; });
    const bool reduces =
        c.ask.kind == Collective::reduce_scatter || c.ask.kind == Collective::all_reduce;
    if ((line && reduces) || c.row->name == "rail-aligned") continue;
    const CollectivePlan plan = unfolded(c);
    const double n = plan.ranks();
    std::vector<double> arrives(static_cast<std::size_t>(plan.ranks()), 0.0);
    std::vector<double> leaves = arrives;
    for (const Send& send : plan.sends) {
      if (send.is_join()) continue;
      arrives[static_cast<std::size_t>(send.to)] += send.share;
      leaves[static_cast<std::size_t>(send.from)] += send.share;
    }
    const auto is = [](double share, double want) {
      CHECK(share == doctest::Approx(want).epsilon(1e-12));
    };
    const auto root = static_cast<std::size_t>(plan.root);
    double want = (n - 1) / n;
    if (c.ask.kind == Collective::all_reduce) want *= 2;
    if (c.row->name == "in-network") want = 1;  // the sum, whole
    if (c.ask.kind == Collective::all_to_all) want = (n - 1) / (n * n);
    if (c.ask.kind == Collective::collective_permute) want = 1 / n;
    if (c.ask.kind == Collective::barrier) want = 0;
    if (c.ask.kind == Collective::scatter) {
      is(leaves[root], want);
    } else if (c.ask.kind == Collective::gather) {
      is(arrives[root], want);
    } else if (rooted(c.ask.kind)) {  // a tree: everybody but the root gets, or gives, V once
      const auto& once = c.ask.kind == Collective::broadcast ? arrives : leaves;
      for (std::size_t r = 0; r < once.size(); ++r) {
        if (c.row->parts == nullptr) is(once[r], r == root ? 0 : 1);
        CHECK(once[r] >= (r == root ? 0 : 1 - 1e-12));  // parts: shards may be relayed
      }
    } else if (c.row->name == "chain" || c.row->name == "axis-tree" ||
               c.row->name == "double-binary-tree" ||
               c.row->name == "binomial-tree") {  // V up, V down
      double all = 0;
      for (const double share : arrives) all += share;
      is(all, want == 0 ? 0 : 2 * (n - 1));
    } else {
      const bool doubles = c.row->name == "recursive-doubling" ||
                           c.row->name == "halving-doubling" || c.row->parts != nullptr;
      for (const double share : arrives) {
        if (!doubles) is(share, want);
        CHECK(share >= (doubles ? 0 : want * (1 - 1e-12)));
      }
    }
  }
}

TEST_CASE("small all-reduces over trees of nodes: latency grows as the logarithm of their number") {
  const auto time = [&](int nodes) {
    const Cluster c = cluster("switch:8 | rails:" + std::to_string(nodes), Seconds{1e-6});
    const CollectiveAsk ask{Collective::all_reduce, Bytes{64}, 1};
    return find_algorithm("node-trees")->closed_form(ask, group_net(c, all_axes(c))).time;
  };
  for (int nodes = 4; nodes <= 1024; nodes *= 2) {
    CAPTURE(nodes);
    // A level more of both trees, up and down, at 2 us a slot.
    CHECK((time(2 * nodes) - time(nodes)) / Seconds{1e-6} == doctest::Approx(8).epsilon(1e-3));
  }
}

TEST_CASE("pieces: a double binary tree takes two slots for each, a chain one") {
  for (int n = 2; n <= 33; ++n) {
    for (const int pieces : {1, 2, 3, 5, 8, 21, 64}) {
      CAPTURE(n);
      CAPTURE(pieces);
      for (const char* name : {"chain", "double-binary-tree"}) {
        CAPTURE(name);
        Case c{"switch:" + std::to_string(n), find_algorithm(name), {}};
        c.ask = {Collective::broadcast, kV, 1};
        c.ask.root = n / 3;
        c.ask.pieces = pieces;
        const Lowered made = lowered(c, Seconds{1e-6}, true);
        CHECK(off(replay_ideal(made.graph).makespan(), made.plan.collectives.front().analytic) <
              1e-9);
      }
    }
  }
}

TEST_CASE("the default number of pieces is the one with the smallest closed form") {
  for (const char* name : {"chain", "double-binary-tree"}) {
    for (const double latency : {1e-7, 1e-6, 1e-5}) {
      CAPTURE(name);
      CAPTURE(latency);
      const AlgorithmRow* row = find_algorithm(name);
      const Cluster c = cluster("switch:8", Seconds{latency});
      const GroupNet net = group_net(c, all_axes(c));
      CollectiveAsk ask{Collective::broadcast, kV, 1};
      const int best = row->pieces(ask, net);
      const Seconds least = row->closed_form(ask, net).time;
      for (const int other : {best / 2 + 1, best - best / 10 - 1, best + best / 10 + 1, 2 * best}) {
        ask.pieces = other;
        CHECK(row->pieces(ask, net) == other);
        CHECK(least.v <= row->closed_form(ask, net).time.v * (1 + 1e-9));
      }
    }
  }
  const Cluster c = cluster("switch:8");
  const CollectiveAsk ask{Collective::broadcast, kV, 1};
  CHECK(find_algorithm("chain")->pieces(ask, group_net(c, all_axes(c))) == 64);
}

TEST_CASE("unequal axes are kept busy: the bound is reached") {
  // JAX Scaling Book ch. 3, exact: (N-1)/N * V over all ports; shares of the rotated orders.
  struct Row {
    const char* network;
    std::vector<int> sizes;
    std::vector<double> shares;
    double us;
  };
  const Row rows[] = {{"torus:8x4", {8, 4}, {25.0 / 42, 17.0 / 42}, 162.52928},
                      {"torus:16x4", {16, 4}, {19.0 / 30, 11.0 / 30}, 165.15072},
                      {"torus:6x4x4", {6, 4, 4}, {17.0 / 45, 13.0 / 45, 1.0 / 3}, 110.683022},
                      {"torus:5x4x3", {5, 4, 3}, {15.0 / 36, 11.0 / 36, 10.0 / 36}, 109.983972}};
  for (const Row& row : rows) {
    CAPTURE(row.network);
    const Cluster c = cluster(row.network);
    const GroupNet net = group_net(c, all_axes(c));
    const CollectiveAsk ask{Collective::all_gather, kV, 1};
    const AlgorithmRow* all = find_algorithm("all-axes");
    const CollectivePlan plan = all->plan(ask, net, net.sizes());
    for (std::size_t j = 0; j < row.shares.size(); ++j) {
      CHECK(plan.piece_share[2 * j] == doctest::Approx(row.shares[j] / 2).epsilon(1e-12));
    }
    for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter}) {
      const Lowered full = lowered({row.network, all, {kind, kV, 1}}, Seconds{0}, true);
      CHECK(replay_simgrid(full.graph).makespan().v * 1e6 == doctest::Approx(row.us).epsilon(1e-8));
    }
  }
}

TEST_CASE("auto takes the smallest closed form and names the runner-up") {
  struct Row {
    const char* network;
    Collective kind;
    double bytes, latency;
    const char* best;
    const char* second;
  };
  const Row rows[] = {
      {"ring:8", Collective::all_gather, 64e6, 0, "ring", "ring-whole"},
      {"ring:8", Collective::all_gather, 64, 1e-6, "ring-whole", "ring"},
      {"ring:8", Collective::broadcast, 64e6, 1e-6, "chain", "scatter-gather"},
      {"ring:8", Collective::broadcast, 64, 1e-6, "axis-tree", "chain"},
      {"ring:8", Collective::scatter, 64e6, 1e-6, "direct", ""},
      {"ring:8", Collective::barrier, 0, 1e-6, "ring-whole", "dissemination"},
      {"ring-oneway:8", Collective::all_reduce, 64e6, 0, "ring-oneway", ""},
      {"ring-oneway:8", Collective::reduce, 64e6, 0, "chain", "axis-tree"},
      {"switch:8", Collective::all_gather, 64e6, 1e-6, "direct", "recursive-doubling"},
      {"switch:8", Collective::all_reduce, 64e6, 1e-6, "direct", "halving-doubling"},
      {"switch:2", Collective::all_reduce, 64e6, 1e-6, "recursive-doubling", "direct"},
      {"switch:8", Collective::broadcast, 64e6, 1e-6, "double-binary-tree", "chain"},
      {"switch:8", Collective::broadcast, 64, 1e-6, "scatter-gather", "binomial-tree"},
      {"switch:8", Collective::gather, 64e6, 1e-6, "direct", "binomial-tree"},
      {"switch:8", Collective::barrier, 0, 1e-6, "dissemination", "chain"},
      {"torus:4x4", Collective::all_gather, 64e6, 1e-6, "all-axes", "axis-by-axis"},
      {"torus:8x2", Collective::all_gather, 64e6, 1e-6, "all-axes", "snake"},
      {"torus:6x4x4", Collective::all_gather, 64, 1e-6, "axis-by-axis", "snake"},
      {"torus:4x4", Collective::all_to_all, 64e6, 0, "direct", ""},
      {"torus:4x4", Collective::reduce, 64e6, 1e-6, "scatter-gather", "chain"},
      {"torus:4x4", Collective::reduce, 64, 1e-6, "axis-tree", "scatter-gather"},
      {"torus:4x4", Collective::gather, 64e6, 1e-6, "direct", ""},
      {"torus:4x4", Collective::barrier, 0, 1e-6, "dissemination", "axis-tree"},
      {"switch:8 | rails:64", Collective::all_reduce, 64, 1e-6, "hierarchical",
       "hierarchical-pipelined"},
      {"switch:8 | rails:64", Collective::broadcast, 64e6, 1e-6, "scatter-gather", "hierarchical"}};
  for (const Row& row : rows) {
    CAPTURE(row.network);
    const Cluster c = cluster(row.network, Seconds{row.latency});
    const Choice choice =
        choose_algorithm({row.kind, Bytes{row.bytes}, 1}, group_net(c, all_axes(c)));
    REQUIRE(choice.best != nullptr);
    CHECK(choice.best->name == row.best);
    CHECK((choice.runner_up == nullptr ? "" : choice.runner_up->name) == row.second);
  }
}

TEST_CASE("all axes of a longer mesh: pieces in other orders wait for one another") {
  for (const double latency : {0.0, 1e-6}) {
    for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter}) {
      const Case c{"mesh:7x7", find_algorithm("all-axes"), {kind, kV, 1}};
      const Lowered full = lowered(c, Seconds{latency}, true);
      CHECK(full.plan.collectives.front().exact);
      CHECK(off(replay_simgrid(full.graph).makespan(), full.plan.collectives.front().analytic) <
            1e-9);
    }
  }
}

TEST_CASE("rings of nodes need NICs; strided groups share links, so rooted kinds are estimates") {
  const Cluster leaves = cluster("switch:4 | switch:2 /4");
  const CollectiveAsk gather{Collective::all_gather, kV, 1};
  CHECK(find_algorithm("node-rings")->why_not(gather, group_net(leaves, all_axes(leaves))) ==
        "its nodes have no NICs of their own");
  Cluster ring = cluster("ring:6");
  split_axis(ring, 0, 3);
  const std::vector<int> strided = {0};
  const CollectiveAsk scatter{Collective::scatter, kV, 1};
  CHECK(!find_algorithm("direct")->closed_form(scatter, group_net(ring, strided)).exact);
}

TEST_CASE("a switch that adds: named anywhere, by auto only where it is declared") {
  Cluster c = cluster("switch:8");
  const CollectiveAsk reduce{Collective::all_reduce, kV, 1};
  const CollectiveAsk gather{Collective::all_gather, kV, 1};
  const AlgorithmRow* row = find_algorithm("in-network");
  CHECK(row->why_not(reduce, group_net(c, all_axes(c))).empty());
  CHECK(row->why_not(gather, group_net(c, all_axes(c))).find("gains nothing") != std::string::npos);
  CHECK(choose_algorithm(reduce, group_net(c, all_axes(c))).best->name == "direct");
  c.levels[0].reduces = true;
  const Choice choice = choose_algorithm(reduce, group_net(c, all_axes(c)));
  CHECK(choice.best == row);
  CHECK(choice.runner_up->name == "direct");
  CHECK(choose_algorithm(gather, group_net(c, all_axes(c))).best->name == "direct");
  const Cluster ring = cluster("ring:8");
  CHECK(row->why_not(reduce, group_net(ring, all_axes(ring))).find("only a switch") !=
        std::string::npos);
}

TEST_CASE("routes split ties and are shortest") {
  const Cluster ring = cluster("ring:8");
  CHECK(routes(ring, DeviceId{0}, DeviceId{3}).size() == 1);
  CHECK(routes(ring, DeviceId{0}, DeviceId{3})[0].links.size() == 3);
  const std::vector<Route> tie = routes(ring, DeviceId{0}, DeviceId{4});
  REQUIRE(tie.size() == 2);
  CHECK(tie[0].share == 0.5);
  CHECK(ring.port(tie[0].links[0]).name == "x+");
  CHECK(ring.port(tie[1].links[0]).name == "x-");
  CHECK(routes(cluster("torus:4x4x4"), DeviceId{0}, DeviceId{42}).size() ==
        8);  // (2,2,2): three ties
  const Cluster star = cluster("switch:8", Seconds{1e-6});
  CHECK(routes(star, DeviceId{1}, DeviceId{2})[0].latency.v == 1e-6);  // once per route
  const Route back = through_switch(star, DeviceId{3}, 0);
  CHECK(back.links == std::vector<LinkId>{star.link(DeviceId{3}, 0), star.link(DeviceId{3}, 1)});
  CHECK(back.latency.v == 1e-6);
  const Cluster oneway = cluster("ring-oneway:8");
  CHECK(routes(oneway, DeviceId{0}, DeviceId{7})[0].links.size() == 7);
}

// x has one cable of W1 = 100 GB/s, y a ring with W = 200 GB/s: max(2/100, 8/200) * V/(4*16).
TEST_CASE("textbook: an all-to-all takes as long as on the axis that needs longest") {
  const Cluster made = cluster("torus:2x8");
  const std::vector<int> both = {0, 1};
  const ClosedForm book = textbook({Collective::all_to_all, Bytes{64e9}}, group_net(made, both));
  CHECK(std::abs(book.time / Seconds{8.0 / 200 / 64 * 64} - 1) < 1e-12);
  CHECK(book.formula == "max(A/W)*V/(4*N)");
}
