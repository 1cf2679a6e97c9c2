#include "plan/collective_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plan/clusters.h"
#include "plan/formula_terms.h"
#include "plan/network_text.h"
#include "plan/placement.h"
#include "plan/plan_time.h"
#include "plan/twins.h"

namespace shardsim {

namespace {

constexpr double kMostOps = 1.2e7;
constexpr double kBytesPerOp = 200;  // op, dependencies, start and end

}  // namespace

bool names_algorithm(const std::string& name, const SourcePos& pos,
                     std::vector<Problem>& problems) {
  std::vector<std::string> names = algorithm_names();
  names.emplace_back("auto");
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  const std::string near = suggestion(name, names);
  problems.push_back({pos, fmt::format("expected a collective algorithm, found \"{}\"", name),
                      near.empty() ? "see: shardsim list collectives" : near});
  return false;
}

namespace {

// "snake (330 us): smallest closed form, then ring (400 us)".
AlgorithmChoice cheapest_of(const CollectiveAsk& ask, const Cluster& cluster, const GroupNet& net) {
  const std::optional<Choice> by_plan = choose_by_plan_time(ask, cluster, net);
  const Choice choice = by_plan ? *by_plan : choose_algorithm(ask, net);
  if (choice.best == nullptr) return {};
  std::string reason = fmt::format("{} ({}): ", choice.best->name, to_text(choice.best_time));
  const char* left = ask.pieces > 0   ? " of those that cut the data into pieces"
                     : ask.window > 0 ? " of those with a window of sends"
                                      : "";
  if (choice.runner_up == nullptr) {
    // Where closed forms may be wrong, nothing was laid over the links to tell its time.
    if (net.irregular()) reason = fmt::format("{}: ", choice.best->name);
    return {choice.best, fmt::format("{}the only one{} that suits", reason, left)};
  }
  reason += by_plan      ? "shortest with the sends of each candidate laid over these links"
            : net.uneven ? "smallest closed form with the slowest link's W1"
            : net.meets  ? "smallest closed form, as if its axes shared no links"
                         : "smallest closed form";
  return {choice.best, fmt::format("{}{}, then {} ({})", reason, left, choice.runner_up->name,
                                   to_text(choice.runner_up_time))};
}

}  // namespace

AlgorithmChoice pick_algorithm(const std::string& wanted, const CollectiveCall& call,
                               const Cluster& cluster, const SourcePos& pos,
                               std::vector<Problem>& problems) {
  const CollectiveAsk& ask = call.ask;
  const GroupNet net = group_net(cluster, call.axes);
  if (wanted != "auto") {
    if (!names_algorithm(wanted, pos, problems)) return {};
    const AlgorithmRow* row = find_algorithm(wanted);
    if (net.axes.empty()) return {nullptr, "one device: nothing is sent"};
    const std::string why_not = unsuited(*row, ask, net);
    if (!why_not.empty()) {
      const AlgorithmChoice can = cheapest_of(ask, cluster, net);
      problems.push_back(
          {pos, fmt::format("{} cannot do this {}: {}", wanted, to_text(ask.kind), why_not),
           can.row == nullptr ? "" : fmt::format("{} can", can.row->name)});
      return {};
    }
    return {row, fmt::format("{}, as asked for", wanted)};
  }
  if (net.axes.empty()) return {nullptr, "one device: nothing is sent"};
  AlgorithmChoice choice = cheapest_of(ask, cluster, net);
  if (choice.row == nullptr) {
    problems.push_back(
        {pos,
         fmt::format("no algorithm can do {} on this group{}{}", to_text(ask.kind),
                     ask.pieces > 0 ? " in pieces" : "", ask.window > 0 ? " with a window" : ""),
         ""});
  }
  return choice;
}

CollectiveInstance describe_call(const CollectiveCall& call, const Cluster& cluster,
                                 std::vector<std::string> axis_names) {
  const GroupNet net = group_net(cluster, call.axes);
  CollectiveInstance instance;
  instance.kind = call.ask.kind;
  instance.axes = std::move(axis_names);
  instance.devices = net.ranks();
  instance.bytes = call.ask.bytes;
  instance.convention = bandwidth_convention(net);
  if (call.algorithm == nullptr) {
    instance.algorithm = "none";
    instance.formula = "0: one device";
    return instance;
  }
  const ClosedForm form = call.algorithm->closed_form(call.ask, net);
  instance.algorithm = call.algorithm->name;
  instance.analytic = form.time;
  instance.formula = form.formula;
  instance.exact = form.exact_on(net);
  if (net.meets) instance.formula += ", as if its axes shared no links";
  if (net.uneven) instance.formula += ", W1 of the slowest link, half beside a missing one";
  instance.terms = terms_text(instance.formula, *call.algorithm, net);
  const ClosedForm book = textbook(call.ask, net);
  instance.textbook = book.time;
  instance.textbook_formula = book.formula;
  return instance;
}

CollectiveInstance describe_on_links(const CollectiveCall& call, const Cluster& cluster,
                                     std::vector<std::string> axis_names) {
  CollectiveInstance instance = describe_call(call, cluster, std::move(axis_names));
  if (call.algorithm == nullptr) return instance;
  const std::optional<Seconds> time =
      plan_time(*call.algorithm, call.ask, cluster, group_net(cluster, call.axes));
  if (!time) return instance;
  instance.analytic = *time;
  instance.formula = "its sends on these links, each at the least of its fair shares";
  instance.terms.clear();
  instance.laid_over_links = true;
  return instance;
}

namespace {

// "13.6 million", "1.36 billion", "13.6 trillion".
std::string in_words(double ops) {
  const double trillions = ops / 1e12, billions = ops / 1e9;
  return trillions >= 1  ? fmt::format("{:.3g} trillion", trillions)
         : billions >= 1 ? fmt::format("{:.3g} billion", billions)
                         : fmt::format("{:.3g} million", ops / 1e6);
}

}  // namespace

void refuse_too_many_ops(double ops, std::span<const Instead> instead, const SourcePos& pos,
                         std::string_view fewer) {
  if (ops <= kMostOps) return;
  const auto fits = std::find_if(instead.begin(), instead.end(),
                                 [](const Instead& other) { return other.ops() <= kMostOps; });
  throw ConfigError(
      {{pos,
        fmt::format("expected at most {} operations, found about {} (about {})", in_words(kMostOps),
                    in_words(ops), to_text(Bytes{ops * kBytesPerOp})),
        fits == instead.end() ? fmt::format("fewer {}", fewer) : fits->hint}});
}

std::vector<Instead> smaller_replays(bool full, Grain grain, std::string_view fewer,
                                     const std::function<double(bool full, Grain grain)>& ops) {
  std::vector<Instead> ways;
  if (full) {
    ways.push_back({"leave out --full: folding by symmetry gives the same times",
                    [=] { return ops(false, grain); }});
  }
  if (grain == Grain::fluid) return ways;
  ways.push_back(
      {fmt::format("fewer {}, or --grain fluid", fewer), [=] { return ops(full, Grain::fluid); }});
  if (full) {
    ways.push_back({fmt::format("fewer {}, or --grain fluid without --full", fewer),
                    [=] { return ops(false, Grain::fluid); }});
  }
  return ways;
}

Mesh mesh_of(const CollectiveRequest& request) {
  return request.mesh.axes.empty() ? hardware_mesh(request.cluster) : request.mesh;
}

Lowered lower_collectives(const CollectiveRequest& request) {
  Lowered result;
  Plan& plan = result.plan;
  plan.cluster = request.full ? request.cluster : twins_as_one(request.cluster).cluster;
  plan.fold = request.full ? Fold::full(plan.cluster)
                           : common_fold(plan.cluster, request.calls, request.grain);
  plan.mesh = mesh_of(request);
  GraphBuilder builder(plan.cluster, plan.fold);
  CollectiveLowering lowering(builder, request.grain);
  const std::uint32_t start_origin = builder.origin({.name = "start", .stream = "start"});
  const OpId start = builder.join({}, 0, start_origin);
  for (const CollectiveCall& call : request.calls) {
    const std::vector<std::string> names = axis_names(plan.mesh, call.axes);
    CollectiveInstance instance = describe_on_links(call, plan.cluster, names);
    const std::uint32_t origin = builder.origin(
        {.name = fmt::format("{} over {}", to_text(call.ask.kind), fmt::join(names, ", ")),
         .stream = fmt::format("{}{}", fmt::join(names, ","), plan.collectives.size()),
         .collective = static_cast<int>(plan.collectives.size())});
    std::vector<OpId> latest(static_cast<std::size_t>(plan.fold.classes()), start);
    CollectiveLowering::Bracket bracket = lowering.lower(call, origin, {latest});
    instance.times.push_back({0, 0, 0, std::move(bracket.begin), std::move(bracket.end)});
    plan.collectives.push_back(std::move(instance));
  }
  result.graph = builder.take();
  return result;
}

void scale_bytes(OpGraph& graph, double factor) {
  for (Op& op : graph.ops) op.bytes = op.bytes * factor;
}

void say_assumption(const AlgorithmRow* algorithm, std::vector<std::string>& said) {
  if (algorithm == nullptr || algorithm->assumption.empty()) return;
  const std::string text =
      fmt::format("{} assumes that {}", algorithm->name, algorithm->assumption);
  if (std::find(said.begin(), said.end(), text) == said.end()) said.push_back(text);
}

}  // namespace shardsim
