// From a run to ops: problems gathered while preparing, micro-batches, graphs that would be too
// large, algorithms picked and described, routes interned.
#include "plan/lower.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "../support/networks.h"
#include "plan/graph_builder.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "sharding.h"
#include "spec/load.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;

namespace {

RunSpec spec_of(const std::string& run, const std::vector<std::string>& changes) {
  std::vector<Override> overrides;
  for (const std::string& change : changes) overrides.push_back({change});
  return load_run(std::string(SHARDSIM_SOURCE_DIR) + "/configs/runs/" + run + ".yaml", overrides);
}

using Texts = std::vector<std::string>;

// "message | hint" of every problem that f throws.
template <class F>
Texts complaints(F f) {
  Texts result;
  try {
    f();
  } catch (const ConfigError& e) {
    for (const Problem& p : e.problems()) {
      result.push_back(p.message + (p.hint.empty() ? "" : " | " + p.hint));
    }
  }
  return result;
}

Texts prepare_complaints(const Texts& changes) {
  return complaints([&] { (void)prepare(spec_of("dp-ring8", changes)); });
}

}  // namespace

TEST_CASE("prepare: all problems that can be seen together are said together") {
  CHECK(prepare_complaints({}) == Texts{});
  CHECK(prepare_complaints({"layers=99", "batch.global=7", "collectives.all-gathr=ring",
                            "collectives.all-reduce=rings"}) ==
        Texts{"expected at most the 32 layers of llama3-8b, found 99",
              "expected a collective, found \"all-gathr\" | did you mean \"all-gather\"?",
              "expected a collective algorithm, found \"rings\" | did you mean \"ring\"?",
              "batch.global = 7 sequences cannot be cut over 8 devices (X): 8 does not divide 7"});
  CHECK(prepare_complaints({"sharding.tp=X", "sharding.sp=true", "tensors=[\"Wz[D]\"]"}) ==
        Texts{"mesh axis X is used by dp and by tp | give each its own mesh axis",
              "the layer has no tensor \"Wz\" | did you mean \"Wq\"?"});
}

TEST_CASE("prepare: an algorithm that does not suit is said once, not for every collective") {
  CHECK(prepare_complaints({"collectives.all-reduce=ring"}) ==
        Texts{"ring cannot do this all-reduce: the ring has links in one direction only | "
              "ring-oneway can"});
}

TEST_CASE("lower: reductions that wait for the step come with the last micro-batch alone") {
  struct Row {
    std::string run, tensor;
    int of_each_step;  // collectives on the tensor for 3 micro-batches of 2 layers
    Texts changes = {};
  };
  // dp: dWq is reduced once; fsdp: scattered by every micro-batch, and Wq gathered twice by each.
  for (const Row& row : {Row{"dp-ring8", "dWq", 2}, Row{"fsdp-ring8", "dWq", 2 * 3},
                         Row{"fsdp-ring8", "Wq", 2 * 3 * 2}, Row{"dp-ring8", "Wq", 0},
                         Row{"dp-ring8", "dWq", 2 * 3, {"sharding.sync=true"}},
                         Row{"fsdp-ring8", "dWq", 2, {"sharding.no_sync=true"}}}) {
    CAPTURE(row.run);
    CAPTURE(row.tensor);
    CAPTURE(row.changes);
    Texts changes = row.changes;
    changes.insert(changes.end(), {"layers=2", "batch.global=24", "batch.micro=1"});
    const RunSpec spec = spec_of(row.run, changes);
    const Prepared run = prepare(spec);
    CHECK(run.batch.microbatches == 3);
    const Lowered made = lower(spec, run, {});
    CHECK(check(made.graph) == Texts{});
    int count = 0;
    for (std::size_t i = 0; i < made.plan.collectives.size(); ++i) {
      if (made.plan.collectives[i].tensor != row.tensor) continue;
      for (const Occurrence& once : made.plan.collectives[i].times) {
        ++count;
        const Op& end = made.graph.ops[static_cast<std::size_t>(once.end[0])];
        if (row.of_each_step == 2) CHECK(made.graph.origins[end.origin].microbatch == 2);
      }
    }
    CHECK(count == row.of_each_step);
    // Statements run for every layer and micro-batch, forward ones before their backward ones.
    std::map<std::pair<int, int>, int> computes;
    Pass pass = Pass::forward;
    int turns = 0;
    for (const Op& op : made.graph.ops) {
      if (op.kind != OpKind::compute) continue;
      const Origin& origin = made.graph.origins[op.origin];
      ++computes[{origin.layer, origin.microbatch}];
      if (origin.pass != pass) ++turns;
      pass = origin.pass;
    }
    CHECK(computes.size() == 2 * 3);
    for (const auto& [where, n] : computes) CHECK(n == computes.begin()->second);
    CHECK(turns == 2 * 3 - 1);
  }
}

TEST_CASE("lower: a graph that would be too large is refused before it is made") {
  const std::string cube = "cluster.topology={kind: torus, axes: {x: 32, y: 32, z: 32}}";
  const Texts changes = {cube, "mesh.X=[x, y, z]", "batch.global=32768"};
  const RunSpec spec = spec_of("fsdp-ring8", changes);
  const Prepared run = prepare(spec);
  const Texts said = complaints([&] { (void)lower(spec, run, {Grain::flow, true}); });
  REQUIRE(said.size() == 1);
  CHECK(said[0] ==
        "expected at most 12 million operations, found about 544 million (about 101.4 GiB) | leave "
        "out --full: folding by symmetry gives the same times");
  const Lowered folded = lower(spec, run, {Grain::flow, false});
  CHECK(folded.graph.device_classes == 1);
  CHECK(check(folded.graph) == Texts{});
}

TEST_CASE("the limit of operations, and what to do about it") {
  // When folded a tenth, and in the fluid grain a tenth again.
  const auto said = [](double ops, bool full, Grain grain = Grain::flow) {
    const auto others = [&](bool its_full, Grain its_grain) {
      return ops * (full && !its_full ? 0.1 : 1) * (its_grain != grain ? 0.1 : 1);
    };
    return complaints([&] {
      refuse_too_many_ops(ops, smaller_replays(full, grain, "devices", others),
                          argument_pos("test", "x"));
    });
  };
  const auto hint = [&](double ops, bool full, Grain grain = Grain::flow) {
    const Texts all = said(ops, full, grain);
    return all.empty() ? std::string() : all[0].substr(all[0].find("| ") + 2);
  };
  // What is advised is not refused again.
  CHECK(hint(2e8, true) == "fewer devices, or --grain fluid without --full");
  CHECK(hint(2e9, true) == "fewer devices");
  CHECK(hint(2e8, false) == "fewer devices");
  CHECK(hint(1e8, true, Grain::fluid) ==
        "leave out --full: folding by symmetry gives the same times");
  CHECK(hint(2e8, true, Grain::fluid) == "fewer devices");
  CHECK(said(1.2e7, true) == Texts{});
  CHECK(said(3.1e7, true) ==
        Texts{"expected at most 12 million operations, found about 31 million (about 5.774 GiB) | "
              "leave out --full: folding by symmetry gives the same times"});
  CHECK(said(3.1e7, false) ==
        Texts{"expected at most 12 million operations, found about 31 million (about 5.774 GiB) | "
              "fewer devices, or --grain fluid"});
  CHECK(
      said(1.36e13, false) ==
      Texts{"expected at most 12 million operations, found about 13.6 trillion (about 2.416 PiB) | "
            "fewer devices"});
}

TEST_CASE("estimated ops are the messages that are made, and a tenth for their one link") {
  for (const char* topology : {"ring:8", "ring-oneway:5", "torus:4x4", "torus:4x3", "switch:6"}) {
    CAPTURE(topology);
    const Cluster c = cluster(topology);
    for (const Collective kind : {Collective::all_gather, Collective::all_reduce}) {
      const CollectiveAsk ask{kind, Bytes{1e6}, 1};
      const CollectiveCall call{ask, choose_algorithm(ask, group_net(c, all_axes(c))).best,
                                all_axes(c)};
      const Lowered made = lower_collectives({c, {call}, Grain::flow, true});
      const auto transfers = static_cast<double>(
          std::count_if(made.graph.ops.begin(), made.graph.ops.end(),
                        [](const Op& op) { return op.kind == OpKind::transfer; }));
      const Fold full = Fold::full(c);
      CHECK(estimated_ops(call, c, full, Grain::flow) ==
            doctest::Approx(1.1 * transfers).epsilon(1e-12));
      CollectiveAsk merged = ask;
      merged.merged = true;
      const GroupNet net = group_net(c, all_axes(c));
      double sends = 0;
      for (const Send& send : call.algorithm->plan(merged, net, net.sizes()).sends)
        sends += send.is_join() ? 0 : 1;
      CHECK(estimated_ops(call, c, full, Grain::fluid) ==
            doctest::Approx(0.11 * sends + 10.0 * c.devices() * static_cast<double>(c.ports.size()))
                .epsilon(1e-12));
    }
  }
}

TEST_CASE("a collective of one device is described as nothing and takes no time") {
  const Cluster c = cluster("ring:4");
  for (const Collective kind : collective_kinds()) {
    const CollectiveCall call{{kind, Bytes{1e6}, 1}, nullptr, {}};
    const CollectiveInstance one = describe_call(call, c, {});
    CHECK(one.algorithm == "none");
    CHECK(one.formula == "0: one device");
    CHECK(one.convention == "one device: nothing is sent");
    CHECK(one.devices == 1);
    CHECK(one.analytic == Seconds{0});
    CHECK(one.textbook_formula == "");
    CHECK(estimated_ops(call, c, Fold::orbits(c), Grain::flow) == 1);
    const Lowered made = lower_collectives({c, {call}, Grain::flow, false});
    CHECK(check(made.graph) == Texts{});
    for (const Op& op : made.graph.ops) CHECK(op.kind == OpKind::join);
    const Timeline timeline = replay_ideal(made.graph);
    for (const Seconds end : timeline.end) CHECK(end == Seconds{0});
  }
}

TEST_CASE("picking an algorithm: why, and why not") {
  const Cluster c = cluster("ring:4");
  struct Row {
    std::string wanted;
    Collective kind;
    std::vector<int> axes;
    std::string algorithm, reason;  // or problem, when there is no algorithm
  };
  const std::vector<Row> rows = {
      {"ring", Collective::all_gather, {0}, "ring", "ring, as asked for"},
      {"auto",
       Collective::collective_permute,
       {0},
       "shift",
       "shift (2.5 us): the only one that suits"},
      {"auto", Collective::all_gather, {}, "", "one device: nothing is sent"},
      {"ring", Collective::all_gather, {}, "", "one device: nothing is sent"},
      {"shift",
       Collective::all_gather,
       {0},
       "",
       "shift cannot do this all-gather: it is for collective-permute, not all-gather | ring can"},
      {"wring",
       Collective::all_gather,
       {},
       "",
       "expected a collective algorithm, found \"wring\" | did you mean \"ring\"?"}};
  for (const Row& row : rows) {
    CAPTURE(row.wanted);
    std::vector<Problem> problems;
    const AlgorithmChoice choice =
        pick_algorithm(row.wanted, {{row.kind, Bytes{1e6}, 1}, nullptr, row.axes}, c,
                       argument_pos("--algorithm", row.wanted), problems);
    CHECK((choice.row == nullptr ? "" : std::string(choice.row->name)) == row.algorithm);
    const std::string said =
        problems.empty() ? choice.reason : problems[0].message + " | " + problems[0].hint;
    CHECK(said == row.reason);
  }
}

TEST_CASE("graph builder: routes are interned as multisets of link orbits") {
  const Cluster c = cluster("torus:4x2");
  GraphBuilder builder(c, Fold::orbits(c));
  const std::uint32_t a = builder.link_index(c.link(DeviceId{0}, 0));
  CHECK(builder.link_index(c.link(DeviceId{5}, 0)) == a);  // one orbit
  const std::uint32_t b = builder.link_index(c.link(DeviceId{3}, 2));
  CHECK(a != b);
  const RouteId ab = builder.route({a, b});
  CHECK(builder.route({b, a}) == ab);
  CHECK(builder.route({a, a, b}) != ab);  // two loads of one link are not one
  const std::uint32_t origin = builder.origin({.name = "o", .stream = "s"});
  const OpId first = builder.join({}, 0, origin);
  const OpId second = builder.join({first, first, first}, 0, origin);
  CHECK(builder.phases(3) == 0);
  CHECK(builder.phases(2) == 3);
  const OpGraph graph = builder.take();
  CHECK(graph.waits_for(second).size() == 1);
  CHECK(graph.phases == 5);
  CHECK(graph.links.size() == 3);  // x+, x- and the cable y+
  CHECK(graph.links[a].name == "x+");
  CHECK(graph.route(ab).size() == 2);

  const GraphBuilder unfolded(c, Fold::full(c));
  CHECK(unfolded.link_index(c.link(DeviceId{5}, 0)) != unfolded.link_index(c.link(DeviceId{0}, 0)));
}

TEST_CASE("a slow chip computes longer, and only it; what waits for it waits") {
  RunSpec spec = spec_of("dp-ring8", {"layers=1"});
  const Prepared even = prepare(spec);
  OverrideSpec slow;
  slow.at = {{"x", 3, {}}};
  slow.speed = {0.5, {}, true};
  spec.topology.overrides = {slow};
  const Prepared uneven = prepare(spec);
  const Lowered before = lower(spec, even, {Grain::fluid, true});
  const Lowered after = lower(spec, uneven, {Grain::fluid, true});
  const Lowered folded = lower(spec, uneven, {Grain::fluid, false});
  CHECK(folded.plan.fold.classes() == 8);
  REQUIRE(before.graph.size() == after.graph.size());
  Seconds computes;
  for (std::size_t i = 0; i < before.graph.size(); ++i) {
    const Op& was = before.graph.ops[i];
    const Op& is = after.graph.ops[i];
    if (was.kind != OpKind::compute) continue;
    CHECK(is.seconds == (is.device == 3 ? 2.0 * was.seconds : was.seconds));
    if (is.device == 3) computes += was.seconds;
  }
  // All compute comes before collectives that wait for the slow chip: its extra time is the step's.
  const Seconds longer =
      replay_simgrid(after.graph).makespan() - replay_simgrid(before.graph).makespan();
  CHECK(longer.v == doctest::Approx(computes.v).epsilon(1e-9));
  CHECK(replay_simgrid(folded.graph).makespan().v ==
        doctest::Approx(replay_simgrid(after.graph).makespan().v).epsilon(1e-9));
}
