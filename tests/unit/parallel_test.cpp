#include "spec/parallel.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "spec/read.h"

using namespace shardsim;

namespace {

// Reads a run file of these keys alone.
RunSpec settled(const std::string& text, Problems& problems) {
  const auto source = std::make_shared<const Source>(Source{"f", text});
  const Node root = parse_yaml(source, 0, problems);
  RunSpec run;
  Problems others;  // keys that a whole file needs
  read_fields("run", root, run, others);
  settle_parallel(root, run, problems);
  return run;
}

// "mesh: {pp: 4, tp: 8}; sharding: {tp: tp, sp: true}; schedule: 1f1b over pp"
std::string written(const RunSpec& run) {
  std::vector<std::string> mesh, sharding;
  for (const MeshAxisSpec& axis : run.mesh.axes)
    mesh.push_back(fmt::format("{}: {}", axis.name, axis.size));
  for (const PresetSpec& preset : run.sharding) {
    std::vector<std::string> axes;
    for (const Chosen<std::string>& axis : preset.axes) axes.push_back(axis.value);
    sharding.push_back(fmt::format("{}: {}", preset.preset,
                                   axes.empty() ? fmt::format("{}", preset.flag.value)
                                                : fmt::format("{}", fmt::join(axes, ","))));
  }
  std::string text = fmt::format("mesh: {{{}}}; sharding: {{{}}}", fmt::join(mesh, ", "),
                                 fmt::join(sharding, ", "));
  if (run.schedule.given) {
    text += fmt::format("; schedule: {}{} over {}", run.schedule.kind.value,
                        run.schedule.file.value, run.schedule.axis.value);
  }
  return text;
}

}  // namespace

TEST_CASE("parallel writes mesh, sharding and schedule") {
  struct Row {
    std::string parallel, expected;
  };
  const std::vector<Row> rows = {
      {"parallel: {tp: 8, pp: 16, dp: 128, sp: true, zero: 1}",
       "mesh: {pp: 16, dp: 128, tp: 8}; sharding: {zero1: dp, tp: tp, sp: true}; schedule: 1f1b "
       "over pp"},
      {"parallel: {dp: 4}", "mesh: {dp: 4}; sharding: {dp: dp}"},
      {"parallel: {dp: 4, zero: 0}", "mesh: {dp: 4}; sharding: {dp: dp}"},
      {"parallel: {dp: 4, zero: 2}", "mesh: {dp: 4}; sharding: {zero2: dp}"},
      {"parallel: {dp: 4, zero: 3}", "mesh: {dp: 4}; sharding: {fsdp: dp}"},
      {"parallel: {dp: 4, fsdp: 1, zero: 1}", "mesh: {dp: 4, fsdp: 1}; sharding: {zero1: dp}"},
      {"parallel: {dp: 4, fsdp: 1}", "mesh: {dp: 4, fsdp: 1}; sharding: {hsdp: dp,fsdp}"},
      {"parallel: {fsdp: 64, zero: 3}", "mesh: {fsdp: 64}; sharding: {fsdp: fsdp}"},
      {"parallel: {tp: 8, fsdp: 4, dp: 2}",
       "mesh: {dp: 2, fsdp: 4, tp: 8}; sharding: {hsdp: dp,fsdp, tp: tp}"},
      {"parallel: {fsdp: 4}\nsharding: {no_sync: true}",
       "mesh: {fsdp: 4}; sharding: {no_sync: true, fsdp: fsdp}"},
      {"parallel: {pp: 1, tp: 1}",
       "mesh: {pp: 1, tp: 1}; sharding: {tp: tp}; schedule: 1f1b over pp"},
      {"parallel: {pp: 4}\nschedule: {kind: zbv-auto}",
       "mesh: {pp: 4}; sharding: {}; schedule: zbv-auto over pp"},
      {"parallel: {pp: 4}\nschedule: {file: order.txt, axis: pp}",
       "mesh: {pp: 4}; sharding: {}; schedule: order.txt over pp"},
      {"parallel: {pp: 4}\nschedule: {chunks: 2}",
       "mesh: {pp: 4}; sharding: {}; schedule: 1f1b over pp"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.parallel);
    Problems problems;
    const RunSpec run = settled(row.parallel, problems);
    CHECK(problems.empty());
    CHECK(written(run) == row.expected);
    CHECK(run.mesh.order.value == "row-major");
  }
}

TEST_CASE("without parallel nothing is written, and a pipeline names its axis") {
  Problems problems;
  CHECK(written(settled("mesh: {X: 4}\nsharding: {dp: X}\nschedule: {kind: gpipe, axis: X}",
                        problems)) == "mesh: {X: 4}; sharding: {dp: X}; schedule: gpipe over X");
  CHECK(problems.empty());
  (void)settled("schedule: {kind: gpipe}", problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "missing key \"axis\" in schedule");
}
