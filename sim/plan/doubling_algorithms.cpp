#include "plan/doubling_algorithms.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/algorithm_parts.h"
#include "plan/direct.h"
#include "plan/doubling.h"

namespace shardsim {

namespace {

std::string on_a_switch(const GroupNet& net) {
  if (star(net)) return "";
  return "without one switch for all, exchanges over long distances would share links";
}

}  // namespace

std::string recursive_doubling_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::all_gather, Collective::all_reduce});
  return why.empty() ? on_a_switch(net) : why;
}

CollectivePlan plan_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net,
                                       const std::vector<int>& fold) {
  const PlanFrame f = frame("recursive-doubling", net, fold, {1.0});
  return ask.kind == Collective::all_gather ? doubling_gather(f) : doubling_all_reduce(f);
}

namespace {

// The all-gather: step j moves the shards of 2^j cores, of which the first ones have two each; the
// excess ranks hand in a shard and get all others (Thakur, Rabenseifner, Gropp 2005).
ClosedForm form_gather(const CollectiveAsk& ask, const GroupNet& net) {
  const GroupAxis& axis = net.axes[0];
  const double n = net.ranks();
  const Cores cores(net.ranks());
  const auto shards = [&](double count) { return axis.latency + count / n * ask.bytes / axis.w1; };
  if (cores.excess == 0) {
    return {cores.steps * axis.latency + (n - 1) / n * ask.bytes / axis.w1,
            "log2 N * a + (N-1)/N * V/W1"};
  }
  ClosedForm form{shards(1) + shards(n - 1),
                  fmt::format("{} * a + V/W1 + sum over j < {} of (2^j + min(2^j, {}))/N * V/W1",
                              cores.steps + 2, cores.steps, cores.excess)};
  for (int distance = 1; distance < cores.count; distance *= 2) {
    form.time += shards(cores.first(distance));
  }
  return form;
}

}  // namespace

// Whole arrays in every step: log2 of the cores, and one in and out for the excess ranks (Thakur,
// Rabenseifner, Gropp 2005).
ClosedForm form_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::all_gather) return form_gather(ask, net);
  const GroupAxis& axis = net.axes[0];
  const Cores cores(net.ranks());
  const int steps = cores.steps + (cores.excess > 0 ? 2 : 0);
  return {steps * (axis.latency + ask.bytes / axis.w1),
          cores.excess == 0 ? "log2 N * (a + V/W1)" : "(floor(log2 N) + 2) * (a + V/W1)"};
}

double sends_recursive_doubling(const CollectiveAsk&, const GroupNet& net) {
  const Cores cores(net.ranks());
  const double n = net.ranks();
  return (cores.count * cores.steps + 2 * cores.excess) / n;
}

std::string halving_doubling_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::reduce_scatter, Collective::all_reduce});
  return why.empty() ? on_a_switch(net) : why;
}

CollectivePlan plan_halving_doubling(const CollectiveAsk& ask, const GroupNet& net,
                                     const std::vector<int>& fold) {
  const PlanFrame f = frame("halving-doubling", net, fold, {1.0});
  return ask.kind == Collective::reduce_scatter ? mirror(doubling_gather(f))
                                                : halving_all_reduce(f);
}

// Half of the array, then a quarter, …, and back: 2 * (M-1)/M of it for M cores; the excess ranks
// hand in and get whole arrays (Rabenseifner's algorithm; Thakur, Rabenseifner, Gropp 2005).
ClosedForm form_halving_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::reduce_scatter) return form_gather(ask, net);
  const GroupAxis& axis = net.axes[0];
  const Cores cores(net.ranks());
  const double m = cores.count;
  const Seconds swaps = 2.0 * (cores.steps * axis.latency + (m - 1) / m * ask.bytes / axis.w1);
  if (cores.excess == 0) return {swaps, "2 * [log2 N * a + (N-1)/N * V/W1]"};
  return {swaps + 2.0 * (axis.latency + ask.bytes / axis.w1),
          "2 * [log2 M * a + (M-1)/M * V/W1] + 2 * (a + V/W1), M = 2^floor(log2 N)"};
}

double sends_halving_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  const Cores cores(net.ranks());
  const double n = net.ranks();
  return (rounds(ask.kind) * cores.count * cores.steps + 2 * cores.excess) / n;
}

std::vector<int> fold_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  return Cores(net.ranks()).excess == 0 ? every_translation(ask, net) : no_translation(ask, net);
}

std::string dissemination_suits(const CollectiveAsk& ask, const GroupNet& net) {
  const std::string why = only_for(ask, {Collective::barrier});
  if (!why.empty()) return why;
  const bool alike = std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
    return axis.wiring != Wiring::line;
  });
  return alike ? "" : "the devices of a line do not all reach equally far";
}

CollectivePlan plan_dissemination(const CollectiveAsk&, const GroupNet& net,
                                  const std::vector<int>& fold) {
  return dissemination(frame("dissemination", net, fold, {0.0}));
}

// ceil(log2 A) rounds per axis (Hensgen, Finkel, Manber 1988), each as long as its way.
ClosedForm form_dissemination(const CollectiveAsk&, const GroupNet& net) {
  ClosedForm form{
      Seconds{},
      star(net) ? "ceil(log2 N) * a" : "a * sum over axes of the hops to 1, 2, 4, … further",
      net.graph == nullptr};
  for (const GroupAxis& axis : net.axes) {
    for (int distance = 1; distance < axis.size; distance *= 2) {
      form.time += hops(axis.wiring, axis.size, distance) * axis.latency;
    }
  }
  return form;
}

double sends_dissemination(const CollectiveAsk&, const GroupNet& net) {
  double rounds = 0;
  for (const GroupAxis& axis : net.axes) {
    for (int distance = 1; distance < axis.size; distance *= 2) ++rounds;
  }
  return rounds;
}

}  // namespace shardsim
