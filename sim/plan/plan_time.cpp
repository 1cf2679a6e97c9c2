#include "plan/plan_time.h"

#include <algorithm>
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

// Of all ranks, each as often as it is split over paths.
double sends_of(const AlgorithmRow& row, const CollectiveAsk& ask, const Cluster& cluster,
                const GroupNet& net) {
  const double sends = row.sends_per_rank(ask, net) * cluster.devices();
  if (net.graph == nullptr || sends > kMostSends) return sends;
  const bool direct = row.name == "direct" || row.name == "shift" || row.name == "permutation";
  return sends *
         RoutedLoads(net).mean_paths(direct ? RoutedLoads::Pairs::any : RoutedLoads::Pairs::next);
}

// A row with its closed form, which on a graph routes every message: once is enough.
struct Candidate {
  const AlgorithmRow* row = nullptr;
  Seconds form;
  double sends = 0;  // to lay over links; 0: the closed form is exact
};

Candidate candidate(const AlgorithmRow& row, const CollectiveAsk& ask, const Cluster& cluster,
                    const GroupNet& net) {
  const ClosedForm form = row.closed_form(ask, net);
  return {&row, form.time, form.exact_on(net) ? 0 : sends_of(row, ask, cluster, net)};
}

Seconds laid_over_links(const AlgorithmRow& row, const CollectiveAsk& ask, const Cluster& cluster,
                        const GroupNet& net) {
  throw_if_interrupted();
  return plan_time(row.plan(ask, net, net.sizes()), cluster, net, ask.bytes);
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
  if (!net.irregular()) return std::nullopt;
  const double sends = candidate(row, ask, cluster, net).sends;
  if (sends == 0 || sends > kMostSends) return std::nullopt;
  return laid_over_links(row, ask, cluster, net);
}

std::optional<Choice> choose_by_plan_time(const CollectiveAsk& ask, const Cluster& cluster,
                                          const GroupNet& net) {
  if (!net.irregular()) return std::nullopt;
  const std::vector<const AlgorithmRow*> rows = considered(ask, net);
  if (rows.size() < 2) return std::nullopt;
  std::vector<Candidate> candidates;
  double sends = 0;
  for (const AlgorithmRow* row : rows) {
    candidates.push_back(candidate(*row, ask, cluster, net));
    sends += candidates.back().sends;
  }
  if (sends == 0 || sends > kMostSends) return std::nullopt;
  return cheapest(rows, [&](const AlgorithmRow& row) {
    const auto at = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const Candidate& one) { return one.row == &row; });
    return at->sends == 0 ? at->form : laid_over_links(row, ask, cluster, net);
  });
}

}  // namespace shardsim
