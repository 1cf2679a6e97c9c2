// What the families of collective algorithms share.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "plan/algorithms.h"
#include "plan/gather.h"

namespace shardsim {

// All-gather, reduce-scatter or all-reduce.
bool gathers(Collective kind);
// 1 for all-gather and reduce-scatter, 2 for all-reduce (reduce-scatter, then all-gather).
double rounds(Collective kind);
// Why a row that is for these kinds does not suit the one asked for; empty when it is among them.
std::string only_for(const CollectiveAsk& ask, std::initializer_list<Collective> kinds);
std::string only_gathers(const CollectiveAsk& ask);  // all-gather, reduce-scatter, all-reduce
bool star(const GroupNet& net);                      // all ranks on one switch
bool levels(const GroupNet& net);                    // over more than one level
std::vector<int> outside_in(const GroupNet& net);    // its axes, outermost level first
bool one_grid(const GroupNet& net);   // neighbours joined, in one level: ring, line, torus, mesh
bool wrapped(const GroupAxis& axis);  // a ring
bool one_way(const GroupAxis& axis);  // of its links
// Every axis has the same link bandwidth and latency, and its links are the group's alone.
bool same_links(const GroupNet& net);

// Folds (AlgorithmRow::fold): of a plan that translations map onto itself, and of one with nothing
// of that symmetry.
std::vector<int> every_translation(const CollectiveAsk& ask, const GroupNet& net);
std::vector<int> no_translation(const CollectiveAsk& ask, const GroupNet& net);

PlanFrame frame(std::string_view name, const GroupNet& net, const std::vector<int>& fold,
                std::vector<double> piece_share, bool merged = false);

// The plan of any of the three kinds from its all-gather. The reduce-scatter is the mirror of the
// all-gather in the other direction, so that on a one-way ring both use the links there are.
using Gather = std::function<CollectivePlan(int direction)>;
CollectivePlan from_gather(Collective kind, const Gather& gather);

// The same messages as a barrier: nothing in them.
CollectivePlan without_bytes(CollectivePlan plan);

// The formula of one round, twice for all-reduce.
std::string times(Collective kind, std::string_view formula);

// N-1 sends of every rank and round.
double sends_once(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
