#include "plan/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/must.h"
#include "plan/schedule_file.h"
#include "plan/schedules.h"

namespace shardsim {
namespace {

// The order of work without a pipeline.
Schedule one_after_the_other(int microbatches) {
  Schedule schedule;
  schedule.name = "one rank";
  schedule.microbatches = microbatches;
  schedule.programs.resize(1);
  for (int m = 0; m < microbatches; ++m) {
    schedule.programs[0].cells.push_back(cell(WorkKind::forward, m, 0));
    schedule.programs[0].cells.push_back(cell(WorkKind::backward, m, 0));
  }
  return schedule;
}

const ScheduleRow* row_of(const ScheduleSpec& spec, std::vector<Problem>& problems) {
  const ScheduleRow* row = find_schedule(spec.kind.value);
  if (row != nullptr) return row;
  std::vector<std::string> names;
  for (const ScheduleRow& one : schedules()) {
    names.emplace_back(one.name);
    names.insert(names.end(), one.aliases.begin(), one.aliases.end());
  }
  const std::string near = suggestion(spec.kind.value, names);
  problems.push_back({spec.kind.pos,
                      fmt::format("expected a schedule, found \"{}\"", spec.kind.value),
                      near.empty() ? "see: shardsim list schedules" : near});
  return nullptr;
}

// What the row does not take.
void check_options(const ScheduleSpec& spec, const ScheduleRow& row,
                   std::vector<Problem>& problems) {
  if (spec.group.given && !row.groups) {
    problems.push_back({spec.group.pos,
                        fmt::format("schedule.group: {} has no groups of micro-batches", row.name),
                        "only interleaved schedules do"});
  }
  if (spec.memory_limit.given && !row.searched) {
    problems.push_back({spec.memory_limit.pos,
                        fmt::format("schedule.memory_limit: {} is not searched for", row.name),
                        "leave it out"});
  }
  if (spec.memory_limit.given && row.searched && spec.memory_limit.value < 1) {
    problems.push_back({spec.memory_limit.pos,
                        fmt::format("schedule.memory_limit: expected room for at least 1 "
                                    "micro-batch, found {}",
                                    spec.memory_limit.value),
                        "counted in micro-batches on one stage"});
  }
  if (spec.chunks.given &&
      (spec.chunks.value < row.fewest_chunks || spec.chunks.value > row.most_chunks)) {
    problems.push_back({spec.chunks.pos,
                        row.fewest_chunks == row.most_chunks
                            ? fmt::format("schedule.chunks: expected {} with {}, found {}",
                                          row.fewest_chunks, row.name, spec.chunks.value)
                            : fmt::format("schedule.chunks: expected at least {} with {}, found {}",
                                          row.fewest_chunks, row.name, spec.chunks.value),
                        "interleaved-1f1b takes any number of chunks"});
  }
  if (spec.p2p.value == "blocking" && !row.posts) {
    problems.push_back(
        {spec.p2p.pos,
         fmt::format("schedule.p2p: no groups of blocking transfers are known of {}", row.name),
         "write async or serial"});
  }
}

// Each has a layer, but for the two that hold the ends of the model.
constexpr std::int64_t kMostStages = 1'000'000;

// Returns whether there are. A list of layers says better what is wrong, where it can be that long.
bool too_many_stages(const ScheduleSpec& spec, const ScheduleRow& row, int ranks, int layers,
                     std::vector<Problem>& problems) {
  const int chunks = spec.chunks.given ? spec.chunks.value : row.fewest_chunks;
  const std::int64_t stages = std::int64_t{ranks} * chunks;
  if (stages <= layers || (spec.layers.given && stages <= kMostStages)) return false;
  problems.push_back({spec.chunks.given ? spec.chunks.pos : spec.axis.pos,
                      fmt::format("expected at most as many stages as layers, found {} stages "
                                  "({} ranks of {}) for {} layers",
                                  stages, ranks, chunks, layers),
                      ""});
  return true;
}

Schedule generated(const ScheduleSpec& spec, const StepAsk& step, int ranks,
                   std::vector<Problem>& problems) {
  const ScheduleRow* row = row_of(spec, problems);
  if (row == nullptr) return {};
  const std::size_t before = problems.size();
  check_options(spec, *row, problems);
  if (problems.size() != before) return {};
  ScheduleAsk ask;
  ask.ranks = ranks;
  ask.microbatches = step.microbatches;
  ask.chunks = spec.chunks.given ? spec.chunks.value : row->fewest_chunks;
  ask.group = spec.group.value;
  ask.memory_limit = spec.memory_limit.value;
  for (const P2pMode mode : p2p_modes())
    if (to_text(mode) == spec.p2p.value) ask.mode = mode;
  if (too_many_stages(spec, *row, ranks, step.layers, problems)) return {};
  const int stages = ranks * ask.chunks;
  const double per_stage = static_cast<double>(step.layers) / stages;
  ask.costs = step.layer_costs;
  for (Seconds* time : {&ask.costs.forward, &ask.costs.backward, &ask.costs.backward_input,
                        &ask.costs.backward_weight, &ask.costs.overlapped}) {
    *time = *time * per_stage;
  }
  const std::string why = row->why_not(ask);
  if (!why.empty()) {
    problems.push_back({spec.kind.pos, fmt::format("{}: {}", row->name, why), ""});
    return {};
  }
  return row->generate(ask);
}

Schedule written(const ScheduleSpec& spec, const StepAsk& step, int ranks,
                 std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const auto refuse = [&](const SourcePos& pos, bool given, std::string_view key) {
    if (!given) return;
    problems.push_back({pos, fmt::format("schedule.{}: expected none with a file, found one", key),
                        "the file says what every rank does"});
  };
  refuse(spec.chunks.pos, spec.chunks.given, "chunks");
  refuse(spec.group.pos, spec.group.given, "group");
  refuse(spec.memory_limit.pos, spec.memory_limit.given, "memory_limit");
  Schedule schedule = read_schedule_file(spec.file.value, problems);
  if (problems.size() != before) return {};
  if (schedule.ranks() != ranks) {
    problems.push_back({spec.file.pos,
                        fmt::format("expected a schedule of {} ranks, as mesh axis {} has devices, "
                                    "found one of {}",
                                    ranks, spec.axis.value, schedule.ranks()),
                        ""});
  }
  if (schedule.microbatches != step.microbatches) {
    problems.push_back({spec.file.pos,
                        fmt::format("expected a schedule of {} micro-batches, as the batch has, "
                                    "found one of {}",
                                    step.microbatches, schedule.microbatches),
                        "batch.global and batch.micro set their number"});
  }
  if (problems.size() == before && schedule.stages() > step.layers && !spec.layers.given) {
    problems.push_back({spec.file.pos,
                        fmt::format("expected at most as many stages as layers, found {} stages "
                                    "for {} layers",
                                    schedule.stages(), step.layers),
                        ""});
  }
  return problems.size() == before ? schedule : Schedule{};
}

// Layers of every stage. `stages`: 0 where it is not known how many there are.
std::vector<int> stage_sizes(const ScheduleSpec& spec, int layers, int stages, bool ends,
                             std::vector<Problem>& problems) {
  if (!spec.layers.given) {
    if (stages == 0) return {};
    if (layers % stages != 0) {
      std::vector<int> sizes(static_cast<std::size_t>(stages), layers / stages);
      for (int s = 0; s < layers % stages; ++s) ++sizes[static_cast<std::size_t>(s)];
      problems.push_back(
          {spec.axis.pos,
           fmt::format("{} layers cannot be shared out evenly to {} stages", layers, stages),
           fmt::format("say how many each has, as schedule.layers: [{}]", fmt::join(sizes, ", "))});
      return {};
    }
    return std::vector<int>(static_cast<std::size_t>(stages), layers / stages);
  }
  std::vector<int> sizes;
  bool good = true;
  for (const Chosen<std::string>& word : spec.layers.value) {
    const Parsed<int> parsed = parse_count(word.value, 0, 1'000'000);
    if (!parsed) {
      problems.push_back({word.pos, fmt::format("schedule.layers: {}", parsed.error), ""});
      good = false;
    }
    const bool holds_end = ends && (sizes.empty() || sizes.size() + 1 == spec.layers.value.size());
    if (parsed && parsed.value == 0 && !holds_end) {
      problems.push_back(
          {word.pos, "schedule.layers: expected at least 1 layer in every stage, found 0",
           ends ? "only the first and the last, with embedding and head, may have none" : ""});
      good = false;
    }
    sizes.push_back(parsed.value);
  }
  if (!good) return {};
  if (stages > 0 && static_cast<int>(sizes.size()) != stages) {
    problems.push_back({spec.layers.pos,
                        fmt::format("schedule.layers: expected {} numbers, one for each stage, "
                                    "found {}",
                                    stages, sizes.size()),
                        ""});
    good = false;
  }
  const int sum = std::accumulate(sizes.begin(), sizes.end(), 0);
  if (sum != layers) {
    problems.push_back(
        {spec.layers.pos,
         fmt::format("schedule.layers: expected numbers that sum to {} layers, found {}", layers,
                     sum),
         ""});
    good = false;
  }
  return good ? sizes : std::vector<int>{};
}

// REQUIRES: both are given, or neither.
Problem kind_or_file(const ScheduleSpec& spec) {
  if (!spec.kind.given)
    return {spec.pos, "schedule: expected kind or file, found neither",
            "kind: 1f1b; or file: order.txt, which says what every rank does"};
  const SourcePos& pos = spec.kind.pos;
  return {spec.file.pos, "schedule: expected kind or file, found both",
          fmt::format("{}:{}:{} says kind: {}; leave one of them out, with --set by "
                      "schedule={{file: {}, …}}",
                      pos.source->name, pos.line, pos.column, spec.kind.value, spec.file.value)};
}

}  // namespace

bool makes_gradients(const Work& work) {
  return work.kind == WorkKind::backward || work.kind == WorkKind::backward_weight;
}

std::map<int, int> works_with_gradients(const RankProgram& program) {
  std::map<int, int> count;
  for (const Cell& cell : program.cells)
    for (const Work& work : cell.works())
      if (makes_gradients(work)) ++count[work.stage];
  return count;
}

MeshAxis take_pipeline_axis(const ScheduleSpec& spec, Mesh& mesh, std::vector<Problem>& problems) {
  if (!spec.given || spec.axis.value.empty()) return {"", 1, {}};
  const auto at = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                               [&](const MeshAxis& a) { return a.name == spec.axis.value; });
  if (at == mesh.axes.end()) {
    problems.push_back(
        {spec.axis.pos,
         fmt::format("schedule.axis: expected a mesh axis, found \"{}\"", spec.axis.value),
         suggestion(spec.axis.value, mesh.names())});
    return {"", 1, {}};
  }
  MeshAxis axis = *at;
  mesh.axes.erase(at);
  return axis;
}

void check_stages(const ScheduleSpec& spec, int layers, bool ends, const Mesh& mesh,
                  std::vector<Problem>& problems) {
  if (!spec.given) return;
  if (spec.kind.given == spec.file.given) problems.push_back(kind_or_file(spec));
  const MeshAxis* axis = mesh.find(spec.axis.value);
  const std::size_t before = problems.size();
  int stages = 0;
  if (spec.kind.given && !spec.file.given) {
    const ScheduleRow* row = row_of(spec, problems);
    if (row != nullptr) check_options(spec, *row, problems);
    if (axis != nullptr && problems.size() == before) {
      if (too_many_stages(spec, *row, axis->size, layers, problems)) return;
      stages = axis->size * (spec.chunks.given ? spec.chunks.value : row->fewest_chunks);
    }
  }
  stage_sizes(spec, layers, stages, ends, problems);
}

StepPlan plan_step(const ScheduleSpec& spec, const StepAsk& ask, const MeshAxis& axis,
                   std::vector<Problem>& problems) {
  StepPlan plan;
  plan.axis = axis.name;
  plan.axes = axis.axes;
  for (const P2pMode mode : p2p_modes())
    if (to_text(mode) == spec.p2p.value) plan.mode = mode;
  if (!spec.given) {
    plan.schedule = one_after_the_other(ask.microbatches);
  } else if (spec.kind.given == spec.file.given) {
    problems.push_back(kind_or_file(spec));
    return plan;
  } else {
    plan.schedule = spec.kind.given ? generated(spec, ask, axis.size, problems)
                                    : written(spec, ask, axis.size, problems);
    if (plan.schedule.programs.empty()) return plan;
  }
  const int stages = plan.schedule.stages();
  const std::vector<int> sizes = stage_sizes(spec, ask.layers, stages, ask.ends, problems);
  if (sizes.empty()) return plan;
  int layer = 0;
  for (const int size : sizes) {
    std::vector<StageUnit>& units = plan.stages.emplace_back();
    if (ask.ends && plan.stages.size() == 1) units.push_back({1, 0});
    for (int l = 0; l < size; ++l) units.push_back({0, layer++});
  }
  if (ask.ends) plan.stages.back().push_back({2, ask.layers - 1});
  return plan;
}

}  // namespace shardsim
