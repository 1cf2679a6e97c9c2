#include "spec/parallel.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace shardsim {
namespace {

using Size = Chosen<int> ParallelSpec::*;

// Outermost first: tensors are exchanged most often, stages of a pipeline least.
struct AxisRow {
  std::string_view name;
  Size size;
};
constexpr std::array kAxes = {AxisRow{"pp", &ParallelSpec::pp}, AxisRow{"dp", &ParallelSpec::dp},
                              AxisRow{"fsdp", &ParallelSpec::fsdp},
                              AxisRow{"cp", &ParallelSpec::cp}, AxisRow{"tp", &ParallelSpec::tp}};

// What copies keep of weights, gradients and optimizer state, by ZeRO's stage.
constexpr std::array<std::string_view, 4> kStages = {"dp", "zero1", "zero2", "fsdp"};

void write_mesh(const ParallelSpec& asked, MeshSpec& mesh) {
  mesh.pos = asked.pos;
  mesh.order = {"row-major", asked.pos, true};
  for (const AxisRow& axis : kAxes) {
    const Chosen<int>& size = asked.*axis.size;
    if (size.given) mesh.axes.push_back({std::string(axis.name), {}, size.value, size.pos});
  }
}

PresetSpec preset(std::string_view name, const SourcePos& pos,
                  std::initializer_list<std::string_view> axes) {
  PresetSpec made{std::string(name), {}, {}, pos};
  for (const std::string_view axis : axes) made.axes.push_back({std::string(axis), pos, true});
  return made;
}

// Whether weights are cut by fsdp: over one device, beside zero, it says nothing.
bool by_fsdp(const ParallelSpec& asked) {
  return asked.fsdp.given && (asked.fsdp.value > 1 || !asked.zero.given);
}

void write_sharding(const ParallelSpec& asked, std::vector<PresetSpec>& sharding) {
  if (asked.dp.given && by_fsdp(asked)) {
    sharding.push_back(preset("hsdp", asked.fsdp.pos, {"dp", "fsdp"}));
  } else if (by_fsdp(asked)) {
    sharding.push_back(preset("fsdp", asked.fsdp.pos, {"fsdp"}));
  } else if (asked.dp.given) {
    const auto stage = static_cast<std::size_t>(asked.zero.value);
    sharding.push_back(preset(kStages[stage], asked.dp.pos, {"dp"}));
  }
  if (asked.cp.given) sharding.push_back(preset("cp", asked.cp.pos, {"cp"}));
  if (asked.tp.given) sharding.push_back(preset("tp", asked.tp.pos, {"tp"}));
  if (asked.sp.given) sharding.push_back({"sp", {}, asked.sp, asked.sp.pos});
}

void check_zero(const ParallelSpec& asked, Problems& problems) {
  const Chosen<int>& zero = asked.zero;
  if (!zero.given) return;
  if (zero.value >= static_cast<int>(kStages.size())) {
    problems.push_back({zero.pos,
                        fmt::format("parallel.zero: expected 0 to 3, found {}", zero.value),
                        "0: dp, 1: optimizer state is cut, 2: gradients, too, 3: fsdp"});
  } else if (by_fsdp(asked) && zero.value != 3) {
    problems.push_back(
        {zero.pos, fmt::format("parallel: zero: {} contradicts fsdp, which is zero: 3", zero.value),
         "drop one of the two"});
  } else if (!asked.dp.given && !by_fsdp(asked)) {
    problems.push_back({zero.pos, "parallel: expected dp beside zero, found none",
                        "zero says what its devices keep cut"});
  }
}

// Presets that stand beside: only true or false, of what parallel has not said.
void check_beside(const RunSpec& run, Problems& problems) {
  if (!run.mesh.axes.empty() || run.mesh.pos.source != nullptr) {
    problems.push_back({run.mesh.pos, "expected mesh or parallel, found both",
                        "parallel writes the mesh; for other axes write mesh and sharding"});
  }
  for (const PresetSpec& beside : run.sharding) {
    if (!beside.axes.empty()) {
      problems.push_back({beside.pos,
                          fmt::format("expected the axes of {} in sharding or in parallel, found "
                                      "both",
                                      beside.preset),
                          "beside parallel, sharding takes what is true or false"});
    } else if (beside.preset == "sp" && run.parallel.sp.given) {
      problems.push_back({beside.pos, "expected sp in sharding or in parallel, found both", ""});
    }
  }
}

void settle_schedule(RunSpec& run, Problems& problems) {
  ScheduleSpec& schedule = run.schedule;
  const Chosen<int>& pp = run.parallel.pp;
  if (!pp.given) {
    if (!schedule.given || schedule.axis.given) return;
    problems.push_back({schedule.pos, "expected pp in parallel beside schedule, found none",
                        "pp: 4 makes four ranks of a pipeline"});
    return;
  }
  if (schedule.axis.given && schedule.axis.value != "pp") {
    problems.push_back({schedule.axis.pos,
                        fmt::format("expected pp, the axis that parallel gives the pipeline, found "
                                    "\"{}\"",
                                    schedule.axis.value),
                        "leave axis out"});
  }
  if (!schedule.given) schedule.pos = pp.pos;
  schedule.given = true;
  schedule.axis = {"pp", pp.pos, true};
  if (!schedule.kind.given && !schedule.file.given) schedule.kind = {"1f1b", pp.pos, true};
}

}  // namespace

void settle_parallel(const Node& root, RunSpec& run, Problems& problems) {
  if (!run.parallel.given) {
    if (!run.schedule.given || root.find("schedule")->find("axis") != nullptr) return;
    problems.push_back({run.schedule.pos, "missing key \"axis\" in schedule",
                        "axis: mesh axis of the ranks of the pipeline"});
    return;
  }
  const std::size_t before = problems.size();
  check_beside(run, problems);
  check_zero(run.parallel, problems);
  settle_schedule(run, problems);
  if (problems.size() != before) return;
  write_mesh(run.parallel, run.mesh);
  if (run.mesh.axes.empty()) {
    problems.push_back({run.parallel.pos, "expected a size in parallel, found none",
                        "for example parallel: {tp: 8, dp: 4}"});
  }
  write_sharding(run.parallel, run.sharding);
}

}  // namespace shardsim
