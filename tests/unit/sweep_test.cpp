// --sweep-bytes: the sizes, the rates by the convention of nccl-tests, and the three forms of the
// result.
#include "report/sweep.h"

#include <doctest/doctest.h>

#include <cmath>

#include "../support/networks.h"
#include "command/sweep_bytes.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

using namespace shardsim;

namespace {

std::vector<double> sizes(const std::string& text) {
  std::vector<Problem> problems;
  std::vector<double> result;
  for (const Bytes size : sweep_sizes(text, problems)) result.push_back(size.v);
  CHECK(problems.empty());
  return result;
}

// Two algorithms over three sizes: 8 ranks, 1 s each.
Sweep handmade(Collective kind) {
  Sweep sweep;
  sweep.kind = kind;
  sweep.axes = {"x"};
  sweep.ranks = sweep.devices = 8;
  sweep.topology = "ring:8";
  sweep.engine = "ideal";
  sweep.convention = "W1";
  sweep.points = {{Bytes{1e9}, Seconds{1}, Seconds{1}, "ring-whole"},
                  {Bytes{2e9}, Seconds{1}, Seconds{0.5}, "ring"},
                  {Bytes{4e9}, Seconds{1}, Seconds{1}, "ring"}};
  sweep.assumptions = {"none"};
  return sweep;
}

}  // namespace

TEST_CASE("sizes from start to end") {
  CHECK(sizes("1KiB:8KiB") == std::vector<double>{1024, 2048, 4096, 8192});
  CHECK(sizes("1kB:1MB:10") == std::vector<double>{1000, 10000, 100000, 1000000});
  CHECK(sizes("1 KiB:5 KiB") == std::vector<double>{1024, 2048, 4096});  // never past the end
  CHECK(sizes("3B:3B") == std::vector<double>{3});
  CHECK(sizes("1KiB:1GiB").size() == 21);
  CHECK(sizes("1B:3B:1.5") == std::vector<double>{1, 1.5, 2.25});
}

TEST_CASE("wrong sweeps say what was expected, where") {
  struct Row {
    const char* text;
    int column;
    const char* message;
  };
  const Row rows[] = {
      {"1KiB", 1, "expected START:END or START:END:FACTOR, found \"1KiB\""},
      {"", 1, "expected START:END or START:END:FACTOR, found \"\""},
      {"1KiB:2KiB:2:3", 1, "expected START:END or START:END:FACTOR, found \"1KiB:2KiB:2:3\""},
      {"0:1GiB", 1, "expected a size above 0, found 0"},
      {"1KiB:0", 6, "expected a size above 0, found 0"},
      {"2KiB:1KiB", 6, "expected an end of at least the start, 2 KiB, found 1 KiB"},
      {"1KiB:1GiB:1", 11,
       "expected a factor above 1 and at most 1000000000, found \"1\" (it is not above 1)"},
      {"1KiB:1GiB:-2", 11,
       "expected a factor above 1 and at most 1000000000, found \"-2\" (it is negative)"},
      {"1KiB:1GiB:1.01", 1, "expected at most 256 sizes, found 1394"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    CHECK(sweep_sizes(row.text, problems).empty());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == row.message);
    CHECK(problems[0].pos.column == row.column);
  }
  std::vector<Problem> problems;
  sweep_sizes("64:1Go:x", problems);
  CHECK(problems.size() == 3);  // all parts at once
}

// nccl-tests, doc/PERFORMANCE.md; sizes as its programs print them.
TEST_CASE("rates by the convention of nccl-tests") {
  struct Row {
    Collective kind;
    double size, factor;
  };
  const Row rows[] = {{Collective::all_reduce, 800, 14.0 / 8},
                      {Collective::all_gather, 800, 7.0 / 8},
                      {Collective::reduce_scatter, 800, 7.0 / 8},
                      {Collective::all_to_all, 100, 7.0 / 8},
                      {Collective::broadcast, 800, 1},
                      {Collective::reduce, 800, 1},
                      {Collective::gather, 800, 7.0 / 8},
                      {Collective::scatter, 800, 7.0 / 8},
                      {Collective::collective_permute, 100, 1}};
  CHECK(std::size(rows) + 1 == collective_kinds().size());  // a barrier has no bytes
  for (const Row& row : rows) {
    CAPTURE(to_text(row.kind));
    CHECK(nccl_size(row.kind, Bytes{800}, 8).v == row.size);
    CHECK(bus_factor(row.kind, 8) == row.factor);
    const std::string said = rate_convention(row.kind);
    CHECK((said.find("algbw = V/N/time") != std::string::npos) == (row.size == 100));
  }
}

// On a switch, busbw is what one device sends: W1 for every kind that its bound allows.
TEST_CASE("busbw of a switch is W1") {
  const Cluster c = testing::cluster("switch:8");
  for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter,
                                Collective::all_reduce, Collective::all_to_all}) {
    CAPTURE(to_text(kind));
    const CollectiveAsk ask{kind, Bytes{64e6}, 1};
    const AlgorithmRow* direct = find_algorithm("direct");
    const Seconds time = direct->closed_form(ask, group_net(c, testing::all_axes(c))).time;
    const BytesPerSec algbw = nccl_size(kind, ask.bytes, 8) / time;
    CHECK(algbw.v * bus_factor(kind, 8) == doctest::Approx(100e9).epsilon(1e-12));
  }
}

TEST_CASE("the three forms of a sweep mark where another algorithm takes over") {
  Sweep sweep = handmade(Collective::all_to_all);
  sweep.points[0].textbook = Seconds{0.75};  // the others have none
  CHECK(sweep_csv(sweep) ==
        "bytes,time_s,analytic_s,algorithm,algbw,busbw,crossover,nccl_bytes,textbook_s\n"
        "1000000000,1,1,ring-whole,0.125,0.109375,,125000000,0.75\n"
        "2000000000,1,0.5,ring,0.25,0.21875,ring instead of ring-whole,250000000,\n"
        "4000000000,1,1,ring,0.5,0.4375,,500000000,\n");
  const std::string table = sweep_table(sweep);
  const auto crossover = table.find("  from 1.863 GiB: ring instead of ring-whole\n");
  REQUIRE(crossover != std::string::npos);
  CHECK(crossover > table.find("0.1094"));  // between the rows that it parts
  CHECK(crossover < table.find("0.2188"));
  CHECK(table.find("instead of", crossover + 40) == std::string::npos);
  const std::string json = to_json(sweep_summary(sweep), -1);
  CHECK(json.find(R"("time_s":1.0,"analytic_s":0.5,"algorithm":"ring","algbw":0.25,)"
                  R"("busbw":0.21875,"crossover":"ring instead of ring-whole")") !=
        std::string::npos);
  CHECK(json.find(R"("algbw":0.5,"busbw":0.4375,"crossover":null)") != std::string::npos);
  CHECK(json.find(R"("nccl_bytes":125000000.0,"textbook_s":0.75})") != std::string::npos);
  CHECK(json.find(R"("nccl_bytes":250000000.0,"textbook_s":null})") != std::string::npos);
  CHECK(json.find(R"("units":{"algbw":"GB/s","busbw":"GB/s"})") != std::string::npos);
}

TEST_CASE("a graph with its bytes scaled is that of the larger collective") {
  for (const char* network : {"ring:5", "torus:4x3", "switch:8"}) {
    CAPTURE(network);
    CollectiveRequest request;
    request.cluster = testing::cluster(network, Seconds{1e-6});
    const CollectiveAsk ask{Collective::all_to_all, Bytes{1e6}, 1};
    request.calls = {{ask, find_algorithm("direct"), testing::all_axes(request.cluster)}};
    OpGraph scaled = lower_collectives(request).graph;
    scale_bytes(scaled, 7);
    request.calls[0].ask.bytes = Bytes{7e6};
    const OpGraph larger = lower_collectives(request).graph;
    const Seconds time = replay_simgrid(larger).makespan();
    CHECK(replay_simgrid(scaled).makespan().v == doctest::Approx(time.v).epsilon(1e-12));
  }
}
