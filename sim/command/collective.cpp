#include "command/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/progress.h"
#include "command/arguments.h"
#include "command/collective_request.h"
#include "plan/collective_run.h"
#include "plan/network_text.h"
#include "plan/placement.h"
#include "plan/play.h"
#include "plan/twins.h"
#include "report/reports.h"
#include "report/sweep.h"

namespace shardsim {

namespace {

std::vector<std::string> collective_assumptions(const CollectiveRequest& request,
                                                const std::string& per_rank) {
  std::vector<std::string> said;
  said.push_back(network_text(request.cluster));
  std::vector<std::string> meanings;
  for (const CollectiveCall& call : request.calls) {
    std::string meaning =
        fmt::format("{} ({})", meaning_of_v(call.ask.kind), to_text(call.ask.kind));
    if (std::find(meanings.begin(), meanings.end(), meaning) == meanings.end())
      meanings.push_back(std::move(meaning));
  }
  said.push_back(fmt::format("V is {}", fmt::join(meanings, ", ")));
  if (!per_rank.empty()) said.push_back("V was computed from --bytes-per-rank " + per_rank);
  said.emplace_back(assumption(request.grain));
  const int classes = common_fold(request.cluster, request.calls, request.grain).classes();
  said.push_back(request.full ? "nothing folded: every device replayed"
                              : fmt::format("folded by symmetry: {} {} for all (--full replays "
                                            "each)",
                                            classes,
                                            classes == 1 ? "class of devices stands"
                                                         : "classes of devices stand"));
  if (!request.full) {
    for (const std::string& twins : twins_as_one(request.cluster).said)
      said.push_back("switches with the same links are replayed as one: " + twins);
  }
  for (const CollectiveCall& call : request.calls) say_assumption(call.algorithm, said);
  said.push_back(groups_text(request.cluster, mesh_of(request), request.calls.front().axes));
  said.push_back("reduction arithmetic and software overhead cost nothing");
  return said;
}

void check_plans(const CollectiveArguments& args, const CollectiveReading& reading) {
  if (!args.check) return;
  for (const CollectiveRequest& request : reading.requests) {
    require_delivery(request.cluster, request.calls, argument_pos("--topology", args.topology));
  }
}

struct Result {
  Run run;
  Metrics metrics;
};

Result simulate_one(const CollectiveArguments& args, const CollectiveReading& reading) {
  const CollectiveRequest& request = reading.requests.front();
  Lowered lowered = lower_collectives(request);
  for (std::size_t i = 0; i < request.calls.size(); ++i) {
    lowered.plan.collectives[i].reason = reading.reasons.front()[i];
  }
  lowered.plan.assumptions = collective_assumptions(request, args.bytes_per_rank.value_or(""));
  for (const std::string& said : reading.remarks) lowered.plan.assumptions.push_back(said);
  if (args.check) lowered.plan.assumptions.push_back(kDelivers);
  Run run;
  run.name = args.kind;
  run.engine = reading.engine->name;
  run.grain = request.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.timeline = reading.engine->run(run.graph);
  Metrics metrics = measure(run);
  return {std::move(run), std::move(metrics)};
}

Json one_document(const CollectiveArguments& args, const Result& result) {
  Json document = collective_summary(result.run, result.metrics);
  if (args.check) std::get<Object>(document.data).emplace_back("delivers", true);
  return document;
}

// "the closed form of all-axes is an estimate": of the algorithms whose closed form is not exact.
std::vector<std::string> estimates(const std::vector<CollectiveRequest>& requests) {
  std::vector<std::string> said;
  for (const CollectiveRequest& request : requests) {
    const CollectiveInstance one = describe_on_links(request.calls.front(), request.cluster, {});
    const std::string text =
        one.laid_over_links
            ? fmt::format("for {} stands an estimate: its sends on these links", one.algorithm)
            : fmt::format("the closed form of {} is an estimate", one.algorithm);
    if (!one.exact && std::find(said.begin(), said.end(), text) == said.end()) said.push_back(text);
  }
  return said;
}

// The points of a sweep; sizes that follow each other with one algorithm differ in bytes alone.
std::vector<SweepPoint> simulate_all(const CollectiveReading& reading) {
  std::vector<SweepPoint> points;
  OpGraph graph;
  Progress progress("sizes replayed", reading.requests.size());
  for (const CollectiveRequest& request : reading.requests) {
    progress.at(points.size());
    const CollectiveCall& call = request.calls.front();
    const CollectiveInstance described = describe_on_links(call, request.cluster, {});
    // In pieces, of parts, and with ranks that do unlike things, a plan depends on the size.
    const AlgorithmRow* row = call.algorithm;
    const bool scales = row == nullptr || (row->pieces == nullptr && row->parts == nullptr &&
                                           request.grain == Grain::flow);
    if (points.empty() || points.back().algorithm != described.algorithm || !scales) {
      graph = lower_collectives(request).graph;
    } else {
      scale_bytes(graph, call.ask.bytes / points.back().bytes);
    }
    points.push_back({call.ask.bytes, reading.engine->run(graph).makespan(), described.analytic,
                      described.algorithm, described.textbook});
  }
  return points;
}

Sweep simulate_sweep(const CollectiveArguments& args, const CollectiveReading& reading) {
  const CollectiveRequest& request = reading.requests.front();
  const CollectiveCall& call = request.calls.front();
  const CollectiveInstance described = describe_on_links(call, request.cluster, {});
  Sweep sweep;
  sweep.kind = call.ask.kind;
  sweep.axes = axis_names(mesh_of(request), call.axes);
  sweep.ranks = described.devices;
  sweep.topology = request.cluster.text;
  sweep.devices = request.cluster.devices();
  sweep.engine = reading.engine->name;
  sweep.grain = request.grain;
  sweep.convention = described.convention;
  sweep.points = simulate_all(reading);
  sweep.assumptions = collective_assumptions(request, "");
  for (const std::string& said : reading.remarks) sweep.assumptions.push_back(said);
  if (args.check) sweep.assumptions.push_back(kDelivers);
  for (const CollectiveRequest& other : reading.requests) {
    say_assumption(other.calls.front().algorithm, sweep.assumptions);
  }
  for (std::string& said : estimates(reading.requests)) {
    sweep.assumptions.push_back(std::move(said));
  }
  sweep.assumptions.push_back(rate_convention(sweep.kind));
  return sweep;
}

}  // namespace

void collective_command(const CollectiveArguments& args) {
  if (args.quiet) show_no_progress();
  const CollectiveReading reading = read_collective(args);
  check_plans(args, reading);
  if (args.sweep_bytes) {
    const Sweep sweep = simulate_sweep(args, reading);
    print(args.format == "json"  ? to_json(sweep_summary(sweep))
          : args.format == "csv" ? sweep_csv(sweep)
                                 : sweep_table(sweep));
    return;
  }
  const Result result = simulate_one(args, reading);
  print(args.format == "json" ? to_json(one_document(args, result))
                              : collective_table(result.run, result.metrics));
}

Json collective_document(const CollectiveArguments& args) {
  const CollectiveReading reading = read_collective(args);
  check_plans(args, reading);
  if (args.sweep_bytes) return sweep_summary(simulate_sweep(args, reading));
  return one_document(args, simulate_one(args, reading));
}

}  // namespace shardsim
