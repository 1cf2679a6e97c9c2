// Memory by replay: lifetimes of arrays, what the tasks of a layer take and give back, and what
// comes out of whole runs, all worked out by hand.
#include "plan/layer_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plan/lifetimes.h"
#include "plan/lower.h"
#include "plan/prepare.h"
#include "replay/replay.h"
#include "report/memory.h"
#include "sharding.h"
#include "spec/load.h"

using namespace shardsim;

namespace {

RunSpec spec_of(const std::string& run, const std::vector<std::string>& changes) {
  std::vector<Override> overrides;
  for (const std::string& change : changes) overrides.push_back({change});
  return load_run(std::string(SHARDSIM_SOURCE_DIR) + "/configs/runs/" + run + ".yaml", overrides);
}

// "4 dWout = H * dOut: +30 gathered, -30 gathered, -20 activations" by the layer's tasks.
std::vector<std::string> changes_of(const LayerTasks& tasks, const TaskChanges& changes) {
  std::vector<std::string> lines;
  for (const auto* list : {&tasks.forward, &tasks.backward}) {
    for (const Task& task : *list) {
      std::string line = task.collective == nullptr ? task.step->out_name
                                                    : std::string(to_text(task.collective->kind)) +
                                                          " " + task.collective->tensor;
      line += ":";
      for (const MemoryChange& change : changes[static_cast<std::size_t>(task.number)]) {
        line += change.at_end ? " end " : " start ";
        line += std::to_string(static_cast<int>(change.bytes / Bytes{1}));
        if (change.kind != MemoryKind::activations) line += " " + std::string(to_text(change.kind));
      }
      lines.push_back(line);
    }
  }
  return lines;
}

struct OneLayer {
  Prepared run;
  LayerTasks tasks;
  LayerMemory memory;
};

OneLayer one_layer(const std::string& run, const std::vector<std::string>& changes) {
  OneLayer made{prepare(spec_of(run, changes)), {}, {}};
  made.tasks = tasks_of(made.run, made.run.rates);
  made.memory = layer_memory(made.tasks, {made.run.mesh, made.run.precision, made.run.optimizer,
                                          *made.run.attention, made.run.dropout});
  return made;
}

using Lines = std::vector<std::string>;

// Two products and a gelu on one device: In 6 elements, G and H 10, Out 6, both weights 15.
const Lines kTiny = {"cluster.topology=ring:2", "mesh={X: [x]}", "dims={B: 1, T: 2, D: 3, F: 5}",
                     "layer=[\"G[B, T, F] = In[B, T, D] * Win[D, F]\", \"H = gelu(G)\", "
                     "\"Out[B, T, D] = H * Wout[F, D]\"]"};

}  // namespace

TEST_CASE("lifetimes: an array is found by its name and how it is cut") {
  Mesh mesh;
  mesh.axes = {{"X", 2, {0}}, {"data", 4, {1}}, {"one", 1, {2}}};
  const auto cuts = [&](Sharding layout) { return cuts_of(mesh, layout); };
  const Sharding whole{{{"B", {}}, {"D", {}}}, {}};
  const Sharding cut{{{"B", {"X"}}, {"D", {}}}, {}};
  const Sharding further{{{"B", {"X", "data"}}, {"D", {}}}, {}};
  const Sharding other{{{"B", {"data", "X"}}, {"D", {}}}, {}};
  const Sharding partial{{{"B", {"one"}}, {"D", {}}}, {"data", "X", "one"}};
  CHECK(cuts(partial).dims == cuts(whole).dims);
  CHECK(cuts(partial).sums == cuts({whole.dims, {"X", "data"}}).sums);
  CHECK(cuts(whole).sums != cuts(partial).sums);
  struct Row {
    const Sharding &from, &to;
    bool can;
  };
  for (const auto& [from, to, can] :
       {Row{whole, whole, true}, Row{whole, cut, true}, Row{whole, further, true},
        Row{cut, further, true}, Row{cut, whole, false}, Row{further, cut, false},
        Row{cut, other, false}, Row{further, other, false}}) {
    CAPTURE(to_text(from));
    CAPTURE(to_text(to));
    CHECK(cut_from(cuts(from).dims, cuts(to).dims) == can);
  }
  Lifetimes arrays;
  const auto make = [&](int name, const Sharding& layout, double bytes) {
    LivingArray a;
    a.name = name;
    a.layout = cuts(layout);
    a.bytes = Bytes{bytes};
    return arrays.make(a);
  };
  const int large = make(3, whole, 16);
  const int half = make(3, cut, 8);
  const int alike = make(5, further, 2);
  const int again = make(3, cut, 8);
  CHECK(arrays.find(3, cuts(whole)) == large);
  CHECK(arrays.find(3, cuts(cut)) == again);
  CHECK(arrays.find(3, cuts(further)) == again);  // the smallest it can be cut from, the latest
  CHECK(arrays.find(3, cuts(other)) == large);
  CHECK(arrays.find(5, cuts(further)) == alike);
  CHECK(arrays.find(5, cuts(whole)) == -1);
  CHECK(arrays.find(4, cuts(whole)) == -1);
  CHECK(arrays.latest(3) == again);
  CHECK(arrays.latest(9) == -1);
  CHECK(half < again);
}

TEST_CASE("lifetimes: aliases share a buffer, writers need it for themselves") {
  const auto array = [](int made, int last, int from, Sharing sharing) {
    LivingArray a;
    a.bytes = Bytes{8};
    a.made = made;
    a.last = last;
    a.comes_from = from;
    a.sharing = sharing;
    return a;
  };
  const auto lives = [](const std::vector<LivingArray>& arrays) {
    Lifetimes all;
    for (const LivingArray& a : arrays) all.make(a);
    std::vector<std::pair<int, int>> ends;
    for (const Lifetime& l : all.buffers()) ends.emplace_back(l.from, l.to);
    return ends;
  };
  using Ends = std::vector<std::pair<int, int>>;
  using enum Sharing;
  CHECK(lives({array(0, 3, -1, none)}) == Ends{{0, 3}});
  CHECK(lives({array(2, -1, -1, none)}) == Ends{{2, 2}});
  CHECK(lives({array(0, 3, -1, none), array(2, 5, 0, same)}) == Ends{{0, 5}});
  CHECK(lives({array(0, 3, -1, none), array(3, 7, 0, in_place)}) == Ends{{0, 7}});
  CHECK(lives({array(0, 4, -1, none), array(3, 7, 0, in_place)}) == Ends{{0, 4}, {3, 7}});
  // The alias is still read when something is written over it.
  CHECK(lives({array(0, 1, -1, none), array(1, 6, 0, same), array(5, 9, 0, in_place)}) ==
        Ends{{0, 6}, {5, 9}});
  // Handed on: never given back here, and not under a second name that is read later.
  LivingArray leaves = array(3, -1, 0, same);
  leaves.leaves_at = 9;
  CHECK(lives({array(0, 3, -1, none), leaves}) == Ends{{0, -1}});
  CHECK(lives({array(0, 5, -1, none), leaves}) == Ends{{0, 5}, {3, -1}});
  LivingArray there = array(0, 2, -1, none);
  there.was_there = true;
  CHECK(lives({there}) == Ends{{-1, 2}});
  LivingArray back = array(1, 8, -1, none);  // leaves at 4, is still read at 8
  back.leaves_at = 4;
  CHECK(lives({back}) == Ends{{5, 8}, {1, -1}});
}

TEST_CASE("memory of a layer: what tasks take and give back, by hand") {
  const OneLayer made = one_layer("mlp-by-hand", kTiny);
  CHECK(changes_of(made.tasks, made.memory.whole) ==
        Lines{"G: start 20", "H: start 20", "Out: start 12", "dH: start 20",
              "dWout: end -20 end -12 start 30 gathered end -30 gathered",
              "dG: end -20 end -20 start 20", "dIn: start 12",
              "dWin: end -12 end -20 start 30 gathered end -30 gathered"});
  CHECK(made.memory.input == Bytes{12});
}

TEST_CASE("memory of a layer: gradients of weights that come last keep what they read") {
  // dX = dOut = dMlp is one array. The norm's part is added to it in place, unless dWout = H * dMlp
  // is still to come.
  const OneLayer made = one_layer("dp-ring8", {});
  const auto is_norm = [](const Task& task) {
    return task.step->out_name == "dX" && task.step->kind == StatementKind::norm;
  };
  const auto& tasks = made.tasks.backward;
  const auto at = std::find_if(tasks.begin(), tasks.end(), is_norm);
  REQUIRE(at != tasks.end());
  const auto taken = [&](const TaskChanges& changes) {
    Bytes sum;
    for (const MemoryChange& change : changes[static_cast<std::size_t>(at->number)])
      if (change.bytes > Bytes{}) sum += change.bytes;
    return sum;
  };
  CHECK(taken(made.memory.whole) == Bytes{});
  CHECK(taken(made.memory.split) == Bytes{2.0 * 8192 * 4096});
}

TEST_CASE("memory of a layer: weights are whole from their gather to their last reader") {
  std::vector<std::string> changes = kTiny;
  changes[2] = "dims={B: 2, T: 2, D: 4, F: 5}";
  changes.push_back("sharding={fsdp: X}");
  const OneLayer made = one_layer("mlp-by-hand", changes);
  CHECK(changes_of(made.tasks, made.memory.whole) ==
        Lines{"all-gather Win: start 40 gathered", "G: end -40 gathered start 20", "H: start 20",
              "all-gather Wout: start 40 gathered", "Out: end -40 gathered start 16",
              "all-gather Wout: start 40 gathered", "dH: end -40 gathered start 20",
              "dWout: end -20 end -16 start 40 gathered",
              "reduce-scatter dWout: end -40 gathered start 20 gathered end -20 gathered",
              "dG: end -20 end -20 start 20", "all-gather Win: start 40 gathered",
              "dIn: end -40 gathered start 16", "dWin: end -16 end -20 start 40 gathered",
              "reduce-scatter dWin: end -40 gathered start 20 gathered end -20 gathered"});
  // Of two weights of 20 elements, each device holds half: 2, 2 and 12 bytes an element.
  CHECK(made.memory.weights == Bytes{40});
  CHECK(made.memory.gradients == Bytes{40});
  CHECK(made.memory.optimizer == Bytes{240});
}

namespace {

Bytes left_by_forward(const OneLayer& made) {
  Bytes sum;
  for (const Task& task : made.tasks.forward)
    for (const MemoryChange& change : made.memory.whole[static_cast<std::size_t>(task.number)])
      sum += change.bytes;
  return sum;
}

}  // namespace

TEST_CASE("memory of a layer: the formulas of Korthikanti et al. 2022, table 2, exactly") {
  struct Row {
    std::vector<std::string> changes;
    double whole, cut, scores;  // sbh * (whole + cut / t + scores * a * s / (h * t))
  };
  const double s = 2048, b = 1, h = 12288, a = 96, t = 8;
  for (const Row& row :
       {Row{{}, 10, 24, 5}, Row{{"sharding.sp=true", "sharding.regather=true"}, 0, 34, 5},
        Row{{"recompute=selective"}, 10, 24, 0},
        Row{{"sharding.sp=true", "sharding.regather=true", "recompute=selective"}, 0, 34, 0},
        Row{{"recompute=full"}, 2, 0, 0},
        // The gathered inputs of both blocks kept whole.
        Row{{"sharding.sp=true"}, 4, 30, 5},
        // Without dropout before the residual stream: two masks of a byte less.
        Row{{"dropout=false"}, 8, 24, 5},
        // FlashAttention: four bytes for each row of scores, of which there are a * s * b.
        Row{{"dropout=false", "attention=flash"}, 8, 24 + 4 * a / h, 0}}) {
    CAPTURE(row.changes);
    std::vector<std::string> changes = {"model=gpt3-175b",   "layers=1",         "batch.global=1",
                                        "batch.length=2048", "attention=scores", "dropout=true"};
    changes.insert(changes.end(), row.changes.begin(), row.changes.end());
    const double expected = s * b * h * (row.whole + row.cut / t + row.scores * a * s / (h * t));
    CHECK(left_by_forward(one_layer("megatron-ring8", changes)) / Bytes{1} ==
          doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("memory of a layer: everything that is taken is given back") {
  for (const std::string run : {"dp-ring8", "fsdp-ring8", "megatron-ring8", "parallel-ring8",
                                "llama3-70b-v5p-64", "norm-cut-dim", "mlp-by-hand"}) {
    for (const std::string recompute : {"none", "selective", "full"}) {
      for (const std::string attention : {"flash", "scores"}) {
        CAPTURE(run);
        CAPTURE(recompute);
        CAPTURE(attention);
        const OneLayer made =
            one_layer(run, {"recompute=" + recompute, "attention=" + attention, "dropout=true"});
        for (const TaskChanges* changes : {&made.memory.whole, &made.memory.split}) {
          std::map<MemoryKind, Bytes> sums;
          for (const auto& of_task : *changes)
            for (const MemoryChange& change : of_task) sums[change.kind] += change.bytes;
          // Out less dOut, and dIn less In.
          for (const auto& [kind, sum] : sums) CHECK(sum == Bytes{});
        }
      }
    }
  }
}

namespace {

struct Replayed {
  OpGraph graph;
  Timeline timeline;
  std::vector<std::vector<std::uint32_t>> ranks;
};

Replayed replayed(const std::string& run, const std::vector<std::string>& changes,
                  bool full = false) {
  const RunSpec spec = spec_of(run, changes);
  Lowered made = lower(spec, prepare(spec), {.full = full});
  const auto ideal = std::find_if(engines().begin(), engines().end(),
                                  [](const EngineRow& row) { return row.name == "ideal"; });
  Timeline timeline = ideal->run(made.graph);
  return {std::move(made.graph), std::move(timeline), made.plan.ranks};
}

Bytes held(const MemorySplit& split) {
  return split[0] + split[1] + split[2];
}

}  // namespace

TEST_CASE(
    "memory of a run: DP holds 16 bytes a parameter, FSDP an eighth and two gathered layers") {
  const auto peak = [](const Replayed& run) {
    return memory_peaks(run.graph, run.timeline, run.ranks).front().split;
  };
  const double parameters = prepare(spec_of("dp-ring8", {})).layer.parameters();
  CHECK(held(peak(replayed("dp-ring8", {}))) == Bytes{16 * parameters});
  const Replayed run = replayed(
      "fsdp-ring8", {"layers=4", "batch.global=32", "overlap={fsdp_prefetch: 1, fsdp: fsdp1}"});
  CHECK(held(peak(run)) == Bytes{4 * 16 * parameters / 8});
  Bytes gathered;
  const auto course = memory_timelines(run.graph, run.timeline);
  for (const MemoryPoint& point : course[0]) {
    const Origin& at = run.graph.origins[run.graph.ops[static_cast<std::size_t>(point.op)].origin];
    if (at.pass == Pass::forward)
      gathered = std::max(gathered, point.split[static_cast<std::size_t>(MemoryKind::gathered)]);
  }
  // The weights of two layers; when the last of the next one is there, the norm, Q, K and V of this
  // one have been made, and their weights given back.
  CHECK(gathered == Bytes{2 * (2 * parameters - 4096 * (1 + 4096 + 2 * 1024))});
  // 10 bytes: gradients only from the backward pass to the update.
  const Replayed small = replayed("dp-ring8", {"optimizer={bytes: 10, kind: adam}"});
  const auto points = memory_timelines(small.graph, small.timeline)[0];
  CHECK(held(points.front().split) == Bytes{10 * parameters});
  CHECK(held(points.back().split) == Bytes{10 * parameters});
  CHECK(held(peak(small)) == Bytes{12 * parameters});
}

TEST_CASE("memory of a run: it ends as it began, folded and in full, under every schedule") {
  struct Row {
    std::string kind;
    bool blocking = false;  // there are groups of transfers to wait for
  };
  for (const Row& row :
       {Row{"gpipe"}, Row{"1f1b", true}, Row{"interleaved-1f1b"}, Row{"zb-h1"}, Row{"zbv"},
        Row{"dualpipe", true}, Row{"dualpipev", true}, Row{"chimera"}}) {
    for (const std::string p2p : {"async", "serial", "blocking"}) {
      if (p2p == "blocking" && !row.blocking) continue;
      CAPTURE(row.kind);
      CAPTURE(p2p);
      const std::vector<std::string> changes = {
          "cluster.topology=switch:8",
          "mesh={P: 4, X: 2, order: row-major}",
          "sharding={fsdp: X}",
          "layers=8",
          "batch={global: 16, micro: 1, length: 512}",
          "schedule={kind: " + row.kind + ", axis: P, p2p: " + p2p + "}"};
      const Replayed folded = replayed("fsdp-ring8", changes);
      const Replayed full = replayed("fsdp-ring8", changes, true);
      const auto peaks = memory_peaks(folded.graph, folded.timeline, folded.ranks);
      const auto same = memory_peaks(full.graph, full.timeline, full.ranks);
      REQUIRE(peaks.size() == 4);
      const auto timelines = memory_timelines(folded.graph, folded.timeline);
      for (std::size_t r = 0; r < 4; ++r) {
        CHECK(peaks[r].split == same[r].split);
        const auto points = timelines[folded.ranks[r].front()];
        CHECK(held(points.front().split) == held(points.back().split));
        CHECK(total(points.back().split) == held(points.back().split));
        for (const MemoryPoint& point : points)
          for (const Bytes bytes : point.split) CHECK(bytes >= Bytes{});
      }
    }
  }
}

TEST_CASE("memory of a run: 1F1B keeps p - r micro-batches on rank r, GPipe all") {
  const auto peaks = [](const std::string& kind) {
    const Replayed run = replayed(
        "dp-ring8", {"cluster.topology=switch:8", "mesh={P: 4, X: 2, order: row-major}",
                     "sharding={dp: X}", "layers=8", "batch={global: 16, micro: 1, length: 512}",
                     "schedule={kind: " + kind + ", axis: P}"});
    std::vector<Bytes> most;
    for (const MemoryPeak& peak : memory_peaks(run.graph, run.timeline, run.ranks))
      most.push_back(peak.split[static_cast<std::size_t>(MemoryKind::activations)]);
    return most;
  };
  const OneLayer layer =
      one_layer("dp-ring8", {"cluster.topology=switch:8", "mesh={P: 4, X: 2, order: row-major}",
                             "batch={global: 16, micro: 1, length: 512}",
                             "schedule={kind: 1f1b, axis: P}", "layers=8"});
  const Bytes stage = left_by_forward(layer) * 2;  // two layers
  const std::vector<Bytes> f1b = peaks("1f1b");
  const std::vector<Bytes> gpipe = peaks("gpipe");
  // On top of that what one backward pass needs, and in 1F1B the gradient or input that comes next.
  const Bytes pass = gpipe[0] - stage * 8;
  CHECK(pass < stage);
  for (const int r : {1, 2}) {
    CHECK(gpipe[static_cast<std::size_t>(r)] == stage * 8 + pass);
    CHECK(f1b[static_cast<std::size_t>(r)] == stage * (4 - r) + pass + layer.memory.input);
  }
}

TEST_CASE("memory of a run: overlap moves when memory is taken, and all of it is given back") {
  for (const std::string overlap :
       {"{fsdp_prefetch: 2, gradients: true, fsdp: fsdp1}", "{collective_matmul: 4}",
        "{collective_matmul: 2, collective_matmul_form: ring}"}) {
    for (const std::string recompute : {"none", "full"}) {
      CAPTURE(overlap);
      CAPTURE(recompute);
      const Replayed run = replayed(
          "fsdp-ring8", {"cluster.topology=switch:8", "mesh={X: 4, Y: 2, order: row-major}",
                         "sharding={fsdp: X, tp: Y, sp: true}", "layers=3", "overlap=" + overlap,
                         "recompute=" + recompute});
      const auto points = memory_timelines(run.graph, run.timeline)[0];
      CHECK(total(points.back().split) == held(points.front().split));
      for (const MemoryPoint& point : points)
        for (const Bytes bytes : point.split) CHECK(bytes >= Bytes{});
    }
  }
}

TEST_CASE(
    "memory of a run: pieces that copies send are made whole, and gone where they came from") {
  for (const std::string pieces : {"false", "true"}) {
    CAPTURE(pieces);
    const Replayed run = replayed(
        "megatron-ring8", {"cluster.topology=switch:8", "mesh={P: 4, X: 2, order: row-major}",
                           "layers=8", "batch={global: 8, micro: 1, length: 512}",
                           "schedule={kind: 1f1b, axis: P, scatter_gather: " + pieces + "}"});
    for (const std::vector<MemoryPoint>& points : memory_timelines(run.graph, run.timeline)) {
      CHECK(total(points.back().split) == held(points.front().split));
      for (const MemoryPoint& point : points)
        for (const Bytes bytes : point.split) CHECK(bytes >= Bytes{});
    }
  }
}
