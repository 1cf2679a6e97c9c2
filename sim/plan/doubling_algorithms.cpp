#include "plan/doubling_algorithms.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/algorithm_parts.h"
#include "plan/direct.h"
#include "plan/doubling.h"
#include "plan/routed_load.h"

namespace shardsim {

namespace {

// Over a grid the exchanges keep out of each other's way on one axis of 2^k ranks.
std::string exchanges_suit(const GroupNet& net) {
  if (star(net) || net.graph != nullptr) return "";
  if (levels(net) || net.axes.size() > 1) {
    return "it is for one switch, axis or graph; axes-in-turn takes them one after the other";
  }
  const GroupAxis& axis = net.axes[0];
  if (one_way(axis)) return "partners swap, and the ring has links in one direction only";
  if (axis.wiring == Wiring::full_mesh || Cores(axis.size).excess == 0) return "";
  return "along an axis it is for powers of two: the others share links unevenly";
}

using Message = RoutedLoads::Message;

// Messages between ranks, all at once.
StepTime step_time(const GroupNet& net, int distance, const std::vector<Message>& messages,
                   Bytes bytes) {
  if (net.graph != nullptr) return routed_step(net, messages, bytes);
  const GroupAxis& axis = net.axes[0];
  if (!one_grid(net)) return {axis.latency + bytes / axis.w1};
  // Of a block of 2d ranks, d send either way over its middle; half round a ring over both ways.
  const bool tie = axis.wiring == Wiring::ring && 2 * distance == axis.size;
  return {distance * axis.latency + (tie ? 0.5 : 1.0) * distance * bytes / axis.w1, !net.strided};
}

// Every core and the one at a distance swap.
StepTime swap_time(const GroupNet& net, const Cores& cores, int distance, Bytes bytes) {
  std::vector<Message> messages;
  for (int core = 0; core < cores.count; ++core)
    messages.emplace_back(cores.rank(core), cores.rank(core ^ distance));
  return step_time(net, distance, messages, bytes);
}

// The excess ranks hand over to their neighbours, or get back.
StepTime fold_time(const GroupNet& net, const Cores& cores, bool in, Bytes bytes) {
  std::vector<Message> messages;
  for (int c = 0; c < cores.excess; ++c) {
    if (in) messages.emplace_back(2 * c, 2 * c + 1);
    if (!in) messages.emplace_back(2 * c + 1, 2 * c);
  }
  return step_time(net, 1, messages, bytes);
}

void add(ClosedForm& form, const StepTime& step) {
  form.time += step.time;
  form.exact = form.exact && step.exact;
}

// The formula on a switch, or what it is elsewhere.
std::string formula_on(const GroupNet& net, std::string on_switch) {
  if (net.graph != nullptr)
    return "sum over steps of a + bytes of a message over the busiest link / its bandwidth";
  if (!one_grid(net)) return on_switch;
  return "sum over distances d of d * (a + bytes/W1), half of the bytes half round a ring";
}

}  // namespace

std::string recursive_doubling_suits(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind != Collective::all_gather && ask.kind != Collective::all_reduce) {
    return fmt::format("it is for all-gather and all-reduce, not {}", to_text(ask.kind));
  }
  return exchanges_suit(net);
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
  const double n = net.ranks();
  const Cores cores(net.ranks());
  const auto shards = [&](double count) { return count / n * ask.bytes; };
  ClosedForm form{Seconds{}, formula_on(net, "log2 N * a + (N-1)/N * V/W1")};
  if (cores.excess > 0) {
    form.formula = formula_on(
        net, fmt::format("{} * a + V/W1 + sum over j < {} of (2^j + min(2^j, {}))/N * V/W1",
                         cores.steps + 2, cores.steps, cores.excess));
    add(form, fold_time(net, cores, true, shards(1)));
    add(form, fold_time(net, cores, false, shards(n - 1)));
    form.exact = star(net);  // not all shards of a step are as many
  }
  for (int distance = 1; distance < cores.count; distance *= 2)
    add(form, swap_time(net, cores, distance, shards(cores.first(distance))));
  return form;
}

}  // namespace

// Whole arrays in every step: log2 of the cores, and one in and out for the excess ranks (Thakur,
// Rabenseifner, Gropp 2005).
ClosedForm form_recursive_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind == Collective::all_gather) return form_gather(ask, net);
  const Cores cores(net.ranks());
  ClosedForm form{Seconds{},
                  formula_on(net, cores.excess == 0 ? "log2 N * (a + V/W1)"
                                                    : "(floor(log2 N) + 2) * (a + V/W1)")};
  for (int distance = 1; distance < cores.count; distance *= 2)
    add(form, swap_time(net, cores, distance, ask.bytes));
  for (const bool in : {true, false})
    if (cores.excess > 0) add(form, fold_time(net, cores, in, ask.bytes));
  return form;
}

double sends_recursive_doubling(const CollectiveAsk&, const GroupNet& net) {
  const Cores cores(net.ranks());
  const double n = net.ranks();
  return (cores.count * cores.steps + 2 * cores.excess) / n;
}

std::string halving_doubling_suits(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind != Collective::reduce_scatter && ask.kind != Collective::all_reduce) {
    return fmt::format("it is for reduce-scatter and all-reduce, not {}", to_text(ask.kind));
  }
  return exchanges_suit(net);
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
  const Cores cores(net.ranks());
  ClosedForm form{
      Seconds{},
      formula_on(net, cores.excess == 0 ? "2 * [log2 N * a + (N-1)/N * V/W1]"
                                        : "2 * [log2 M * a + (M-1)/M * V/W1] + 2 * (a + V/W1), M = "
                                          "2^floor(log2 N)")};
  for (int distance = 1; distance < cores.count; distance *= 2) {
    const StepTime step = swap_time(net, cores, distance, distance * ask.bytes / cores.count);
    for (int time = 0; time < 2; ++time) add(form, step);
  }
  for (const bool in : {true, false})
    if (cores.excess > 0) add(form, fold_time(net, cores, in, ask.bytes));
  return form;
}

double sends_halving_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  const Cores cores(net.ranks());
  const double n = net.ranks();
  return (rounds(ask.kind) * cores.count * cores.steps + 2 * cores.excess) / n;
}

std::vector<int> fold_doubling(const CollectiveAsk& ask, const GroupNet& net) {
  return star(net) && Cores(net.ranks()).excess == 0 ? every_translation(ask, net)
                                                    : no_translation(ask, net);
}

std::string dissemination_suits(const CollectiveAsk& ask, const GroupNet& net) {
  if (ask.kind != Collective::barrier) {
    return fmt::format("it is for barrier, not {}", to_text(ask.kind));
  }
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
