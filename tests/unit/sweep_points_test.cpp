// The points of a sweep: ranges, combinations, formulas, draws, and the board of a search.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "spec/load_tree.h"
#include "spec/yaml_text.h"
#include "sweep/axis_values.h"
#include "sweep/board.h"
#include "sweep/draw.h"
#include "sweep/evaluate.h"
#include "sweep/points.h"
#include "sweep/result_bytes.h"

using namespace shardsim;

namespace {

Node tree_of(const std::string& text, std::vector<Problem>& problems) {
  return parse_yaml(std::make_shared<const Source>(Source{"f", text}), 0, problems);
}

// The values of an axis, joined by blanks; or the first problem.
std::string values_of(const std::string& text) {
  std::vector<Problem> problems;
  const Node node = tree_of(text, problems);
  std::string out;
  for (const Node& one : axis_nodes(node, "a", false, problems))
    out += (out.empty() ? "" : " ") + flow_text(one);
  return problems.empty() ? out : problems.front().message;
}

// A sweep over a small run.
SweepSpec sweep_of(const std::string& rest) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sweep-" + std::to_string(::getpid()) + ".yaml"))
          .string();
  write_files({{path, "base: " + std::string(SHARDSIM_SOURCE_DIR) +
                          "/configs/runs/megatron-ring8.yaml\n" + rest}});
  SweepSpec spec = read_sweep(path);
  std::filesystem::remove(path);
  return spec;
}

std::vector<std::string> points_of(const SweepSpec& spec) {
  const Candidates candidates(spec);
  std::vector<std::string> texts;
  for (const std::uint64_t point : list_points(spec, candidates).points)
    texts.push_back(candidate_text(spec, candidates.at(point)));
  return texts;
}

}  // namespace

TEST_CASE("sweep: values of an axis") {
  const struct {
    const char* text;
    const char* values;
  } kRows[] = {
      {"[8, 16]", "8 16"},
      {"1..4", "1 2 3 4"},
      {"1..8 step 3", "1 4 7"},
      {"2..64 step x2", "2 4 8 16 32 64"},
      {"2..63 step x2", "2 4 8 16 32"},
      {"0.1..0.3 step 0.1", "0.1 0.2 0.3"},
      {"[1, 4..6, 32]", "1 4 5 6 32"},
      {"25..100 GB/s step x2", "25 GB/s 50 GB/s 100 GB/s"},
      {"25 GB/s..100 GB/s step 50 GB/s", "25 GB/s 75 GB/s"},
      {"h100-sxm", "h100-sxm"},
      {"[{kind: ring}, [x, y]]", "{kind: ring} [x, y]"},
      {"4..4", "4"},
      {"8..4", "a: expected a range with values, found an empty one: 8 is above 4"},
      {"[]", "a: expected at least one value, found an empty list"},
      {"[1, 2, 1]", "a: expected different values, found a second 1"},
      {"1..8 step 0",
       "a: expected a step above 0, or x and a factor above 1, that leaves the first value, found "
       "\"0\""},
      {"1..8 step x1",
       "a: expected a step above 0, or x and a factor above 1, that leaves the first value, found "
       "\"x1\""},
      {"1 us..8 ms", "a: expected one unit on both sides of .., found \"us\" and \"ms\""},
      {"1..", "a: expected a number after .., found none"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    CHECK(values_of(row.text) == row.values);
  }
}

TEST_CASE("sweep: combinations in order, conditions, derived fields and zips") {
  const struct {
    const char* text;
    std::vector<std::string> points;
  } kRows[] = {
      {"axes: {batch.global: [1, 2], batch.length: [1024, 2048]}",
       {"global = 1, length = 1024", "global = 1, length = 2048", "global = 2, length = 1024",
        "global = 2, length = 2048"}},
      {"axes: {batch.global: [1, 2], batch.length: [1024, 2048]}\nwhere: [global * length > 1024, "
       "length < 2048]",
       {"global = 2, length = 1024"}},
      {"zip: [{batch.global: [1, 2], batch.length: [1024, 2048]}]",
       {"global = 1, length = 1024", "global = 2, length = 2048"}},
      {"variables: {n: 1..6}\nderive: {batch.global: n / 2}", {"n = 2", "n = 4", "n = 6"}},
      {"axes: {recompute: [none, full]}\nvariables: {n: [1, 2]}\nwhere: recompute != 'full' or n "
       "== layers + 1",
       {"recompute = none, n = 1", "recompute = none, n = 2", "recompute = full, n = 2"}},
      {"axes: {b: {field: batch.global, values: 1..3}}\nderive: {twice: 2 * b}\nwhere: twice in "
       "(2, 6)",
       {"b = 1", "b = 3"}},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    CHECK(points_of(sweep_of(row.text)) == row.points);
  }
}

TEST_CASE("sweep: a point is a run whose text is the same run") {
  const SweepSpec spec = sweep_of(
      "axes: {cluster.topology.link.bandwidth: [50 GB/s, 100 GB/s], cluster.topology: [ring:8, "
      "{kind: torus, "
      "axes: {x: 8}, link: {latency: 1 us}}]}");
  const Candidates candidates(spec);
  for (const std::uint64_t point : list_points(spec, candidates).points) {
    CAPTURE(point);
    const Node run = run_of(spec, candidates.at(point));
    const std::string text = run_yaml(run);
    std::vector<Problem> problems;
    const Node again = tree_of(text, problems);
    CHECK(problems.empty());
    CHECK(yaml_text(again) == text);
    const RunSpec a = load_run(run, ""), b = load_run(again, "");
    CHECK(a.topology.text == b.topology.text);
    // The field in a topology goes after the topology, whichever axis comes first.
    CHECK(b.topology.bandwidth.value.v == (point < 2 ? 50e9 : 100e9));
    CHECK(b.name.value == spec.name + ", point " + std::to_string(point));
  }
}

TEST_CASE("sweep: texts that YAML would read otherwise are quoted") {
  for (const char* text :
       {"plain", "two words", "[x]", "a: b", "# no comment", "x #", " blank", "", "null", "- item",
        "'q'", "tab\there", "line\nbreak", "back\\slash \"quoted\"", "A[I_X, J] -> A[I, J]",
        "100 GB/s", "é", "%"}) {
    CAPTURE(text);
    Node map{NodeKind::map, "", false, {}, {}};
    map.entries.push_back({"k", {}, {NodeKind::scalar, text, false, {}, {}}});
    std::vector<Problem> problems;
    const Node again = tree_of(yaml_text(map), problems);
    CHECK(problems.empty());
    REQUIRE(again.find("k") != nullptr);
    CHECK(again.find("k")->text == text);
  }
}

TEST_CASE("sweep: a draw is an order of all numbers") {
  for (const std::uint64_t count : {1, 2, 3, 7, 64, 1000, 4097}) {
    const Draw draw(count, 5);
    std::set<std::uint64_t> seen;
    bool in_order = true;
    for (std::uint64_t i = 0; i < count; ++i) {
      seen.insert(draw.at(i));
      in_order = in_order && draw.at(i) == i;
    }
    CAPTURE(count);
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
    if (count > 64) CHECK(!in_order);
  }
}

TEST_CASE("sweep: what a search replays and drops") {
  // Floors 1 to 6; replayed 3, 2.5, 4; the fourth floor is above the second of the best.
  std::vector<BoardEntry> entries;
  const auto add = [&](double floor, PointStatus status, std::optional<double> score,
                       std::optional<double> ideal = {}) {
    entries.push_back({entries.size(), true, status, floor, ideal, score});
  };
  add(2, PointStatus::ok, 3);
  add(1, PointStatus::ok, 2.5);
  add(2.2, PointStatus::ok, 4);
  add(3, PointStatus::screened, {});
  add(3.1, PointStatus::ok, 3.2);  // a worker was ahead
  add(6, PointStatus::screened, {});
  add(2.9, PointStatus::screened, {}, 3.3);  // the ideal engine said enough
  add(2.8, PointStatus::ok, 3.4, 3.35);      // or would have
  CHECK(replay_order(entries, std::nullopt) == std::vector<std::size_t>{6, 3, 5});
  // Points of other shards count among the share that is kept: five of eight, three of them
  // others'.
  std::vector<BoardEntry> shard = entries;
  for (const std::size_t other : {0, 1, 2}) shard[other].mine = false;
  CHECK(replay_order(entries, 0.625) == std::vector<std::size_t>{6});
  CHECK(replay_order(shard, 0.625) == std::vector<std::size_t>{6});
  shard[6].mine = false;
  CHECK(replay_order(shard, 0.625).empty());
  SearchSpec search;
  search.top = 2;
  std::vector<BoardEntry> settled = entries;
  const Settled became = settle(search, settled);
  CHECK(became.by_floor == std::vector<std::size_t>{4, 5});
  CHECK(became.by_ideal == std::vector<std::size_t>{6, 7});
  CHECK(became.by_choice == std::vector<std::size_t>{3});
  CHECK(settled[3].status == PointStatus::choice);  // 3 <= 3: no proof
  CHECK(settled[4].status == PointStatus::proof);
  CHECK(settled[5].status == PointStatus::proof);
  CHECK(settled[6].status == PointStatus::proof);
  CHECK(settled[7].status == PointStatus::proof);
  search.top = 10;  // fewer than that were replayed: nothing is proven
  settled = entries;
  settle(search, settled);
  CHECK(settled[5].status == PointStatus::choice);
}

TEST_CASE("sweep: a result survives its way as bytes") {
  PointResult result;
  result.point = 77;
  result.status = PointStatus::infeasible;
  result.reason = "fits_memory";
  result[ResultFigure::step_time] = 0.1 + 0.2;
  result.run_yaml = std::string("name: x\0y\n", 10);
  const PointResult again = from_bytes(to_bytes(result));
  CHECK(again.point == 77);
  CHECK(again.status == result.status);
  CHECK(again.reason == result.reason);
  CHECK(again.figures == result.figures);
  CHECK(again.run_yaml == result.run_yaml);
}
