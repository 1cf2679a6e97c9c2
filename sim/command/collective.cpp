#include "command/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/problem.h"
#include "command/arguments.h"
#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "report/reports.h"
#include "spec/load.h"

namespace shardsim {

namespace {

Collective kind_named(const char* option, const std::string& name, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const Collective kind : collective_kinds()) {
    if (to_text(kind) == name) return kind;
    names.emplace_back(to_text(kind));
  }
  problems.push_back({argument_pos(option, name),
                      fmt::format("expected a collective, found \"{}\"", name),
                      suggestion(name, names)});
  return Collective::all_gather;
}

std::vector<int> axes_named(const std::string& over, const Cluster& cluster,
                            std::vector<Problem>& problems) {
  std::vector<std::string> names;
  std::vector<int> all;
  for (const Axis& axis : cluster.axes) {
    all.push_back(static_cast<int>(names.size()));
    names.push_back(axis.name);
  }
  if (over.empty()) return all;
  std::vector<int> axes;
  const SourcePos pos = argument_pos("--over", over);
  std::size_t from = 0;
  while (from <= over.size()) {
    const std::size_t comma = std::min(over.find(',', from), over.size());
    const std::string name = over.substr(from, comma - from);
    const auto at = std::find(names.begin(), names.end(), name);
    const SourcePos here =
        pos.at(static_cast<int>(from), std::max(1, static_cast<int>(name.size())));
    if (at == names.end()) {
      problems.push_back({here,
                          fmt::format("expected an axis of {}, found \"{}\"", cluster.text, name),
                          suggestion(name, names)});
    } else {
      const int axis = static_cast<int>(at - names.begin());
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
        problems.push_back({here, fmt::format("axis {} is named twice", name), ""});
      }
      axes.push_back(axis);
    }
    from = comma + 1;
  }
  return axes;
}

// V from the bytes of one rank: its shard of an all-gather, its whole array of a reduction, its
// send buffer of an all-to-all (the size that nccl-tests prints).
Bytes from_rank(Collective kind, Bytes per_rank, int ranks) {
  const bool whole = kind == Collective::reduce_scatter || kind == Collective::all_reduce;
  return whole ? per_rank : per_rank * ranks;
}

std::vector<std::string> collective_assumptions(const CollectiveRequest& request,
                                                const std::string& per_rank) {
  std::vector<std::string> said;
  const Port& port = request.cluster.ports.front();
  said.push_back(fmt::format("every directed link of {} has {} and latency {}",
                             request.cluster.text, to_text(port.bandwidth), to_text(port.latency)));
  said.push_back(
      "V is the gathered array (all-gather), the unreduced array of one device (reduce-scatter, "
      "all-reduce), the whole array over the group (all-to-all, collective-permute)");
  if (!per_rank.empty()) said.push_back("V was computed from --bytes-per-rank " + per_rank);
  said.push_back(request.grain == Grain::fluid
                     ? "fluid grain: a collective is one transfer per port; exact when nothing "
                       "else touches the port "
                       "or latency is 0"
                     : "flow grain: every message is a flow; links are shared max-min fairly");
  said.push_back(
      request.full
          ? "nothing folded: every device replayed"
          : "folded by symmetry: one class of devices stands for all (--full replays each)");
  said.push_back(
      "all groups of the axes run at once; reduction arithmetic and software overhead cost "
      "nothing");
  return said;
}

}  // namespace

void collective_command(const CollectiveArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const EngineRow* engine = engine_named(args.engine, problems);
  CollectiveRequest request;
  request.grain = grain_named(args.grain, problems);
  request.full = args.full;
  TopologySpec topology =
      parse_topology(args.topology, argument_pos("--topology", args.topology), problems);
  LinkFigures link;
  link.bandwidth = quantity("--bandwidth", args.bandwidth, parse_bandwidth, problems);
  link.latency = quantity("--latency", args.latency, parse_seconds, problems);
  if (link.bandwidth == BytesPerSec{0} && problems.empty()) {
    problems.push_back(
        {argument_pos("--bandwidth", args.bandwidth), "expected a bandwidth above 0, found 0", ""});
  }
  if (args.bytes.empty() == args.bytes_per_rank.empty()) {
    problems.push_back({argument_pos("collective", args.kind),
                        "expected either --bytes or --bytes-per-rank, found " +
                            std::string(args.bytes.empty() ? "neither" : "both"),
                        "for example --bytes 64MiB"});
  }
  const char* size_option = args.bytes.empty() ? "--bytes-per-rank" : "--bytes";
  const std::string& size_text = args.bytes.empty() ? args.bytes_per_rank : args.bytes;
  const Bytes size =
      size_text.empty() ? Bytes{} : quantity(size_option, size_text, parse_bytes, problems);
  std::vector<std::pair<Collective, SourcePos>> kinds = {
      {kind_named("collective", args.kind, problems), argument_pos("--algorithm", args.algorithm)}};
  for (const std::string& name : args.beside) {
    kinds.push_back({kind_named("--beside", name, problems), argument_pos("--beside", name)});
  }
  if (!topology.kind.value.empty()) request.cluster = make_cluster(topology, link, problems);
  throw_if_any(problems);

  const std::vector<int> axes = axes_named(args.over, request.cluster, problems);
  throw_if_any(problems);
  const GroupNet net = group_net(request.cluster, axes);
  std::vector<std::string> reasons;
  double ops = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& [kind, pos] = kinds[i];
    CollectiveCall call{{kind, size, args.shift}, nullptr, axes};
    if (!args.bytes_per_rank.empty()) call.ask.bytes = from_rank(kind, size, net.ranks());
    // --algorithm is for the first collective; those beside it choose their own.
    const AlgorithmChoice choice =
        pick_algorithm(i == 0 ? args.algorithm : "auto", call.ask, net, pos, problems);
    call.algorithm = choice.row;
    reasons.push_back(choice.reason);
    ops += estimated_ops(call, request.cluster,
                         args.full ? Fold::full(request.cluster) : Fold::orbits(request.cluster));
    request.calls.push_back(std::move(call));
  }
  throw_if_any(problems);
  refuse_too_many_ops(ops, args.full, argument_pos("--topology", args.topology));

  Lowered lowered = lower_collectives(request);
  for (std::size_t i = 0; i < reasons.size(); ++i) lowered.plan.collectives[i].reason = reasons[i];
  lowered.plan.assumptions = collective_assumptions(request, args.bytes_per_rank);
  Run run;
  run.name = args.kind;
  run.engine = engine->name;
  run.grain = request.grain;
  run.plan = std::move(lowered.plan);
  run.graph = std::move(lowered.graph);
  run.timeline = engine->run(run.graph);
  const Metrics metrics = measure(run);
  print(args.format == "json" ? to_json(collective_summary(run, metrics))
                              : collective_table(run, metrics));
}

}  // namespace shardsim
