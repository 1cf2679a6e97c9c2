// Rows of the algorithm table for trees (see algorithms.h for the columns): broadcast, reduce,
// all-reduce; the binomial tree also for gather and scatter.
//
// With more pieces a pipeline is filled sooner, but every piece pays the latency. The default is
// the number that makes the closed form smallest, at most 512 (a piece more changes the time by
// less than 0.2 % then); without latency 64.
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string chain_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_chain(const CollectiveAsk& ask, const GroupNet& net,
                          const std::vector<int>& fold);
ClosedForm form_chain(const CollectiveAsk& ask, const GroupNet& net);
double sends_chain(const CollectiveAsk& ask, const GroupNet& net);
int pieces_chain(const CollectiveAsk& ask, const GroupNet& net);

// Of a torus or mesh; also for barrier.
std::string axis_tree_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_axis_tree(const CollectiveAsk& ask, const GroupNet& net,
                              const std::vector<int>& fold);
ClosedForm form_axis_tree(const CollectiveAsk& ask, const GroupNet& net);
double sends_axis_tree(const CollectiveAsk& ask, const GroupNet& net);
int pieces_axis_tree(const CollectiveAsk& ask, const GroupNet& net);

std::string binomial_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_binomial(const CollectiveAsk& ask, const GroupNet& net,
                             const std::vector<int>& fold);
ClosedForm form_binomial(const CollectiveAsk& ask, const GroupNet& net);
double sends_binomial(const CollectiveAsk& ask, const GroupNet& net);

std::string double_tree_suits(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_double_tree(const CollectiveAsk& ask, const GroupNet& net,
                                const std::vector<int>& fold);
ClosedForm form_double_tree(const CollectiveAsk& ask, const GroupNet& net);
double sends_double_tree(const CollectiveAsk& ask, const GroupNet& net);
int pieces_double_tree(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
