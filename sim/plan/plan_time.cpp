#include "plan/plan_time.h"

#include <optional>
#include <vector>

#include "base/file.h"
#include "plan/collective_template.h"
#include "plan/graph_builder.h"
#include "plan/link_sharing.h"
#include "plan/routed_load.h"

namespace shardsim {

namespace {

constexpr double kMostSends = 5e5;  // of all candidates: about a second

bool exact(const AlgorithmRow& row, const CollectiveAsk& ask, const GroupNet& net) {
  return !net.uneven && row.closed_form(ask, net).exact;
}

// Of all ranks, each as often as it is split over paths; more than kMostSends when it is certain.
double sends_of(const AlgorithmRow& row, const CollectiveAsk& ask, const Cluster& cluster,
                const GroupNet& net) {
  const double sends = row.sends_per_rank(ask, net) * cluster.devices();
  if (net.graph == nullptr || sends > kMostSends) return sends;
  const bool direct = row.name == "direct" || row.name == "shift" || row.name == "permutation";
  return sends *
         RoutedLoads(net).mean_paths(direct ? RoutedLoads::Pairs::any : RoutedLoads::Pairs::next);
}

}  // namespace

Seconds plan_time(const CollectivePlan& plan, const Cluster& cluster, const GroupNet& net,
                  Bytes bytes) {
  GraphBuilder builder(cluster, Fold::full(cluster));
  const CollectiveTemplate made = flow_template(builder, plan, net);
  return time_on_shared_links(made, builder.take(), bytes);
}

std::optional<Seconds> plan_time(const AlgorithmRow& row, const CollectiveAsk& ask,
                                 const Cluster& cluster, const GroupNet& net) {
  if (!net.uneven && net.graph == nullptr) return std::nullopt;
  if (exact(row, ask, net) || sends_of(row, ask, cluster, net) > kMostSends) return std::nullopt;
  throw_if_interrupted();
  return plan_time(row.plan(ask, net, net.sizes()), cluster, net, ask.bytes);
}

std::optional<Choice> choose_by_plan_time(const CollectiveAsk& ask, const Cluster& cluster,
                                          const GroupNet& net) {
  if (!net.uneven && net.graph == nullptr) return std::nullopt;
  const std::vector<const AlgorithmRow*> rows = considered(ask, net);
  if (rows.size() < 2) return std::nullopt;
  double sends = 0;
  for (const AlgorithmRow* row : rows)
    if (!exact(*row, ask, net)) sends += sends_of(*row, ask, cluster, net);
  if (sends == 0 || sends > kMostSends) return std::nullopt;
  return cheapest(rows, [&](const AlgorithmRow& row) {
    const std::optional<Seconds> time = plan_time(row, ask, cluster, net);
    return time ? *time : row.closed_form(ask, net).time;
  });
}

}  // namespace shardsim
